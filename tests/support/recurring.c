/* SPDX-License-Identifier: MIT */
#include "support/recurring.h"

struct recurrence_spec every(const char *period)
{
    struct recurrence_spec s = {
        .tenant = STR("default"),
        .name = STR("r"),
        .job = spec_of("q"),
        .kind = RECUR_EVERY,
        .rule = str_of(period),
        .zone = STR("UTC"),
        .start_ms = -1,
    };

    return s;
}

struct recurrence_spec rrule(const char *rule)
{
    struct recurrence_spec s = every(rule);

    s.kind = RECUR_RRULE;
    return s;
}

void recur(const struct recurrence_spec *s)
{
    int err = engine_recur(e, s);

    if (err)
        fail_msg("RECUR: %s: %s", error_name(err), engine_detail(e));
    work();
}

int refused(const struct recurrence_spec *s)
{
    uint64_t lsn = engine_lsn(e);
    int err = engine_recur(e, s);

    assert_int_equal(engine_lsn(e), lsn);
    return err;
}

struct recurrence_view *view_named(const char *name)
{
    static struct recurrence_view v;

    assert_int_equal(engine_recurrence_get(e, STR("default"), str_of(name), &v), 0);
    assert_false(v.damaged);
    return &v;
}

struct recurrence *view(void)
{
    return &view_named("r")->r;
}

uint64_t total(enum ledger_outcome o)
{
    return view()->totals[o];
}

uint64_t decided(void)
{
    uint64_t n = 0;

    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        n += view()->totals[i];
    return n + view()->queued;
}

void set_paused(bool paused)
{
    assert_int_equal(engine_recurrence_pause(e, STR("default"), STR("r"), paused), 0);
    work();
}

struct ledger_entry entry(void)
{
    const struct recurrence *r = view();

    assert_true(r->ledger_count > 0);
    return r->ledger[r->ledger_count - 1];
}

void check_entry(struct ledger_entry x, enum ledger_outcome o, int64_t from, int64_t upto,
                 uint64_t n)
{
    assert_int_equal(x.outcome, o);
    assert_int_equal(x.nominal_ms, from);
    assert_int_equal(x.upto_ms, upto);
    assert_int_equal(x.count, n);
}

int64_t run_one(void)
{
    struct job_view v;

    if (!lease("q", &v))
        return -1;
    complete(&v);
    return v.nominal_ms;
}
