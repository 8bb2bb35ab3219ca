/* SPDX-License-Identifier: MIT */
/*
 * What goes on between memory and disk: the slices on the engine's thread, and the chores, one in
 * each lane. A chore begins, runs and ends in steps of its own, with anything in between.
 */
#include <inttypes.h>

#include "sim/steps.h"

#define HEAD_BYTES 100 /* of the record of a slice, and */
#define ITEM_BYTES 40  /* of a job in it beside its image */

#define ROUNDS_MAX 20000 /* a recurrence may catch up nine years of days, one in a round */
#define CHORES_MAX 10000
#define RECLAIMS_MAX                                                            \
    40 /* of segments, in one calming: copies of copies need not come to an end \
        */

/* Beyond its budget memory may be by what each class has at least, and by what cannot leave memory:
 * running jobs. */
#define SLACK_BYTES (45u << 10)

/* ---- Counting ---- */

void lanes_note(struct world *w)
{
    struct traffic *t = &w->traffic;
    struct partition_stats s;
    uint64_t lsn = engine_lsn(w->engine);

    partition_stats(w->partition, &s);
    if (world_cold_jobs(w) != t->cold) /* also those that requests take */
        w->movements++;
    t->cold = world_cold_jobs(w);
    if (s.fed_batches > t->fed) {
        cover_event(EVENT_FED);
        w->movements++;
        t->fed_lsn = lsn;
    }
    if (s.loaded_jobs > t->loaded) {
        cover_event(EVENT_LOADED);
        w->movements++;
        t->loaded_lsn = lsn;
    }
    if (s.merged_runs > t->merged) {
        cover_event(EVENT_MERGED);
        t->merged_lsn = lsn;
    }
    if (s.reclaimed_segments > t->reclaimed) {
        cover_event(EVENT_RECLAIMED);
        w->reclaimed += s.reclaimed_segments - t->reclaimed;
        t->fed_lsn = 0;
    }
    t->fed = s.fed_batches;
    t->loaded = s.loaded_jobs;
    t->merged = s.merged_runs;
    t->reclaimed = s.reclaimed_segments;
}

/* A record of this number is in the journal, or is lost with a crash. */
static bool lost(const struct world *w, uint64_t lsn)
{
    return lsn > partition_durable_lsn(w->partition);
}

void lanes_crash(const struct world *w)
{
    const struct traffic *t = &w->traffic;

    for (int lane = 0; lane < CHORE_KINDS; lane++) {
        const struct errand *e = &w->errands[lane];
        if (e->chore && !fault_dead(w->store))
            cover_doing(chore_name(e->chore), e->ran ? MOMENT_RAN : MOMENT_BEGUN);
    }
    for (size_t i = 0; i < MODEL_BULKS; i++)
        if (w->model.bulks[i].on && w->model.bulks[i].changed > 0)
            cover_event(EVENT_CRASH_BULK);
    if (w->errands[CHORE_FEED].chore)
        cover_event(EVENT_CRASH_GATHERED);
    if (t->fed_lsn)
        cover_event(lost(w, t->fed_lsn) ? EVENT_CRASH_FED_LOST : EVENT_CRASH_FED);
    if (t->loaded_lsn && lost(w, t->loaded_lsn))
        cover_event(EVENT_CRASH_LOADED_LOST);
    if (t->merged_lsn)
        cover_event(lost(w, t->merged_lsn) ? EVENT_CRASH_MERGED_LOST : EVENT_CRASH_MERGED);
    for (size_t i = 0; i < PARKED_MAX; i++) {
        if (!w->parked[i].fetch)
            continue;
        cover_event(EVENT_CRASH_PARKED);
        if (!fault_dead(w->store))
            cover_doing(DOING_FETCH, w->parked[i].ran ? MOMENT_RAN : MOMENT_BEGUN);
    }
}

/* ---- On the engine's thread ---- */

bool lanes_work(struct world *w)
{
    bool more = partition_work(w->partition, INT64_MAX);

    world_told(w);
    lanes_note(w);
    return more;
}

void step_work(struct world *w)
{
    trace_note("work: %s", lanes_work(w) ? "there is more" : "done");
}

/* ---- Chores ---- */

static bool begin(struct world *w, enum chore_kind lane)
{
    struct errand *e = &w->errands[lane];

    *e = (struct errand){ .chore = partition_chore(w->partition, lane) };
    lanes_note(w);
    if (e->chore)
        trace_note("chore begins: %s", chore_name(e->chore));
    return e->chore;
}

static void run(struct world *w, enum chore_kind lane)
{
    struct errand *e = &w->errands[lane];

    CHECK(!partition_chore(w->partition, lane), "two chores of a lane are under way");
    plan_begin(w, chore_name(e->chore));
    e->result = chore_run(e->chore);
    e->faulted = plan_end(w) || w->plan.disk_full;
    e->ran = true;
    trace_note("chore runs: %s: %s", chore_name(e->chore),
               e->result ? error_name(e->result) : "ok");
    if (fault_dead(w->store))
        restart_crash(w, true);
}

static uint64_t loaded_jobs(const struct world *w)
{
    struct partition_stats s;

    partition_stats(w->partition, &s);
    return s.loaded_jobs;
}

