/* SPDX-License-Identifier: MIT */
/*
 * ERRORS. The groups are made of the jobs themselves, as LIST would show them, so their counts are
 * those of LIST. A page looks at a bounded number of jobs. It has the groups of these jobs, and a
 * group with many jobs is on several pages.
 */
#include <stdlib.h>

#include "record/attempts.h"
#include "record/errorgroup.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#define GROUPS_MAX   200 /* in a page */
#define PAGE_LISTS   4   /* a page looks at jobs so often at most, in memory: about 4 ms */
#define SAMPLE_BYTES 256 /* of the error that is shown */

struct group {
    struct str queue; /* without its tenant */
    struct str tenant;
    struct str pattern;
    uint64_t count, dead;
    int64_t first_ms, last_ms;
    struct job_id id; /* of the job that failed last */
    struct str error;
    char texts[2 * NAME_MAX_BYTES + ERROR_GROUP_MAX];
    char sample[SAMPLE_BYTES];
};

struct groups {
    struct group *all[GROUPS_MAX];
    size_t n;
    size_t jobs, most;
};

/* clang-format off */
#define OF struct group
const struct shape_field error_fields[] = {
    SHOW_TEXT("tenant", tenant), SHOW_TEXT("queue", queue), SHOW_TEXT("error_group", pattern),
    SHOW_INT("count", count), SHOW_INT("dead", dead), SHOW_MOMENT("first_ms", first_ms),
    SHOW_MOMENT("last_ms", last_ms), SHOW_ID("id", id), SHOW_BYTES("error", error, OR_NULL), { 0 },
};
/* clang-format on */

const struct shape_field error_page_fields[] = {
    SHOW_PAGE("groups", "ErrorGroup"),
    { 0 },
};

static struct str keep(char **at, struct str s)
{
    struct str kept = { *at, s.len };

    memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return kept;
}

static struct group *group_new(struct groups *gs, const struct job_view *v, struct str pattern)
{
    struct group *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    char *at = g->texts;
    g->tenant = keep(&at, v->tenant);
    g->queue = keep(&at, v->queue);
    g->pattern = keep(&at, pattern);
    g->first_ms = INT64_MAX;
    g->last_ms = -1;
    gs->all[gs->n++] = g;
    return g;
}

/* The group of a job; NULL: there is no memory. */
static struct group *group_of(struct groups *gs, const struct job_view *v, struct str pattern)
{
    for (size_t i = 0; i < gs->n; i++) {
        struct group *g = gs->all[i];

        if (str_eq(g->pattern, pattern) && str_eq(g->queue, v->queue) &&
            str_eq(g->tenant, v->tenant))
            return g;
    }
    return group_new(gs, v, pattern);
}

/* When the job failed last. */
static int64_t failed_ms(const struct job_view *v)
{
    struct attempt last;

    if (v->state == JOB_DEAD || !attempts_last(v->history, &last))
        return v->ended_ms;
    return last.end_ms;
}

static int group_add(void *arg, const struct job_view *v)
{
    struct groups *gs = arg;
    char buf[ERROR_GROUP_MAX];

    if (v->error.len == 0 && v->state != JOB_DEAD)
        return 0;
    struct group *g = group_of(gs, v, error_group(v->error, buf));
    if (!g)
        return BELFRY_NOMEM;
    int64_t at_ms = failed_ms(v);
    g->count++;
    g->dead += v->state == JOB_DEAD;
    if (at_ms < g->first_ms)
        g->first_ms = at_ms;
    if (at_ms >= g->last_ms) {
        g->last_ms = at_ms;
        g->id = v->id;
        g->error =
            (struct str){ g->sample, v->error.len < SAMPLE_BYTES ? v->error.len : SAMPLE_BYTES };
        memcpy(g->sample, v->error.ptr, g->error.len);
    }
    return ++gs->jobs >= gs->most || gs->n >= GROUPS_MAX;
}

static int by_last(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

    if (x->last_ms != y->last_ms)
        return x->last_ms > y->last_ms ? -1 : 1;
    return x->count > y->count ? -1 : x->count < y->count;
}

/* Looks at some jobs. Only the first look may need the disk, so no work is done twice. */
static int groups_look(struct verb_call *c, const struct list_filter *f, struct groups *gs,
                       struct list_cursor *at)
{
    int err = 0;

    for (int i = 0; i < PAGE_LISTS && !err; i++) {
        err = engine_list(c->engine, f, group_add, gs, at);
        if (!at->more || at->phase == LIST_DISK)
            break;
    }
    return err < 0 ? err : 0;
}

void run_errors(struct verb_call *c)
{
    struct page page = { .call = c, .fields = error_fields, .map = error_page_fields };
    struct list_filter f = { .tenant = c->tenant, .state = -1, .to_ms = INT64_MAX, .limit = 1000 };
    const struct arg_value *queue = arg_of(c, "queue");
    struct groups *gs = calloc(1, sizeof(*gs));
    char name[QUEUE_MAX_BYTES];

    args_store(c, &f);
    f.states = verb_states(c);
    if (!f.states)
        f.states = 1u << JOB_DEAD;
    if (queue->set && !queue_named(c, queue->str, name, &f.queue)) {
        free(gs);
        return;
    }
    int err = page_seek(&page);
    if (!gs)
        err = BELFRY_NOMEM;
    if (gs)
        gs->most = f.limit;
    if (!err)
        err = groups_look(c, &f, gs, &page.next);
    if (!err)
        qsort(gs->all, gs->n, sizeof(struct group *), by_last);
    for (size_t i = 0; gs && i < gs->n; i++) {
        if (!err)
            page_add(&page, gs->all[i]);
        free(gs->all[i]);
    }
    free(gs);
    page_end(&page, err, "");
}
