/* SPDX-License-Identifier: MIT */
/* GET and LIST. */
#include "verbs/handlers.h"
#include "verbs/page.h"
#include "verbs/seal.h"

/* clang-format off */
#define OF struct attempt
const struct shape_field attempt_fields[] = {
    SHOW_INT("attempt", number), SHOW_MOMENT("start_ms", start_ms), SHOW_MOMENT("end_ms", end_ms),
    SHOW_INT("late_ms", late_ms), SHOW_WORD("outcome", outcome, attempt_outcome_name),
    SHOW_BYTES("worker", worker, OR_NULL), SHOW_BYTES("error", error, OR_NULL), { 0 },
};
#undef OF
/* clang-format on */

static void put_tags(struct reply *r, const void *view)
{
    const struct job_view *v = view;

    reply_array(r, v->labels.tag_count);
    for (size_t i = 0; i < v->labels.tag_count; i++)
        reply_bytes(r, v->labels.tags[i]);
}

static void put_meta(struct reply *r, const void *view)
{
    const struct job_view *v = view;

    reply_map(r, v->labels.meta_count);
    for (size_t i = 0; i < v->labels.meta_count; i++) {
        reply_bytes(r, v->labels.meta[i].name);
        reply_bytes(r, v->labels.meta[i].value);
    }
}

static void put_after(struct reply *r, const void *view)
{
    const struct job_view *v = view;

    reply_array(r, v->after_count);
    for (size_t i = 0; i < v->after_count; i++)
        reply_id(r, v->after[i]);
}

static void put_gates(struct reply *r, const void *view)
{
    reply_text(r, ((const struct job_view *)view)->passing ? "pass" : "hold");
}

static void put_history(struct reply *r, const void *view)
{
    const struct job_view *v = view;

    reply_array(r, v->history_count);
    for (size_t i = 0; i < v->history_count; i++)
        shape_put(r, attempt_fields, &v->history[i]);
}

/* What LIST shows of a job, and GET first: members as in struct job_view. */
struct summary {
    struct job_id id;
    enum job_state state;
    struct str tenant;
    struct str queue;
    struct str key;
    struct str error;
    struct str order;
    int priority;
    uint32_t attempt;
    int64_t attempts;
    int64_t due_ms;
    int64_t at_ms;
    int64_t deferred_ms;
    uint32_t deferrals;
    struct str payload; /* its length counts */
};

static struct summary summary_of(const struct job_view *v)
{
    return (struct summary){
        .id = v->id,
        .state = v->state,
        .tenant = v->tenant,
        .queue = v->queue,
        .key = v->key,
        .error = v->error,
        .order = v->order,
        .priority = v->priority,
        .attempt = v->attempt,
        .attempts = v->attempts,
        .due_ms = v->due_ms,
        .at_ms = v->at_ms,
        .deferred_ms = v->deferred_ms,
        .deferrals = v->deferrals,
        .payload = { NULL, v->payload.len },
    };
}

/* clang-format off */
#define SUMMARY                                         \
    SHOW_ID("id", id),                                  \
    SHOW_WORD("state", state, job_state_name),          \
    SHOW_TEXT("tenant", tenant),                        \
    SHOW_TEXT("queue", queue),                          \
    SHOW_BYTES("key", key, OR_NULL),                    \
    SHOW_INT("priority", priority),                     \
    SHOW_MOMENT("due_ms", due_ms),                      \
    SHOW_MOMENT("at_ms", at_ms),                        \
    SHOW_INT("attempt", attempt),                       \
    SHOW_INT("attempts", attempts),                     \
    SHOW_INT("payload_bytes", payload.len),             \
    SHOW_MOMENT("deferred_until", deferred_ms, OR_NULL), \
    SHOW_INT("deferrals", deferrals),                   \
    SHOW_BYTES("error", error, OR_NULL),                \
    SHOW_BYTES("order", order, OR_NULL)

