/* SPDX-License-Identifier: MIT */
/* COUNT: a walk as that of LIST, whose jobs are only counted. */
#include "verbs/handlers.h"
#include "verbs/seal.h"

#define LOOKS_MAX 4096 /* a call that has looked at so many jobs ends: a few milliseconds */
#define PAGES_MAX 4    /* pages of a call: some look at no job that counts as looked at */
#define HOT_PAGE  8192
#define COLD_PAGE 1000

struct counted {
    uint64_t jobs;
    uint64_t looked;
    int64_t shown; /* `looked`; -1 for a caller of one tenant: jobs of others are among them */
};

/* clang-format off */
#define OF struct counted
static const struct shape_field counted_fields[] = { SHOW_INT("jobs", jobs), SHOW_INT("looked_at", shown, OR_NULL), { 0 } };
const struct shape_field count_fields[] = {
    SHOW_ALL(counted_fields), SHOW_OWN("cursor", SHAPE_TEXT, NULL, OR_NULL), { 0 },
};
/* clang-format on */

static int count_one(void *arg, const struct job_view *v)
{
    (void)v;
    ((struct counted *)arg)->jobs++;
    return 0;
}

/* Counts pages until there are no more, or the call has done its share. Once something is counted,
 * the next page on disk is left to the next call. */
static int count_pages(struct verb_call *c, struct list_filter *f, struct counted *n,
                       struct list_cursor *at)
{
    int pages = 0, err;

    do {
        struct list_cursor next = *at;

        f->limit = next.more && next.phase == LIST_DISK ? COLD_PAGE : HOT_PAGE;
        err = engine_list(c->engine, f, count_one, n, &next);
        if (err < 0)
            return err == BELFRY_COLD && n->looked > 0 ? 0 : err;
        *at = next;
    } while (at->more && n->looked < LOOKS_MAX && ++pages < PAGES_MAX);
    return 0;
}

void run_count(struct verb_call *c)
{
    const struct arg_value *queue = arg_of(c, "queue"), *cursor = arg_of(c, "cursor");
    struct counted n = { 0 };
    struct list_filter f = {
        .tenant = c->tenant, .state = -1, .to_ms = INT64_MAX, .looked = &n.looked
    };
    struct list_cursor at = { 0 };
    char name[QUEUE_MAX_BYTES];

    args_store(c, &f);
    f.states = verb_states(c);
    if (queue->set && !queue_named(c, queue->str, name, &f.queue))
        return;
    if (cursor->set && !seal_parse(c, cursor->str, &at)) {
        verb_error(c, BELFRY_INVALID, "cursor: expected one that COUNT gave");
        return;
    }
    if (verb_failed(c, count_pages(c, &f, &n, &at)))
        return;
    n.shown = c->who && c->who->confined ? -1 : (int64_t)n.looked;
    reply_map(c->reply, shape_count(count_fields));
    shape_put_fields(c->reply, counted_fields, &n);
    reply_bytes(c->reply, STR("cursor"));
    if (at.more)
        seal_reply(c, &at);
    else
        reply_null(c->reply);
}
