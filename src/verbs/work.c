/* SPDX-License-Identifier: MIT */
/* The verbs of workers: LEASE, COMPLETE, FAIL, EXTEND, RELEASE. */
#include "verbs/handlers.h"

/* Text, because many clients keep integers as doubles. */
void reply_token(struct reply *r, uint64_t token)
{
    char digits[BUF_DIGITS];

    reply_bytes(r, (struct str){ digits, (size_t)(buf_digits(digits, token) - digits) });
}

static void reply_lease(const struct engine *e, struct reply *r, const struct job *job)
{
    struct job_view v;

    engine_view(e, job, &v);
    reply_map(r, 16);
    reply_name(r, "id");
    reply_id(r, v.id);
    reply_name(r, "token");
    reply_token(r, v.token);
    reply_name(r, "tenant");
    reply_bytes(r, v.tenant);
    reply_name(r, "queue");
    reply_bytes(r, v.queue);
    reply_name(r, "payload");
    reply_bytes(r, v.payload);
    reply_name(r, "attempt");
    reply_integer(r, v.attempt);
    reply_name(r, "priority");
    reply_integer(r, v.priority);
    reply_name(r, "due_ms");
    reply_integer(r, v.due_ms);
    reply_name(r, "lease_ms");
    reply_integer(r, v.lease_ms);
    reply_name(r, "until_ms");
    reply_integer(r, v.until_ms);
    reply_name(r, "key");
    if (v.key.len)
        reply_bytes(r, v.key);
    else
        reply_null(r);
    reply_labels(r, &v);
    reply_name(r, "order");
    if (v.order.len)
        reply_bytes(r, v.order);
    else
        reply_null(r);
    reply_name(r, "recurrence");
    if (v.recurrence.len)
        reply_bytes(r, v.recurrence);
    else
        reply_null(r);
    reply_name(r, "nominal_ms");
    if (v.recurrence.len)
        reply_integer(r, v.nominal_ms);
    else
        reply_null(r);
}

void verb_reply_leases(const struct engine *e, struct reply *r, struct job *const *jobs, size_t n)
{
    reply_array(r, n);
    for (size_t i = 0; i < n; i++)
        reply_lease(e, r, jobs[i]);
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
        if (comma)
            rest = (struct str){ comma + 1, rest.len - name.len - 1 };
        r.queue_count++;
    } while (comma);

    n = engine_lease(c->engine, &r, jobs);
    if (n == 0 && a[LEASE_WAIT].set && a[LEASE_WAIT].number > 0) {
        n = engine_wait(c->engine, &r, a[LEASE_WAIT].number, c->owner, &c->parked);
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
