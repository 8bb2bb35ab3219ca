/* SPDX-License-Identifier: MIT */
/* GET and LIST. */
#include "base/utf8.h"
#include "engine/await.h"
#include "record/attempts.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#define UTF8_MAX 4 /* bytes of a character */

/* clang-format off */
#define OF struct attempt
const struct shape_field attempt_fields[] = {
    SHOW_INT("attempt", number), SHOW_MOMENT("start_ms", start_ms), SHOW_MOMENT("end_ms", end_ms),
    SHOW_DURATION("late_ms", late_ms), SHOW_WORD("outcome", outcome, attempt_outcome_name, WORDS_3RD(ATTEMPT_OUTCOMES)),
    SHOW_BYTES("worker", worker, OR_NULL), SHOW_BYTES("error", error, OR_NULL), { 0 },
};
#undef OF
/* clang-format on */

static void put_tags(struct reply *r, const void *view)
{
    reply_tags(r, &((const struct job_view *)view)->labels);
}

static void put_meta(struct reply *r, const void *view)
{
    reply_meta(r, &((const struct job_view *)view)->labels);
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
    reply_gates(r, ((const struct job_view *)view)->passing);
}

static void put_history(struct reply *r, const void *view)
{
    const struct job_view *v = view;
    struct wire_reader attempts = attempts_reader(v->history);
    struct attempt a;

    reply_array(r, attempts_count(v->history));
    while (attempts_next(&attempts, &a))
        shape_put(r, attempt_fields, &a);
}

/* A job as LIST shows it. */
struct summary {
    const struct job_view *job;
    struct str preview; /* of its payload; empty: none */
};

/* clang-format off */
#define SUMMARY                                         \
    SHOW_ID("id", id),                                  \
    SHOW_WORD("state", state, job_state_name, WORDS(JOB_STATES)), \
    SHOW_TEXT("tenant", tenant),                        \
    SHOW_TEXT("queue", queue),                          \
    SHOW_BYTES("key", key, OR_NULL),                    \
    SHOW_INT("priority", priority),                     \
    SHOW_MOMENT("due_ms", due_ms),                      \
    SHOW_MOMENT("at_ms", at_ms),                        \
    SHOW_INT("attempt", attempt),                       \
    SHOW_INT("attempts", attempts),                     \
    SHOW_SIZE("payload_bytes", payload.len),             \
    SHOW_MOMENT("deferred_until_ms", deferred_ms, OR_NULL), \
    SHOW_INT("deferrals", deferrals),                   \
    SHOW_BYTES("error", error, OR_NULL),                \
    SHOW_BYTES("order", order, OR_NULL)

#define OF struct job_view
static const struct shape_field summary_head[] = {
    SUMMARY, { 0 },
};

const struct shape_field label_fields[] = {
    SHOW_OWN("tags", SHAPE_LIST, put_tags), SHOW_OWN("meta", SHAPE_DICT, put_meta), { 0 },
};

const struct shape_field job_fields[] = {
    SUMMARY, SHOW_BYTES("payload", payload), SHOW_MOMENT("created_ms", created_ms),
    SHOW_INT("stalls", stalls), SHOW_ALL(label_fields), SHOW_OWN("after", SHAPE_LIST, put_after),
    SHOW_TEXT("recurrence", recurrence, OR_NULL), SHOW_MOMENT("nominal_ms", nominal_ms, OR_NULL),
    SHOW_MOMENT("expires_ms", expires_ms, OR_NULL), SHOW_BOOL("notify", notify),
    SHOW_OWN("gates", SHAPE_TEXT, put_gates, .values = "hold|pass"), SHOW_DURATION("lease_ms", lease_ms, OR_NULL),
    SHOW_MOMENT("until_ms", until_ms, OR_NULL), SHOW_BYTES("worker", worker, OR_NULL),
    SHOW_INT("progress", progress, OR_NULL), SHOW_BYTES("note", note, OR_NULL),
    SHOW_BOOL("cancelling", cancelling), SHOW_BOOL("replacing", replacing),
    SHOW_MOMENT("ended_ms", ended_ms, OR_NULL), SHOW_MOMENT("keep_ms", keep_ms, OR_NULL),
    SHOW_BYTES("result", result, OR_NULL), SHOW_TEXT("push", push, OR_NULL),
    SHOW_TOKEN("token", token, OR_NULL), SHOW_MAPS("history", "Attempt", put_history),
    SHOW_INT("attempts_left_out", left_out), { 0 },
};
#undef OF
#define OF struct summary
const struct shape_field summary_fields[] = {
    SHOW_PART(job, struct job_view, summary_head), SHOW_BYTES("preview", preview, OR_NULL), { 0 },
};
/* clang-format on */