static void finish(struct world *w, enum chore_kind lane)
{
    struct errand *e = &w->errands[lane];
    const char *name = chore_name(e->chore);
    uint64_t before = partition_gathered_bytes(w->partition), loaded = loaded_jobs(w);
    int err = partition_chore_done(w->partition, e->chore, e->result);
    uint64_t grown = partition_gathered_bytes(w->partition) - before;

    trace_note("chore done: %s: %s", name, err ? error_name(err) : "ok");
    CHECK(!err || e->faulted, "a chore fails (%s): %s: %s", name, error_name(err), store_detail());
    CHECK(err != BELFRY_CORRUPT, "a chore finds damage (%s): %s", name, store_detail());
    loaded = loaded_jobs(w) - loaded;
    CHECK(lane != CHORE_LOAD || loaded <= 1 ||
              grown <= w->options.segment_bytes + HEAD_BYTES + loaded * ITEM_BYTES,
          "loading %" PRIu64 " jobs writes %" PRIu64 " bytes, a segment has %" PRIu64, loaded,
          grown, w->options.segment_bytes);
    e->chore = NULL;
    if (lane == CHORE_TASK)
        world_told(w);
    cover_doing(name, MOMENT_ENDED);
    if (!err && strcmp(name, "removing a run") == 0) {
        cover_event(EVENT_UNLINKED);
        w->traffic.merged_lsn = 0;
    }
    lanes_note(w);
    world_release(w);
}

/* Begins, runs or ends the chore of a lane, whatever is next; false if there is none. */
static bool next(struct world *w, enum chore_kind lane)
{
    const struct errand *e = &w->errands[lane];

    if (!e->chore)
        return begin(w, lane);
    if (e->ran)
        finish(w, lane);
    else
        run(w, lane);
    return true;
}

void step_chore(struct world *w)
{
    next(w, (enum chore_kind)rng_below(&w->rng, CHORE_KINDS));
}

void lanes_begin(struct world *w)
{
    uint64_t crashes = w->crashes;

    lanes_work(w);
    for (int lane = 0; lane < CHORE_KINDS; lane++) {
        if (!w->errands[lane].chore)
            begin(w, (enum chore_kind)lane);
        if (w->errands[lane].chore && !w->errands[lane].ran && rng_chance(&w->rng, 40))
            run(w, (enum chore_kind)lane);
        if (w->crashes != crashes)
            return;
    }
}

void lanes_finish(struct world *w)
{
    for (int lane = 0; lane < CHORE_KINDS; lane++)
        while (w->errands[lane].chore)
            next(w, (enum chore_kind)lane);
}

/* All there are, without waiting for commits in between. */
void step_chores(struct world *w)
{
    uint64_t crashes = w->crashes;

    for (int i = 0; i < CHORES_MAX; i++) {
        bool any = lanes_work(w);

        for (int lane = 0; lane < CHORE_KINDS; lane++)
            any = next(w, (enum chore_kind)lane) || any;
        if (!any || crashes != w->crashes || w->plan.disk_full)
            return;
    }
    trace_fail("chores never end");
}

/* ---- Calm ---- */

/* One round of everything; false if there was nothing to do. */
static bool round_of_all(struct world *w, int *reclaims)
{
    bool any = false;

    for (int i = 0; lanes_work(w); i++) {
        CHECK(i < ROUNDS_MAX, "work never ends");
        any = true;
    }
    for (int lane = 0; lane < CHORE_KINDS; lane++) {
        if (lane == CHORE_RECLAIM && --*reclaims < 0)
            continue;
        if (next(w, (enum chore_kind)lane)) {
            any = true;
            lanes_finish(w);
        }
    }
    any = any || partition_owes_work(w->partition); /* own work goes on when they are written */
    step_cycle(w);
    return any || w->commit;
}

static void check_memory(struct world *w)
{
    struct partition_stats s;
    uint64_t budget = w->options.memory_bytes;
    bool parked = false;

    partition_stats(w->partition, &s);
    for (size_t i = 0; i < PARKED_MAX; i++)
        parked = parked || w->parked[i].fetch;
    CHECK(parked || s.fetch_bytes == 0, "%" PRIu64 " bytes belong to requests that have ended",
          s.fetch_bytes);
    if (!w->cold)
        return;
    s.memory_bytes -= s.fetch_bytes; /* hosts limit them */
    if (s.memory_bytes > budget && s.memory_bytes - budget > w->memory_max)
        w->memory_max = s.memory_bytes - budget;
    CHECK(s.memory_bytes <= budget + SLACK_BYTES,
          "memory is at %" PRIu64 " bytes, the budget is %" PRIu64, s.memory_bytes, budget);
}

/* Until nothing is left to do, nor anything to give to those who wait. */
static int settle_all(struct world *w)
{
    int reclaims = RECLAIMS_MAX;
    int rounds = 0;
    uint64_t lsn;

    lanes_finish(w);
    do {
        /* Twice: asking for a batch that had failed lets the next one begin. */
        for (int idle = 0; idle < 2; rounds++) {
            CHECK(rounds < ROUNDS_MAX, "there is always something to do between memory and disk");
            idle = round_of_all(w, &reclaims) ? 0 : idle + 1;
        }
        lsn = engine_lsn(w->engine);
        world_adopt(w); /* what was loaded may have expired */
        world_dispatch(w);
    } while (engine_lsn(w->engine) > lsn || told_left(w));
    return rounds;
}

void lanes_calm(struct world *w)
{
    bool paused = plan_pause(w, true);
    bool full = w->plan.disk_full;

    w->plan.disk_full = false;
    trace_note("calm after %d rounds", settle_all(w));
    w->plan.disk_full = full;
    plan_pause(w, paused);
    cover_event(EVENT_CALM);
    model_calm(&w->model);
    check_memory(w);
    world_adopt(w);
    told_check(w);
    w->calm = true;
    world_dispatch(w);
    clock_check(w);
    w->calm = false;
    world_release(w);
}

void step_calm(struct world *w)
{
    lanes_calm(w);
}
