/* SPDX-License-Identifier: MIT */
/* GET and LIST. */
#include "base/utf8.h"
#include "engine/await.h"
#include "engine/sorted.h"
#include "record/attempts.h"
#include "record/joblog.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#include <stdio.h>

#define UTF8_MAX 4 /* bytes of a character */

/* clang-format off */
#define OF struct attempt
const struct shape_field attempt_fields[] = {
    SHOW_INT("attempt", number), SHOW_MOMENT("start_ms", start_ms), SHOW_MOMENT("end_ms", end_ms),
    SHOW_DURATION("late_ms", late_ms), SHOW_WORD("outcome", outcome, attempt_outcome_name, WORDS_3RD(ATTEMPT_OUTCOMES)),
    SHOW_BYTES("worker", worker, OR_NULL), SHOW_BYTES("error", error, OR_NULL), { 0 },
};
#undef OF
#define OF struct job_line
const struct shape_field line_fields[] = {
    SHOW_MOMENT("at_ms", at_ms), SHOW_INT("attempt", attempt), SHOW_BYTES("text", text), { 0 },
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

static void put_left_out(struct reply *r, const void *view)
{
    reply_integer(r, attempts_left_out(((const struct job_view *)view)->history));
}

/* A job as GET shows it. */
struct whole {
    struct job_view *job;
    bool log; /* its log was asked for */
};

static void put_log_lines(struct reply *r, const void *view)
{
    reply_integer(r, joblog_count(((const struct whole *)view)->job->log));
}

static void put_log_left_out(struct reply *r, const void *view)
{
    reply_integer(r, joblog_left_out(((const struct whole *)view)->job->log));
}

static void put_log(struct reply *r, const void *view)
{
    const struct whole *w = view;
    struct wire_reader lines = joblog_reader(w->job->log);
    struct job_line line;

    if (!w->log) {
        reply_null(r);
        return;
    }
    reply_array(r, joblog_count(w->job->log));
    while (joblog_next(&lines, &line))
        shape_put(r, line_fields, &line);
}

/* A job as LIST shows it. */
struct summary {
    const struct job_view *job;
    struct str error;   /* the head of its error */
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
    SHOW_BYTES("order", order, OR_NULL)

#define OF struct job_view
static const struct shape_field summary_head[] = {
    SUMMARY, { 0 },
};

const struct shape_field label_fields[] = {
    SHOW_OWN("tags", SHAPE_LIST, put_tags), SHOW_OWN("meta", SHAPE_DICT, put_meta), { 0 },
};

static const struct shape_field view_fields[] = {
    SUMMARY, SHOW_BYTES("error", error, OR_NULL), SHOW_BYTES("payload", payload), SHOW_MOMENT("created_ms", created_ms),
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
    SHOW_OWN("attempts_left_out", SHAPE_INT, put_left_out), { 0 },
};
#undef OF
#define OF struct whole
const struct shape_field job_fields[] = {
    SHOW_PART(job, struct job_view, view_fields), SHOW_OWN("log_lines", SHAPE_INT, put_log_lines),
    SHOW_OWN("log_left_out", SHAPE_INT, put_log_left_out),
    SHOW_OWN("log", SHAPE_MAPS, put_log, .shape = "LogLine", OR_NULL), { 0 },
};
#undef OF
#define OF struct summary
const struct shape_field summary_fields[] = {
    SHOW_PART(job, struct job_view, summary_head), SHOW_BYTES("error", error, OR_NULL), SHOW_BYTES("preview", preview, OR_NULL), { 0 },
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

static void show_job(struct verb_call *c, struct job_view *v, bool log)
{
    view_prune(v);
    shape_put(c->reply, job_fields, &(struct whole){ v, log });
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
    show_job(c, &v, c->await.log);
}

void await_begin(struct verb_call *c, struct job_id id, const struct arg_value *wait, bool log)
{
    const struct identity *who = c->who;
    int64_t wait_ms = wait->number;

    if (who && who->expires_ms && who->expires_ms - engine_now(c->engine) < wait_ms)
        wait_ms = who->expires_ms - engine_now(c->engine);
    c->await = (struct await){ id, engine_now_mono(c->engine) + wait_ms, .log = log,
                               .made = c->verb->flags & VERB_ADDS };
    verb_await(c);
}

void run_get(struct verb_call *c)
{
    const struct arg_value *wait = arg_of(c, "wait");
    bool log = arg_number(arg_of(c, "log"), 0) == 1;
    struct job_view v;
    struct job_id id;
    int err = job_named(c, &id);

    if (!err && wait->set) {
        await_begin(c, id, wait, log);
        return;
    }
    if (!err)
        err = engine_get(c->engine, id, &v);
    if (!verb_missing(c, err))
        show_job(c, &v, log);
}

/* A page of LIST. */
struct list_page {
    struct page page;
    size_t preview; /* bytes of each payload that are shown */
};

/* The beginning of a text. It ends before a character that would be cut, so that a text stays one.
 */
static struct str head_of(struct str text, size_t most)
{
    struct str head = { text.ptr, text.len < most ? text.len : most };
    size_t span = utf8_span(head);

    if (head.len < text.len && head.len - span < UTF8_MAX)
        head.len = span;
    return head;
}

static int list_add(void *arg, const struct job_view *v)
{
    struct list_page *l = arg;
    struct summary shown = { v, head_of(v->error, ERROR_HEAD_BYTES),
                             head_of(v->payload, l->preview) };

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

/* The jobs of a sorted page have not ended. False after an error reply. */
static bool states_sort(struct verb_call *c, const struct list_filter *f)
{
    unsigned ended = f->states & (unsigned)JOB_ENDED;
    char why[128];

    for (unsigned s = 0; s < JOB_STATE_COUNT; s++)
        if (ended >> s & 1) {
            snprintf(
                why, sizeof(why),
                "sort: state %s has no order of due time: expected scheduled, ready, leased or "
                "waiting",
                job_state_name((enum job_state)s));
            verb_error(c, BELFRY_INVALID, why);
            return false;
        }
    if (f->ended_from_ms || f->ended_to_ms) {
        verb_error(c, BELFRY_INVALID,
                   "sort: not together with ended_from and ended_to: only jobs that have not ended "
                   "are sorted");
        return false;
    }
    return true;
}

void run_list(struct verb_call *c)
{
    const struct arg_value *queue = arg_of(c, "queue");
    struct list_page l = { .page = { .call = c, .fields = summary_fields, .map = page_fields },
                           .preview = (size_t)arg_number(arg_of(c, "preview"), 0) };
    struct list_filter f = { .tenant = c->tenant, .state = -1, .to_ms = INT64_MAX, .limit = 100 };
    char name[QUEUE_MAX_BYTES];
    bool sorted = arg_of(c, "sort")->set;
    int err;

    args_store(c, &f);
    f.states = verb_states(c);
    if ((queue->set && !queue_named(c, queue->str, name, &f.queue)) ||
        (sorted && !states_sort(c, &f)))
        return;
    err = page_seek(&l.page);
    if (!err)
        err = sorted ? engine_sorted(c->engine, &f, l.preview, list_add, &l, &l.page.next)
                     : engine_list(c->engine, &f, list_add, &l, &l.page.next);
    page_end(&l.page, err, sorted ? engine_detail(c->engine) : "");
}
