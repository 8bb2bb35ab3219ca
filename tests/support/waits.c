/* SPDX-License-Identifier: MIT */
#include "support/waits.h"

#define CUTS_MAX 4000

struct engine *e;
struct buf logs[LOGS_MAX];
static size_t log_count;
static struct buf nowhere; /* what an engine writes that is only looked at */
static bool start_wrote;   /* such an engine wrote something when it started */
int64_t wall, mono;
struct zonecache zones;
bool zones_gone;

/* Where the journal may end: what belongs together is not cut. */
static struct cut {
    size_t log;
    size_t len;
    int64_t wall_ms;
    uint64_t hash;
} cuts[CUTS_MAX];

size_t cut_count;
bool cutting;

static void note_cut(void *arg)
{
    (void)arg;
    if (!cutting)
        return;
    assert_true(cut_count < CUTS_MAX);
    cuts[cut_count++] =
        (struct cut){ log_count - 1, logs[log_count - 1].len, engine_now(e), engine_hash(e) };
}

static int zone_of(void *arg, struct str name, const struct zone **ret, const char **ret_why)
{
    (void)arg;
    if (!zones_gone)
        return zonecache_get(&zones, ZONEDIR_DEFAULT, name, ret, ret_why);
    *ret_why = "it is gone";
    return BELFRY_NOTFOUND;
}

static struct engine *make(uint64_t epoch)
{
    return engine_new(&(struct engine_options){ .epoch = epoch,
                                                .seed = 42,
                                                .memory_bytes = UINT64_C(1) << 30,
                                                .commit_bytes = 1,
                                                .roll = note_cut,
                                                .zone = zone_of });
}

/* An engine of what the journal says up to here. */
static struct engine *replayed(size_t log, size_t len, uint64_t epoch)
{
    struct engine *again = make(epoch);

    for (size_t i = 0; i <= log; i++)
        assert_int_equal(
            engine_replay(again, (struct str){ logs[i].ptr, i == log ? len : logs[i].len }, 1), 0);
    return again;
}

static void begin_log(void)
{
    assert_true(log_count < LOGS_MAX);
    buf_reserve(&logs[log_count], 1 << 16);
    engine_direct(e, &logs[log_count], 1, log_count == 0, 0);
    log_count++;
}

int setup(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    cut_count = 0;
    cutting = true;
    zones_gone = false;
    e = make(1);
    begin_log();
    engine_start(e, wall, mono, false);
    return 0;
}

void restart(int64_t down_ms)
{
    engine_free(e);
    e = replayed(log_count - 1, logs[log_count - 1].len, log_count + 1);
    wall += down_ms;
    mono += down_ms;
    begin_log();
    engine_start(e, wall, mono, false);
    engine_verify(e);
}

struct engine *at_cut(size_t i)
{
    struct engine *again = replayed(cuts[i].log, cuts[i].len, LOGS_MAX);
    size_t head;

    nowhere.len = 0;
    buf_reserve(&nowhere, 4096);
    engine_direct(again, &nowhere, 1, false, 0);
    head = nowhere.len;
    engine_start(again, cuts[i].wall_ms, 5000, false);
    start_wrote = nowhere.len > head;
    engine_verify(again);
    return again;
}

/* Wherever it is cut, the journal says what the engine was; unless the start itself changes
 * something, as it gives a lease its grace or ends one that had it. */
static void check_cuts(void)
{
    size_t compared = 0;

    cutting = false;
    for (size_t i = 0; i < cut_count; i++) {
        struct engine *again = at_cut(i);

        if (!start_wrote && engine_hash(again) != cuts[i].hash)
            fail_msg("cut %zu of %zu: the engine is another", i, cut_count);
        compared += !start_wrote;
        engine_free(again);
    }
    if (compared < cut_count / 2)
        fail_msg("only %zu of %zu cuts could be compared", compared, cut_count);
}

int teardown(void **state)
{
    (void)state;
    engine_verify(e);
    check_cuts();
    engine_free(e);
    for (size_t i = 0; i < log_count; i++)
        buf_fini(&logs[i]);
    log_count = 0;
    buf_fini(&nowhere);
    zonecache_fini(&zones);
    return 0;
}

void work(void)
{
    int done;

    while ((done = engine_task(e)) > 0)
        ;
    assert_int_equal(done, 0);
}

void pass(int64_t ms)
{
    wall += ms;
    mono += ms;
    engine_advance(e, wall, mono);
    work();
    assert_false(engine_dispatch(e, &(struct delivery){ 0 }));
}

struct job_id schedule(const struct job_spec *spec)
{
    struct schedule_result r;
    int err = engine_schedule(e, spec, &r);

    if (err)
        fail_msg("SCHEDULE: %s: %s", error_name(err), engine_detail(e));
    return r.id;
}

enum job_state state_of(struct job_id id)
{
    struct job_view v;

    return engine_get(e, id, &v) ? JOB_STATE_COUNT : v.state;
}

bool lease(const char *queue, struct job_view *ret)
{
    struct str name = str_of(queue);
    struct lease_request r = {
        .queues = &name, .queue_count = 1, .count = 1, .for_ms = 10 * MINUTE
    };
    struct job *job;

    if (engine_lease(e, &r, &job) == 0)
        return false;
    engine_view(e, job, ret);
    return true;
}

void complete(const struct job_view *v)
{
    assert_int_equal(engine_complete(e, v->id, v->token, (struct str){ 0 }, -1), 0);
    work();
}

void end_dead(const struct job_view *v)
{
    struct fail_result r;

    assert_int_equal(engine_fail(e, v->id, v->token, STR("no"), -1, true, &r), 0);
    assert_int_equal(r.state, JOB_DEAD);
    work();
}

int run_all(const char *queue)
{
    struct job_view v;
    int n = 0;

    for (; lease(queue, &v); n++)
        complete(&v);
    return n;
}

struct engine_stats stats(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s;
}