/* Members without a meaning in the job's state become negative or empty, and are shown as null. */
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

static void show_job(struct verb_call *c, struct job_view *v)
{
    view_prune(v);
    shape_put(c->reply, job_fields, v);
}

/* Whether the call is parked until the job ends. */
static bool await_parks(struct verb_call *c, const struct job_view *v, int *ret_err)
{
    if (state_is_ended(v->state) || c->await.until_ms <= engine_now_mono(c->engine))
        return false;
    int err = engine_await(c->engine, v, c->await.until_ms, c->owner, &c->parked);
    if (!c->await.made)
        *ret_err = err;
    c->await.made = true;
    return err == 0;
}

void verb_await(struct verb_call *c)
{
    struct job_view v;
    int err = engine_get(c->engine, c->await.id, &v);

    if (!err && await_parks(c, &v, &err))
        return;
    if (verb_missing(c, err))
        return;
    c->awaited = state_is_ended(v.state) ? REPLY_AWAITED : REPLY_SO_FAR;
    show_job(c, &v);
}

void await_begin(struct verb_call *c, struct job_id id, const struct arg_value *wait)
{
    const struct identity *who = c->who;
    int64_t wait_ms = wait->number;

    if (who && who->expires_ms && who->expires_ms - engine_now(c->engine) < wait_ms)
        wait_ms = who->expires_ms - engine_now(c->engine);
    c->await = (struct await){ id, engine_now_mono(c->engine) + wait_ms,
                               .made = c->verb->flags & VERB_ADDS };
    verb_await(c);
}

void run_get(struct verb_call *c)
{
    const struct arg_value *wait = arg_of(c, "wait");
    struct job_view v;
    struct job_id id;
    int err = job_named(c, &id);

    if (!err && wait->set) {
        await_begin(c, id, wait);
        return;
    }
    if (!err)
        err = engine_get(c->engine, id, &v);
    if (!verb_missing(c, err))
        show_job(c, &v);
}

/* A page of LIST. */
struct list_page {
    struct page page;
    size_t preview; /* bytes of each payload that are shown */
};

/* The beginning of a payload. It ends before a character that would be cut, so that a text stays
 * one. */
static struct str preview_of(struct str payload, size_t most)
{
    struct str head = { payload.ptr, payload.len < most ? payload.len : most };
    size_t span = utf8_span(head);

    if (head.len < payload.len && head.len - span < UTF8_MAX)
        head.len = span;
    return head;
}

static int list_add(void *arg, const struct job_view *v)
{
    struct list_page *l = arg;
    struct summary shown = { v, preview_of(v->payload, l->preview) };

    return page_add(&l->page, &shown);
}

const struct shape_field page_fields[] = {
    SHOW_PAGE("jobs", "Summary"),
    { 0 },
};

unsigned verb_states(const struct verb_call *c)
{
    size_t arg = (size_t)(arg_of(c, "state") - c->args), at = 0;
    struct str name, value;
    unsigned states = 0;

    while (verb_each(c, arg, &at, &name, &value))
        for (unsigned s = 0; s < JOB_STATE_COUNT; s++)
            if (str_ieq(value, job_state_name((enum job_state)s)))
                states |= 1u << s;
    return states;
}

void run_list(struct verb_call *c)
{
    const struct arg_value *queue = arg_of(c, "queue");
    struct list_page l = { .page = { .call = c, .fields = summary_fields, .map = page_fields },
                           .preview = (size_t)arg_number(arg_of(c, "preview"), 0) };
    struct list_filter f = { .tenant = c->tenant, .state = -1, .to_ms = INT64_MAX, .limit = 100 };
    char name[QUEUE_MAX_BYTES];
    int err;

    args_store(c, &f);
    f.states = verb_states(c);
    if (queue->set && !queue_named(c, queue->str, name, &f.queue))
        return;
    err = page_seek(&l.page);
    if (!err)
        err = engine_list(c->engine, &f, list_add, &l, &l.page.next);
    page_end(&l.page, err, "");
}
