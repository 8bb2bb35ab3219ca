/* SPDX-License-Identifier: MIT */
/* The verbs of workers: LEASE, COMPLETE, FAIL, EXTEND, RELEASE. */
#include "verbs/handlers.h"

#include "engine/push.h"

/* Text, because many clients keep integers as doubles. */
void reply_token(struct reply *r, uint64_t token)
{
    char digits[BUF_DIGITS];

    reply_bytes(r, (struct str){ digits, (size_t)(buf_digits(digits, token) - digits) });
}

/* Parts that were written for one job and are the same for the next: most are of the same queue and
 * have no labels. */
struct leases_reply {
    struct str tenant, queue; /* by address: those of a queue stay where they are */
    int64_t lease_ms, until_ms;
    struct reply_part names, rest;
    bool has_names, has_rest;
};

static void reply_names(struct reply *r, const struct job_view *v, struct leases_reply *l)
{
    if (l->has_names && l->tenant.ptr == v->tenant.ptr && l->queue.ptr == v->queue.ptr) {
        reply_again(r, &l->names);
        return;
    }
    reply_part_begin(r, &l->names);
    reply_name(r, "tenant");
    reply_bytes(r, v->tenant);
    reply_name(r, "queue");
    reply_bytes(r, v->queue);
    l->has_names = reply_part_end(r, &l->names);
    l->tenant = v->tenant;
    l->queue = v->queue;
}

static void reply_rest(struct reply *r, const struct job_view *v, struct leases_reply *l)
{
    bool plain = v->key.len == 0 && v->order.len == 0 && v->recurrence.len == 0 &&
                 v->tag_count == 0 && v->meta_count == 0;

    if (plain && l->has_rest && l->lease_ms == v->lease_ms && l->until_ms == v->until_ms) {
        reply_again(r, &l->rest);
        return;
    }
    reply_part_begin(r, &l->rest);
    reply_name(r, "lease_ms");
    reply_integer(r, v->lease_ms);
    reply_name(r, "until_ms");
    reply_integer(r, v->until_ms);
    reply_field_bytes(r, "key", v->key);
    reply_labels(r, v);
    reply_field_bytes(r, "order", v->order);
    reply_field_bytes(r, "recurrence", v->recurrence);
    reply_name(r, "nominal_ms");
    if (v->recurrence.len)
        reply_integer(r, v->nominal_ms);
    else
        reply_null(r);
    l->has_rest = reply_part_end(r, &l->rest) && plain;
    l->lease_ms = v->lease_ms;
    l->until_ms = v->until_ms;
}

static void reply_lease(const struct engine *e, struct reply *r, const struct job *job,
                        struct leases_reply *l)
{
    struct job_view v;

    engine_view(e, job, &v);
    reply_map(r, 16);
    reply_name(r, "id");
    reply_id(r, v.id);
    reply_name(r, "token");
    reply_token(r, v.token);
    reply_names(r, &v, l);
    reply_name(r, "payload");
    reply_bytes(r, v.payload);
    reply_name(r, "attempt");
    reply_integer(r, v.attempt);
    reply_name(r, "priority");
    reply_integer(r, v.priority);
    reply_name(r, "due_ms");
    reply_integer(r, v.due_ms);
    reply_rest(r, &v, l);
}

void verb_reply_leases(const struct engine *e, struct reply *r, struct job *const *jobs, size_t n)
{
    struct leases_reply l = { 0 };

    reply_array(r, n);
    for (size_t i = 0; i < n; i++)
        reply_lease(e, r, jobs[i], &l);
}

/* Nobody waits beyond the end of his token. */
static int64_t wait_of(const struct verb_call *c)
{
    int64_t wait_ms = c->args[LEASE_WAIT].number;
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
    struct lease_request r = {
        .queues = queues,
        .count = a[LEASE_COUNT].set ? (size_t)a[LEASE_COUNT].number : 1,
        .for_ms = a[LEASE_FOR].set ? a[LEASE_FOR].number : -1,
        .worker = a[LEASE_WORKER].set ? a[LEASE_WORKER].str : (struct str){ 0 },
    };
    const char *comma;
    int n;

    do {
        comma = memchr(rest.ptr, ',', rest.len);
        struct str name = { rest.ptr, comma ? (size_t)(comma - rest.ptr) : rest.len };

        full_name(c->tenant, name, names[r.queue_count], &queues[r.queue_count]);
        if (engine_pushes(c->engine, queues[r.queue_count])) {
            verb_error(c, BELFRY_INVALID,
                       "queues: one of them has a push_url: its jobs are pushed, not leased");
            return;
        }
        if (comma)
            rest = (struct str){ comma + 1, rest.len - name.len - 1 };
        r.queue_count++;
    } while (comma);

    n = engine_lease(c->engine, &r, jobs);
    if (n == 0 && a[LEASE_WAIT].set && a[LEASE_WAIT].number > 0) {
        n = engine_wait(c->engine, &r, wait_of(c), c->owner, &c->parked);
        if (n == 0)
            return;
    }
    if (n < 0)
        verb_error(c, n, engine_detail(c->engine));
    else
        verb_reply_leases(c->engine, c->reply, jobs, (size_t)n);
}

void run_complete(struct verb_call *c)
{
    const struct arg_value *a = c->args;

    if (a[COMPLETE_RESULT].set && a[COMPLETE_AGAIN].set) {
        verb_error(c, BELFRY_INVALID, "result, again: expected only one of them");
        return;
    }
    verb_ok(c, engine_complete(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token,
                               a[COMPLETE_RESULT].set ? a[COMPLETE_RESULT].str : (struct str){ 0 },
                               a[COMPLETE_AGAIN].set ? a[COMPLETE_AGAIN].number : -1));
}

void run_fail(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct fail_result result;
    int err = engine_fail(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token,
                          a[FAIL_ERROR].set ? a[FAIL_ERROR].str : (struct str){ 0 },
                          a[FAIL_RETRY].set ? a[FAIL_RETRY].number : -1,
                          a[FAIL_FINAL].set && a[FAIL_FINAL].number, &result);

    if (err) {
        verb_error(c, err, engine_detail(c->engine));
        return;
    }
    reply_map(c->reply, 2);
    reply_text(c->reply, "state");
    reply_text(c->reply, job_state_name(result.state));
    reply_text(c->reply, "at_ms");
    if (result.state == JOB_SCHEDULED)
        reply_integer(c->reply, result.at_ms);
    else
        reply_null(c->reply);
}

void run_extend(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct extend_result result;
    struct extend_spec spec = {
        .for_ms = a[EXTEND_FOR].set ? a[EXTEND_FOR].number : -1,
        .progress = a[EXTEND_PROGRESS].set ? a[EXTEND_PROGRESS].number : -1,
        .note = a[EXTEND_NOTE].set ? a[EXTEND_NOTE].str : (struct str){ 0 },
    };
    int err = engine_extend(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token, &spec, &result);

    if (err) {
        verb_error(c, err, engine_detail(c->engine));
        return;
    }
    reply_map(c->reply, 2);
    reply_text(c->reply, "until_ms");
    reply_integer(c->reply, result.until_ms);
    reply_text(c->reply, "cancelled");
    reply_boolean(c->reply, result.cancelled);
}

void run_release(struct verb_call *c)
{
    const struct arg_value *a = c->args;

    verb_ok(c, engine_release(c->engine, a[HELD_ID].id, a[HELD_TOKEN].token,
                              a[RELEASE_IN].set ? a[RELEASE_IN].number : 0));
}
