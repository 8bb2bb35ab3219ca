/* SPDX-License-Identifier: MIT */
#include "host/host.h"

#include "host/committer.h"
#include "host/errand.h"

#define REBUILD_MS      1000
#define REBUILD_SOON_MS 5000
#define REBUILD_LOOK_MS 10 /* how often a rebuild looks whether nothing is under way */
#define DUE_SOON_MS     100
#define SMALL_COMMIT    (64u << 10) /* The loop itself writes only smaller commits. */
#define OWN_WORK_US     2000
#define DELIVER_US      2000 /* the time for answering parked requests in one go */
#define DELIVERIES_MAX  500  /* answers to parked requests in a turn */
#define STALL_US        50000
#define STALL_CREDIT_US INT64_C(60000000)

/* ---- Time ---- */

/* Tells the user of a piece of work that began at noted_us and has ended. */
static void note_work(struct host *h, const char *what)
{
    int64_t now_us = time_mono_us();

    if (h->ops->worked)
        h->ops->worked(h->user, what, now_us - h->noted_us);
    h->noted_us = now_us;
}

/*
 * In a stall the loop comes back later than it should, because a piece of work or the machine held
 * it. Meanwhile no worker was heard. Therefore the engine's monotonic clock stands still for that
 * time, and STALL_US longer, until the words of all workers are read. So no lease ends before its
 * worker had its time. Stalls that come again and again must not stop the clock, because leases of
 * workers that are gone have to end. The credit for stalls grows by half of the time that passes,
 * up to a minute.
 */
static bool heed_stall(struct host *h, int64_t now_us)
{
    int64_t passed_us = now_us - h->seen_us;
    int64_t late_us = now_us - (h->wake_us > h->seen_us ? h->wake_us : h->seen_us);
    int64_t count_us = passed_us + STALL_US;
    bool stalled = h->seen_us && late_us > STALL_US;

    if (h->seen_us)
        h->credit_us += passed_us / 2;
    h->seen_us = now_us;
    h->wake_us = 0;
    if (stalled) {
        count_us = count_us < h->credit_us ? count_us : h->credit_us;
        h->credit_us -= count_us;
        h->stalls++;
        clocks_stall(&h->clocks, count_us / 1000);
        h->ops->stalled(h->user, passed_us / 1000);
    }
    if (h->credit_us > STALL_CREDIT_US)
        h->credit_us = STALL_CREDIT_US;
    return stalled;
}

/* Counts the answer to a parked request. False: the other parked requests wait for the next turn.
 * Many jobs may become ready for many workers at once, and all their waits may end together. */
static bool note_delivery(struct host *h)
{
    if (++h->deliveries < DELIVERIES_MAX && time_mono_us() < h->seen_us + DELIVER_US)
        return true;
    host_wake(h);
    return false;
}

static bool deliver_one(struct host *h, void *owner, struct job *const *jobs, size_t n)
{
    h->ops->deliver(h->user, owner, jobs, n);
    return note_delivery(h);
}

/* Tells parked requests that their time is up, or that their job has ended. */
static void end_waits(struct host *h)
{
    void *owner;

    while (h->engine && engine_timeout(h->engine, &owner))
        if (!deliver_one(h, owner, NULL, 0))
            break;
}

void host_advance(struct host *h)
{
    int64_t wall_ms, mono_ms;

    clocks_read(&h->clocks, &wall_ms, &mono_ms);
    if (heed_stall(h, h->clocks.mono_us))
        clocks_read(&h->clocks, &wall_ms, &mono_ms);
    h->noted_us = h->clocks.mono_us;
    if (h->engine)
        engine_advance(h->engine, wall_ms, mono_ms);
    if (h->deliveries < DELIVERIES_MAX)
        end_waits(h);
    note_work(h, "the clock: jobs that are due, leases that end");
}

