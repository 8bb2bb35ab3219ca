/* SPDX-License-Identifier: MIT */
/* The verbs of workers: LEASE, COMPLETE, FAIL, EXTEND, LOG, RELEASE. */
#include "verbs/handlers.h"

#include "engine/push.h"
#include "verbs/worker.h"

#define LOAD_WAIT_MS 2000

/* clang-format off */
#define OF struct job_view
static const struct shape_field lease_head[] = {
    SHOW_ID("id", id), SHOW_TOKEN("token", token), { 0 },
};

static const struct shape_field lease_names[] = {
    SHOW_TEXT("tenant", tenant), SHOW_TEXT("queue", queue), { 0 },
};

static const struct shape_field lease_job[] = {
    SHOW_BYTES("payload", payload), SHOW_INT("attempt", attempt), SHOW_INT("priority", priority),
    SHOW_MOMENT("due_ms", due_ms), { 0 },
};

static const struct shape_field lease_rest[] = {
    SHOW_DURATION("lease_ms", lease_ms), SHOW_MOMENT("until_ms", until_ms),
    SHOW_BYTES("key", key, OR_NULL), SHOW_ALL(label_fields), SHOW_BYTES("order", order, OR_NULL),
    SHOW_TEXT("recurrence", recurrence, OR_NULL), SHOW_MOMENT("nominal_ms", nominal_ms, OR_NULL),
    { 0 },
};

const struct shape_field lease_fields[] = {
    SHOW_ALL(lease_head), SHOW_ALL(lease_names), SHOW_ALL(lease_job), SHOW_ALL(lease_rest), { 0 },
};
#undef OF
#define OF struct fail_result
const struct shape_field fail_fields[] = {
    SHOW_WORD("state", state, job_state_name, .values = "scheduled|dead|cancelled"), SHOW_MOMENT("at_ms", at_ms, OR_NULL),
    SHOW_INT("attempt", attempt), SHOW_INT("attempts", attempts), { 0 },
};
#undef OF
#define OF struct extend_result
const struct shape_field extend_fields[] = {
    SHOW_MOMENT("until_ms", until_ms), SHOW_BOOL("cancelled", cancelled), { 0 },
};
/* clang-format on */

/* The bytes of a part of a reply. */
struct part {
    size_t from;
    size_t to; /* 0: it cannot be repeated */
};

/* Parts of the last job's reply. Most jobs are of one queue and have no labels, so the next job
 * repeats these bytes. */
struct leases_reply {
    struct str tenant, queue; /* compared by address: names of a queue do not move */
    int64_t lease_ms, until_ms;
    struct part names, rest;
    size_t fields;
};

static void reply_part(struct reply *r, const struct shape_field *fields, const struct job_view *v,
                       struct part *ret)
{
    ret->from = r->ops->mark(r);
    shape_put_fields(r, fields, v);
    ret->to = r->ops->again ? r->ops->mark(r) : 0;
}

static void reply_names(struct reply *r, const struct job_view *v, struct leases_reply *l)
{
    if (l->names.to && l->tenant.ptr == v->tenant.ptr && l->queue.ptr == v->queue.ptr) {
        r->ops->again(r, l->names.from, l->names.to);
        return;
    }
    reply_part(r, lease_names, v, &l->names);
    l->tenant = v->tenant;
    l->queue = v->queue;
}

static void reply_rest(struct reply *r, const struct job_view *v, struct leases_reply *l)
{
    bool plain = v->key.len == 0 && v->order.len == 0 && v->recurrence.len == 0 &&
                 v->labels.tag_count == 0 && v->labels.meta_count == 0;

    if (plain && l->rest.to && l->lease_ms == v->lease_ms && l->until_ms == v->until_ms) {
        r->ops->again(r, l->rest.from, l->rest.to);
        return;
    }
    reply_part(r, lease_rest, v, &l->rest);
    if (!plain)
        l->rest.to = 0;
    l->lease_ms = v->lease_ms;
    l->until_ms = v->until_ms;
}

static void reply_lease(const struct engine *e, struct reply *r, const struct job *job,
                        struct leases_reply *l)
{
    struct job_view v;

    engine_view(e, job, &v);
    if (v.recurrence.len == 0)
        v.nominal_ms = -1;
    reply_map(r, l->fields);
    shape_put_fields(r, lease_head, &v);
    reply_names(r, &v, l);
    shape_put_fields(r, lease_job, &v);
    reply_rest(r, &v, l);
}

void verb_reply_leases(const struct engine *e, struct reply *r, struct job *const *jobs, size_t n)
{
    struct leases_reply l = { .fields = shape_count(lease_fields) };

    reply_array(r, n);
    for (size_t i = 0; i < n; i++)
        reply_lease(e, r, jobs[i], &l);
}

