/* SPDX-License-Identifier: MIT */
/* Helpers for tests of EXPLAIN: requests about queue q of tenant a, on a partition whose memory is
 * small. */
#ifndef TESTS_EXPLAIN_H
#define TESTS_EXPLAIN_H

#include "support/spilled.h"

#define MINUTE INT64_C(60000)

/* ---- Requests ---- */

static inline struct explanation explain(struct job_id id)
{
    struct explanation x;
    int err;

    EXECUTE(err, engine_explain(e, id, &x));
    assert_int_equal(err, 0);
    assert_int_equal(x.reason, x.causes[0].reason);
    assert_int_equal(x.until_ms, x.causes[0].until_ms);
    assert_string_equal(x.why, x.causes[0].why);
    return x;
}

static inline struct job_id put(const struct job_spec *spec)
{
    struct schedule_result r;
    int err;

    EXECUTE(err, engine_schedule(e, spec, &r));
    assert_int_equal(err, 0);
    return r.id;
}

static inline size_t ask(const char *queue, size_t count, struct job_view *ret)
{
    struct str name = str_of(queue);
    struct lease_request r = {
        .queues = &name, .queue_count = 1, .count = count, .for_ms = 10 * HOUR
    };
    struct job *jobs[10];
    int n = engine_lease(e, &r, jobs);

    assert_true(n >= 0 && n <= 10);
    for (int i = 0; i < n; i++)
        engine_view(e, jobs[i], &ret[i]);
    return (size_t)n;
}

static inline struct job_view take(const char *queue)
{
    struct job_view v;

    assert_int_equal(ask(queue, 1, &v), 1);
    return v;
}

static inline void fail_it(const struct job_view *v, int64_t retry_ms, bool final)
{
    struct fail_result r;

    assert_int_equal(engine_fail(e, v->id, v->token, STR("no\tluck"), retry_ms, final, &r), 0);
}

static inline void set_queue(unsigned field, struct queue_settings s)
{
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, 1u << field), 0);
}

static inline void set_tenant(unsigned fields, struct tenant_settings s)
{
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, fields), 0);
}

/* Quiet hours from the last full minute on; returns their end. */
static inline int64_t be_quiet(int64_t ms)
{
    struct tenant_settings s = { .tz = "UTC" };
    int64_t from = wall - wall % MINUTE, to = from + ms;
    int begin = (int)(from / MINUTE % 1440), end = (int)(to / MINUTE % 1440);

    snprintf(s.quiet, sizeof(s.quiet), "%02d:%02d-%02d:%02d", begin / 60, begin % 60, end / 60,
             end % 60);
    set_tenant(1u << TENANT_QUIET | 1u << TENANT_TZ, s);
    return to;
}

static inline void reopen(void)
{
    assert_int_equal(partition_flush(p), 0);
    engine_verify(e);
    partition_close(p);
    open_partition();
}

#endif