static void on_alarm(void *arg)
{
    host_advance(arg);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sets the alarms. Notes when the loop should be back: when an alarm or a timer of the loop fires.
 */
static void set_alarms(struct host *h)
{
    int64_t wall = INT64_MAX, mono = INT64_MAX;
    int timeout_ms = uv_backend_timeout(h->loop);

    if (h->engine)
        engine_next_wake(h->engine, &wall, &mono);
    wall = wall == INT64_MAX ? wall : wall * 1000;
    mono = mono == INT64_MAX ? mono : clocks_mono_us(&h->clocks, mono);
    alarm_set(&h->wall_alarm, wall);
    alarm_set(&h->mono_alarm, mono);
    h->wake_us = timeout_ms < 0 ? INT64_MAX : h->seen_us + timeout_ms * INT64_C(1000);
    h->wake_us = earlier(h->wake_us, mono);
    if (wall != INT64_MAX)
        h->wake_us = earlier(h->wake_us, wall - h->clocks.apart_us);
}

/* Runs just before the turn that it was started for. */
static void on_busy(uv_idle_t *handle)
{
    uv_idle_stop(handle);
}

void host_wake(struct host *h)
{
    uv_idle_start(&h->busy, on_busy);
}

/* ---- Failure ---- */

int host_open(struct host *h, struct partition_report *ret)
{
    struct partition_options o = { .seed =
                                       (uint64_t)time_mono_us() * UINT64_C(0x9e3779b97f4a7c15) };
    int64_t wall_ms, mono_ms;
    int err;

    if (!hash_key_draw(&o.secret))
        return store_fail(BELFRY_IO, "the system has no random bytes");
    h->ops->configure(h->user, &o);
    clocks_read(&h->clocks, &wall_ms, &mono_ms);
    err = partition_open(h->store, &o, wall_ms, mono_ms, &h->partition, ret);
    if (err)
        return err;
    h->engine = partition_engine(h->partition);
    h->durable_lsn = 0;
    h->seen_us = 0; /* opening is no stall: leases have their grace */
    return 0;
}

/* Records that were not made durable are gone, and so must be everything that followed from them.
 * The host makes the engine again from the store. */
static void on_rebuild(uv_timer_t *timer)
{
    struct host *h = timer->data;
    struct partition_report report = { 0 };
    int err;

    if (!chores_idle(h) || !errands_idle(h)) {
        uv_timer_start(timer, on_rebuild, REBUILD_LOOK_MS, 0);
        return;
    }
    committer_detach(h->committer);
    h->engine = NULL;
    partition_close(h->partition);
    h->partition = NULL;
    err = host_open(h, &report);
    if (!err) {
        h->failed = false;
        h->rebuilt_ms = time_mono_ms();
    } else if (err != BELFRY_CORRUPT && err != BELFRY_FENCED) {
        uv_timer_start(timer, on_rebuild, REBUILD_MS, 0);
    }
    h->ops->reopened(h->user, err, &report);
}

static void host_fail(struct host *h, const char *what, int err, const char *detail)
{
    h->failed = true;
    h->ops->failed(h->user, what, err, detail);
    /* Rebuilds at once, unless it just did: each rebuild reads the whole journal. */
    uv_timer_start(&h->rebuild, on_rebuild,
                   time_mono_ms() - h->rebuilt_ms < REBUILD_SOON_MS ? REBUILD_MS : 0, 0);
}

/* ---- Commits ---- */

static void commit_done(struct host *h, struct commit *commit, int result);

/* Whether the loop may wait for the disk itself. It does so for a lone client, if no job is due
 * soon that a slow sync would make late. */
static bool may_wait(const struct host *h)
{
    int64_t wall, mono;

    if (list_empty(&h->uncommitted) || h->uncommitted.next != h->uncommitted.prev)
        return false;
    engine_next_wake(h->engine, &wall, &mono);
    return wall - engine_now(h->engine) > DUE_SOON_MS && committer_is_quick(h->committer);
}

/* With `here` the loop may write the commit itself. */
static void start_commit(struct host *h, bool here)
{
    bool small = partition_gathered_bytes(h->partition) < SMALL_COMMIT;
    struct commit *commit = engine_torn(h->engine) ? NULL : partition_take(h->partition);

    if (!commit)
        return;
    h->commit_begun_us = time_mono_us();
    if (here && small && commit_is_plain(commit) && may_wait(h)) {
        int err = committer_write_now(h->committer, commit);

        note_work(h, "a small commit");
        if (err != BELFRY_FULL) {
            commit_done(h, commit, err);
            return;
        }
    }
    committer_write(h->committer, h->partition, commit);
}

static void commit_done(struct host *h, struct commit *commit, int result)
{
    if (result) {
        host_fail(h, "the journal could not be written", result, committer_detail(h->committer));
        return;
    }
    hist_add(&h->commit_us, time_mono_us() - h->commit_begun_us);
    partition_settle(h->partition, commit);
    h->durable_lsn = partition_durable_lsn(h->partition);
    start_commit(h, false); /* first, so that the disk works while replies are sent */
    h->ops->settled(h->user);
    note_work(h, "a commit that settled: replies, events, pushes");
}

static void on_committed(void *arg, struct commit *commit, int result)
{
    struct host *h = arg;

    h->noted_us = time_mono_us();
    commit_done(h, commit, result);
}

/* ---- The turn ---- */

bool host_may_execute(const struct host *h)
{
    const struct partition *p = h->partition;

    return p && !partition_is_behind(p) && (h->draining || !partition_owes_work(p));
}

bool host_is_full(const struct host *h)
{
    return committer_is_full(h->committer);
}

static void note_room(struct host *h, enum host_room room, bool *noted, bool lacking)
{
    if (lacking != *noted)
        h->ops->room_changed(h->user, room, lacking);
    *noted = lacking;
}

static void refuse_or_accept(struct host *h)
{
    bool low = atomic_load(&h->store->low) || committer_is_full(h->committer);
    bool overfull = partition_overfull(h->partition);

    engine_refuse_new(h->engine, low || overfull);
    note_room(h, HOST_ROOM_DISK, &h->low, low);
    note_room(h, HOST_ROOM_MEMORY, &h->overfull, overfull);
}

/* Gives ready jobs to the worker whose turn it is, if the worker is still there. False: the other
 * parked requests wait for the next turn. */
static bool give_out_to(struct host *h, void *owner)
{
    struct delivery d;

    if (h->ops->attends && !h->ops->attends(h->user, owner))
        return note_delivery(h);
    return !engine_dispatch(h->engine, &d) || deliver_one(h, d.owner, d.jobs, d.n);
}

/* Gives ready jobs to waiting workers, then hands the records to the disk. */
static void give_out(struct host *h)
{
    void *owner;

    while (engine_dispatch_next(h->engine, &owner) && give_out_to(h, owner))
        ;
    h->ops->lease(h->user);
    note_work(h, "giving out jobs");
    start_commit(h, true);
}

void host_turn(struct host *h)
{
    heed_stall(h, time_mono_us());
    h->noted_us = h->seen_us;
    h->deliveries = 0;
    end_waits(h);
    if (host_is_up(h)) {
        errands_answer(h);
        note_work(h, "requests that needed the disk");
    }
    if (host_is_up(h) && engine_torn(h->engine))
        host_fail(h, "a batch is not whole", BELFRY_NOMEM, "it is as if it had not been asked for");
    if (host_is_up(h) && !h->resting) {
        refuse_or_accept(h);
        give_out(h); /* the disk works while the rest is done */
    }
    if (host_is_up(h) && !h->resting) {
        if (!h->draining && partition_work(h->partition, h->seen_us + OWN_WORK_US))
            host_wake(h);
        note_work(h, "own work");
        give_out(h); /* gives out jobs that came back to memory just now */
    }
    if (host_is_up(h) && !h->draining) {
        chores_start(h);
        start_commit(h, false); /* a chore may wait for it */
        note_work(h, "beginning chores");
    }
    if (host_is_up(h) && errands_may_go_on(h))
        host_wake(h);
    if (h->deliveries < DELIVERIES_MAX)
        end_waits(h); /* of jobs that ended in this turn */
    set_alarms(h);
}

/* ---- Beginning and ending ---- */

int host_init(struct host *h, uv_loop_t *loop, struct store *store, int64_t sync_interval_ms,
              const struct host_ops *ops, void *user)
{
    int err;

    *h = (struct host){ .loop = loop, .store = store, .ops = ops, .user = user };
    h->wall_alarm.fd = h->mono_alarm.fd = -1;
    h->credit_us = STALL_CREDIT_US;
    list_init(&h->uncommitted);
    list_init(&h->errands_back);
    for (int i = 0; i < ERRAND_CLASSES; i++)
        list_init(&h->errands[i].waiting);
    uv_idle_init(loop, &h->busy);
    uv_timer_init(loop, &h->rebuild);
    h->rebuild.data = h;
    err = alarm_init(&h->wall_alarm, loop, CLOCK_REALTIME, on_alarm, h);
    if (!err)
        err = alarm_init(&h->mono_alarm, loop, CLOCK_MONOTONIC, on_alarm, h);
    if (!err)
        err = committer_new(loop, sync_interval_ms, on_committed, h, &h->committer);
    return err;
}

void host_drain(struct host *h)
{
    h->draining = true;
}

void host_rest(struct host *h)
{
    h->draining = h->resting = true;
}

bool host_is_idle(const struct host *h)
{
    return host_is_up(h) && chores_idle(h) && errands_idle(h) && partition_idle(h->partition);
}

void host_stop(struct host *h)
{
    if (!h->committer)
        return;
    committer_detach(h->committer);
    committer_free(h->committer);
    h->committer = NULL;
}

void host_fini(struct host *h)
{
    if (!h->loop)
        return;
    if (host_is_up(h))
        partition_flush(h->partition);
    partition_close(h->partition);
    h->partition = NULL;
    h->engine = NULL;
    alarm_fini(&h->wall_alarm);
    alarm_fini(&h->mono_alarm);
}