#define OF struct summary
const struct shape_field summary_fields[] = {
    SUMMARY, { 0 },
};
#undef OF
#define OF struct job_view
const struct shape_field label_fields[] = {
    SHOW_OWN("tags", SHAPE_LIST, put_tags), SHOW_OWN("meta", SHAPE_DICT, put_meta), { 0 },
};

const struct shape_field job_fields[] = {
    SUMMARY, SHOW_BYTES("payload", payload), SHOW_MOMENT("created_ms", created_ms),
    SHOW_INT("stalls", stalls), SHOW_ALL(label_fields), SHOW_OWN("after", SHAPE_LIST, put_after),
    SHOW_TEXT("recurrence", recurrence, OR_NULL), SHOW_MOMENT("nominal_ms", nominal_ms, OR_NULL),
    SHOW_MOMENT("expires_ms", expires_ms, OR_NULL), SHOW_BOOL("notify", notify),
    SHOW_OWN("gates", SHAPE_TEXT, put_gates), SHOW_INT("lease_ms", lease_ms, OR_NULL),
    SHOW_MOMENT("until_ms", until_ms, OR_NULL), SHOW_BYTES("worker", worker, OR_NULL),
    SHOW_INT("progress", progress, OR_NULL), SHOW_BYTES("note", note, OR_NULL),
    SHOW_BOOL("cancelling", cancelling), SHOW_BOOL("replacing", replacing),
    SHOW_MOMENT("ended_ms", ended_ms, OR_NULL), SHOW_MOMENT("keep_ms", keep_ms, OR_NULL),
    SHOW_BYTES("result", result, OR_NULL), SHOW_TEXT("push", push, OR_NULL),
    SHOW_TOKEN("token", token, OR_NULL), SHOW_MAPS("history", "Attempt", put_history), { 0 },
};
/* clang-format on */

/* What means nothing in the job's state is made negative or empty, so that it is shown as null. */
static void view_prune(struct job_view *v)
{
    bool ended = state_is_ended(v->state);

    if (v->state != JOB_LEASED) {
        v->lease_ms = v->until_ms = v->progress = -1;
        v->worker.len = 0;
        v->token = 0;
    }
    if (!ended)
        v->ended_ms = v->keep_ms = -1;
    if (v->recurrence.len == 0)
        v->nominal_ms = -1;
}

void run_get(struct verb_call *c)
{
    struct job_view v;
    struct job_id id;
    int err = job_named(c, &id);

    if (err == BELFRY_INVALID)
        return;
    if (!err)
        err = engine_get(c->engine, id, &v);
    if (err == BELFRY_NOTFOUND) {
        reply_null(c->reply);
    } else if (err) {
        verb_error(c, err, engine_detail(c->engine));
    } else {
        view_prune(&v);
        shape_put(c->reply, job_fields, &v);
    }
}

static int list_add(void *page, const struct job_view *v)
{
    struct summary s = summary_of(v);

    return page_add(page, &s);
}

const struct shape_field page_fields[] = {
    SHOW_MAPS("jobs", "Summary", page_put),
    SHOW_OWN("cursor", SHAPE_TEXT, page_put_cursor, OR_NULL),
    { 0 },
};

void run_list(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct list_cursor cursor = { 0 };
    struct page page = {
        .fields = summary_fields, .size = sizeof(struct summary), .call = c, .next = &cursor
    };
    struct list_filter f = { .tenant = c->tenant, .state = -1, .to_ms = INT64_MAX, .limit = 100 };
    char name[QUEUE_MAX_BYTES];
    int err = 0;

    args_store(c, &f);
    if (a[LIST_QUEUE].set && !queue_named(c, a[LIST_QUEUE].str, name, &f.queue))
        return;
    if (a[LIST_CURSOR].set && !seal_parse(c, a[LIST_CURSOR].str, &cursor))
        err = BELFRY_INVALID;
    if (!err)
        err = engine_list(c->engine, &f, list_add, &page, &cursor);
    if (err)
        verb_error(c, err, err == BELFRY_INVALID ? "cursor: expected one that LIST gave" : "");
    else
        shape_put(c->reply, page_fields, &page);
    page_fini(&page);
}
