/* SPDX-License-Identifier: MIT */
#include "support/parents.h"

struct job_id job(const char *queue)
{
    struct job_spec spec = spec_of(queue);

    return schedule(&spec);
}

struct job_id after_all(const char *queue, const struct job_id *parents, size_t n,
                        enum after_fail fail)
{
    struct job_spec spec = spec_of(queue);

    spec.after = parents;
    spec.after_count = n;
    spec.after_fail = fail;
    return schedule(&spec);
}

struct job_id after(const char *queue, struct job_id parent, enum after_fail fail)
{
    return after_all(queue, &parent, 1, fail);
}

struct job_id waits_for(struct job_id parent)
{
    return after("q", parent, AFTERFAIL_CANCEL);
}

int refused(const struct job_id *parents, size_t n)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    uint64_t lsn = engine_lsn(e), jobs = stats().hot_jobs;
    int err;

    spec.after = parents;
    spec.after_count = n;
    err = engine_schedule(e, &spec, &r);
    assert_int_equal(engine_lsn(e), lsn);
    assert_int_equal(stats().hot_jobs, jobs);
    return err;
}

struct job_view take(const char *queue)
{
    struct job_view v;

    assert_true(lease(queue, &v));
    return v;
}

void cancel(struct job_id id)
{
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    work();
}