/* How long a worker that got nothing waits: no longer than its token is valid. A worker that did
 * not ask to wait waits LOAD_WAIT_MS if due jobs are still to be loaded from disk. */
static int64_t wait_of(const struct verb_call *c, const struct lease_request *r)
{
    int64_t wait_ms = arg_number(&c->args[LEASE_WAIT], 0);

    if (wait_ms < LOAD_WAIT_MS && engine_owes(c->engine, r))
        wait_ms = LOAD_WAIT_MS;
    int64_t left_ms =
        c->who && c->who->expires_ms ? c->who->expires_ms - engine_now(c->engine) : wait_ms;

    return left_ms < wait_ms ? left_ms : wait_ms;
}

void run_lease(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    char names[LEASE_QUEUES_MAX][QUEUE_MAX_BYTES];
    struct str queues[LEASE_QUEUES_MAX];
    struct str rest = a[LEASE_QUEUES].str;
    struct job *jobs[LEASE_COUNT_MAX];
    struct lease_request r = { .queues = queues, .count = 1, .for_ms = -1 };
    int64_t wait_ms;
    int n;

    args_store(c, &r);
    for (; rest.len; r.queue_count++) {
        struct str *queue = &queues[r.queue_count];

        full_name(c->tenant, str_cut(&rest, ','), names[r.queue_count], queue);
        if (engine_pushes(c->engine, *queue)) {
            verb_error(c, BELFRY_INVALID,
                       "queues: one of them has a push_url: its jobs are pushed, not leased");
            return;
        }
    }

    verb_sees_ask(c, r.worker, a[LEASE_QUEUES].str);
    n = engine_lease(c->engine, &r, jobs);
    wait_ms = n == 0 ? wait_of(c, &r) : 0;
    if (wait_ms > 0) {
        n = engine_wait(c->engine, &r, wait_ms, c->owner, &c->parked);
        if (n == 0)
            return;
        if (arg_number(&a[LEASE_WAIT], 0) == 0)
            n = 0; /* an error of a wait that the worker did not ask for */
    }
    if (!verb_failed(c, n))
        verb_reply_leases(c->engine, c->reply, jobs, (size_t)n);
}

void run_complete(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct worker *w;
    int err;

    if (a[COMPLETE_RESULT].set && a[COMPLETE_AGAIN].set) {
        verb_error(c, BELFRY_INVALID, "result, again: expected only one of them");
        return;
    }
    w = verb_sees_holder(c, a[HELD_ID].id, a[HELD_TOKEN].token);
    err = engine_complete(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token,
                          arg_str(&a[COMPLETE_RESULT]), arg_number(&a[COMPLETE_AGAIN], -1));
    if (w && !err)
        worker_count(w, WORKER_DONE, engine_now(c->engine));
    verb_ok(c, err);
}

void run_fail(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct fail_result result;
    struct worker *w = verb_sees_holder(c, a[HELD_ID].id, a[HELD_TOKEN].token);
    int err = engine_fail(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token, arg_str(&a[FAIL_ERROR]),
                          arg_number(&a[FAIL_RETRY], -1), a[FAIL_FINAL].set && a[FAIL_FINAL].number,
                          &result);

    if (verb_failed(c, err))
        return;
    if (w)
        worker_count(w, WORKER_FAILED, engine_now(c->engine));
    if (result.state != JOB_SCHEDULED)
        result.at_ms = -1;
    shape_put(c->reply, fail_fields, &result);
}

void run_extend(struct verb_call *c)
{
    struct extend_spec spec = { .for_ms = -1, .progress = -1 };
    struct extend_result result;
    int err;

    args_store(c, &spec);
    verb_sees_holder(c, c->args[HELD_ID].id, c->args[HELD_TOKEN].token);
    err = engine_extend(c->engine, c->args[HELD_ID].id, c->args[HELD_TOKEN].token, &spec, &result);
    if (!verb_failed(c, err))
        shape_put(c->reply, extend_fields, &result);
}

void run_log(struct verb_call *c)
{
    const struct arg_value *a = c->args;

    verb_sees_holder(c, a[HELD_ID].id, a[HELD_TOKEN].token);
    verb_ok(c, engine_log(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token, a[LOG_TEXT].str));
}

void run_release(struct verb_call *c)
{
    const struct arg_value *a = c->args;

    verb_sees_holder(c, a[HELD_ID].id, a[HELD_TOKEN].token);
    verb_ok(c, engine_release(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token,
                              arg_number(&a[RELEASE_IN], 0)));
}
