/* SPDX-License-Identifier: MIT */
/* Ends of the process and what is there afterwards. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/steps.h"
#include "support/verify.h"

#define OPENS_MAX 20
#define STRICT_MS 60000
#define MINUTE    INT64_C(60000)

/* Forgets what was forgotten only after the state that we are back at. */
static void prune_graves(struct world *w, const struct model *m)
{
    struct model_graveyard *g = &w->graveyard;
    size_t kept = 0;

    for (size_t i = 0; i < g->count; i++)
        if (g->graves[i].changes <= m->changes)
            g->graves[kept++] = g->graves[i];
    g->count = kept;
}

static int note_nothing(void *arg, uint64_t seq, struct str element)
{
    (void)arg;
    (void)seq;
    (void)element;
    return 0;
}

struct tail_search {
    struct store *memory;
    struct tail found;
    bool torn;
};

static int look_at_log(void *arg, struct str name)
{
    struct tail_search *s = arg;
    struct store_tail tail = { 0 };
    int err = s->memory->ops->read(s->memory, name, 0, 0, note_nothing, NULL, &tail);

    s->torn = s->torn || tail.torn_bytes > 0;
    if (!err && tail.elements > 0) {
        snprintf(s->found.log, sizeof(s->found.log), "%.*s", STR_ARG(name));
        s->found.elements = tail.elements;
    }
    return err;
}

static struct tail_search search(struct world *w)
{
    struct tail_search s = { .memory = w->memory };
    int err = w->memory->ops->list(w->memory, STR("p0000/journal/"), look_at_log, &s);

    CHECK(err == 0, "the journal cannot be read: %s: %s", error_name(err), store_detail());
    return s;
}

struct tail restart_tail(struct world *w)
{
    return search(w).found;
}

/* The state that the journal ends with, by where it ends. */
static const struct model *surviving(struct world *w, bool power)
{
    struct tail tail = restart_tail(w);
    size_t last = w->safe_count - 1;

    if (w->write != WRITE_DONE || power)
        for (size_t i = last + 1; i-- > (power ? 0 : last);)
            if (strcmp(tail.log, w->tails[i].log) == 0 && tail.elements == w->tails[i].elements)
                return &w->safe[i];
    CHECK(w->write == WRITE_TRIED || w->write == WRITE_DONE,
          "the journal ends at %s, element %" PRIu64 ", but what settled ends at %s, %" PRIu64,
          tail.log, tail.elements, w->tails[last].log, w->tails[last].elements);
    return &w->taken;
}

static void cover_survival(const struct world *w, const struct model *m)
{
    const struct model *settled = &w->safe[w->safe_count - 1];

    if (w->answer_count > 0)
        cover_event(EVENT_ANSWER_LOST);
    if (m->leases < w->leases_told)
        cover_event(EVENT_LEASE_LOST);
    if (w->write == WRITE_DONE)
        cover_event(EVENT_WRITTEN_UNSETTLED);
    if (m->changes < settled->changes)
        cover_event(EVENT_TAIL_LOST);
}

/* The engine must be what a restart makes of the state that survived. */
static void find_state(struct world *w, bool power)
{
    const struct model *m = surviving(w, power);
    char why[JUDGE_TEXT];

    cover_survival(w, m);
    trace_note("  back at %" PRIu64 " facts, %" PRIu64 " leases", m->changes, m->leases);
    model_copy(&w->trial, m);
    w->trial.steps = w->model.steps;
    w->trial.attempts_kept = w->options.attempts_kept;
    w->trial.latest_ms = w->model.latest_ms;
    bool paused = plan_pause(w, true);
    w->trial.replaying = true;
    model_restart(&w->trial, w->wall_ms, w->mono_ms);
    judge_bury(w->partition, &w->trial);
    prune_graves(w, m);
    size_t back = judge_resurrect(w->partition, &w->trial);
    w->trial.replaying = false;
    model_copy(&w->found, &w->trial);
    model_begin(&w->trial);
    model_fire(&w->trial);
    bool adopted = judge_adopt(w->partition, &w->trial, why);
    judge_adopt_forgotten(w->partition, &w->trial);
    CHECK(adopted && judge_same(w->partition, &w->trial, why), "after a restart, %s", why);
    plan_pause(w, paused);
    w->same_jobs = back == 0 && w->trial.changes == m->changes && w->trial.count == m->count &&
                   m->count == w->model.count && !w->trial.touched;
    model_copy(&w->model, &w->trial);
}

/* Each open brings another secret, as a server does, and the first secret must stay. Every third
 * directory is of an older version at first, and has no secret. */
static struct hash_key secret_of(const struct world *w)
{
    bool old = w->seed % 3 == 0 && w->epoch < 1 + w->seed / 3 % 6;

    return old ? (struct hash_key){ 0 } : (struct hash_key){ w->seed + 1, w->epoch + 1 };
}

/* A start may bring another bound, and attempts that were left out by the old one stay so. */
static uint32_t attempts_kept_of(const struct world *w)
{
    static const uint32_t bounds[] = { 1, 2, 3, 5, MODEL_ATTEMPTS };
    uint64_t other = w->epoch % 3 == 2 ? w->epoch : 0;

    return bounds[(w->seed + other) % (sizeof(bounds) / sizeof(bounds[0]))];
}

/* True if there was a fault on the way; *power if that was a loss of power. */
static bool open_partition(struct world *w, struct partition_report *report, bool *power)
{
    bool failed = false;

    w->options.seed = rng_next(&w->rng);
    w->options.secret = secret_of(w);
    w->options.attempts_kept = attempts_kept_of(w);
    for (int i = 0;; i++) {
        w->plan.fired = false;
        *report = (struct partition_report){ 0 };
        int err =
            partition_open(w->store, &w->options, w->wall_ms, w->mono_ms, &w->partition, report);
        failed = failed || w->plan.fired;
        if (!err)
            break;
        trace_note("  open: %s: %s", error_name(err), store_detail());
        CHECK(w->plan.fired && err != BELFRY_CORRUPT, "open fails: %s: %s", error_name(err),
              store_detail());
        CHECK(i < OPENS_MAX, "open never succeeds");
        *power = *power || fault_dead(w->store);
        fault_revive(w->store);
    }
    w->plan.fired = false;
    return failed;
}

static void fresh(struct world *w)
{
    w->commit = NULL;
    w->write = WRITE_NONE;
    memset(w->errands, 0, sizeof(w->errands));
    memset(w->parked, 0, sizeof(w->parked));
    w->traffic = (struct traffic){ 0 };
    w->pressed_jobs = 0;
    w->fresh = true;
    w->answer_count = 0;
    w->leases_told = 0;
    w->asked = 0;
    w->lister.on = w->lister.waits = false;
    for (size_t i = 0; i < WAITS_MAX; i++)
        w->waits[i].live = false;
}

enum ending { CLEAN, UNCLEAN, EITHER };

static void open_and_find(struct world *w, bool power, enum ending before)
{
    struct partition_report report = { 0 };
    bool torn = search(w).torn, failed;

    w->watch.on = false;
    failed = open_partition(w, &report, &power);

    w->engine = partition_engine(w->partition);
    engine_slice(w->engine, 2 + (int)(report.epoch % 7));
    trace_note("open: epoch %" PRIu64 ", %s, %u segments, %" PRIu64 " commits, torn %" PRIu64
               "; wall %" PRId64 ", mono %" PRId64,
               report.epoch, report.clean ? "clean" : "unclean", report.segments, report.commits,
               report.torn_bytes, w->wall_ms, w->mono_ms);
    CHECK(report.epoch > w->epoch, "epoch %" PRIu64 " after %" PRIu64, report.epoch, w->epoch);
    CHECK(report.clean ? before != UNCLEAN : before != CLEAN || failed,
          "the end before was %s, it says", report.clean ? "clean" : "unclean");
    CHECK(!torn || failed || report.torn_bytes > 0, "a torn commit is not reported");
    if (report.torn_bytes > 0)
        cover_event(EVENT_TORN);
    w->epoch = report.epoch;
    w->strict_until_ms = report.clean ? INT64_MIN : w->mono_ms + STRICT_MS;
    world_advance(w);
    engine_verify(w->engine);
    w->hash = engine_hash(w->engine);
    figures_begin(w);
    find_state(w, power);
    fresh(w);
    model_copy(&w->safe[0], &w->found);
    w->tails[0] = restart_tail(w);
    w->safe_count = 1;
    watch_begin(w);
    clock_show(w);
}

void restart_open(struct world *w)
{
    open_and_find(w, false, CLEAN);
}

/* Time passes, and the clocks of the next process may be others. */
static void downtime(struct world *w)
{
    int64_t ms = rng_duration(&w->rng, (rng_chance(&w->rng, 10) ? 3000 : 60) * MINUTE);

    w->wall_ms += ms;
    w->mono_ms += ms;
    if (rng_chance(&w->rng, 10))
        w->wall_ms -= rng_duration(&w->rng, 60 * MINUTE);
    if (w->wall_ms < YEAR_2026)
        w->wall_ms = YEAR_2026;
    if (rng_chance(&w->rng, 30))
        w->mono_ms = rng_between(&w->rng, 0, 100000);
}

void restart_crash(struct world *w, bool power)
{
    bool settled = !w->commit && engine_lsn(w->engine) == partition_durable_lsn(w->partition);
    uint64_t before = settled ? engine_hash(w->engine) : 0;

    told_crash(w);
    trace_note("crash%s%s", power ? ", power lost" : "", fault_dead(w->store) ? " (by fault)" : "");
    w->crashes++;
    lanes_crash(w);
    power = power || fault_dead(w->store);
    if (power)
        fault_crash(w->store);
    w->plan.killing = true;
    partition_close(w->partition);
    w->plan.killing = false;
    w->plan.fired = false;
    fault_revive(w->store);
    downtime(w);
    tamper(w);
    open_and_find(w, power, UNCLEAN);
    if (settled && w->options.durable && w->same_jobs)
        CHECK(w->hash == before, "the hash is another after a crash");
}

/* In the middle of as much as possible. */
static void crash_busy(struct world *w, bool power)
{
    uint64_t crashes = w->crashes;

    if (w->cold && rng_chance(&w->rng, 50))
        lanes_begin(w);
    if (crashes == w->crashes)
        restart_crash(w, power);
}

void step_crash(struct world *w)
{
    crash_busy(w, false);
}

void step_power(struct world *w)
{
    crash_busy(w, true);
}

/* Chores that a process had begun when it hung. Their writes are refused, and they take nothing
 * away from the process that has taken over. */
static void go_on_with(struct world *w, struct partition *old, const struct errand *errands)
{
    static const enum chore_kind lanes[] = { CHORE_FEED, CHORE_MERGE, CHORE_LOAD };

    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
        const struct errand *e = &errands[lanes[i]];
        if (!e->chore)
            continue;
        bool paused = plan_pause(w, true);
        int err = e->ran ? e->result : chore_run(e->chore);
        trace_note("  hung: %s: %s", chore_name(e->chore), err ? error_name(err) : "ok");
        if (!e->ran && lanes[i] == CHORE_FEED) {
            CHECK(err == BELFRY_FENCED, "a process that was taken over from writes runs: %s",
                  err ? error_name(err) : "ok");
            cover_event(EVENT_HUNG_FEED);
        }
        partition_chore_done(old, e->chore, err);
        plan_pause(w, paused);
    }
}

/* The process hangs, another one takes over, and then the first goes on. */
void step_hang(struct world *w)
{
    struct partition *old = w->partition;
    struct errand errands[CHORE_KINDS];

    if (fault_dead(w->store)) {
        restart_crash(w, true);
        return;
    }
    uint64_t crashes = w->crashes;
    if (w->cold && rng_chance(&w->rng, 70))
        lanes_begin(w);
    if (crashes != w->crashes)
        return;
    step_take(w);
    struct commit *commit = w->write == WRITE_TAKEN ? w->commit : NULL;
    memcpy(errands, w->errands, sizeof(errands));
    trace_note("hang");
    w->crashes++;
    downtime(w);
    open_and_find(w, false, UNCLEAN);
    plan_disarm(w);
    if (commit && !w->plan.disk_full) {
        int err = commit_write(commit);
        CHECK(err == BELFRY_FENCED, "a process that was taken over from writes: %s",
              err ? error_name(err) : "ok");
        cover_event(EVENT_FENCED);
    }
    if (rng_chance(&w->rng, 50))
        lanes_calm(w);
    go_on_with(w, old, errands);
    bool paused = plan_pause(w, true);
    partition_close(old);
    plan_pause(w, paused);
}

void step_close(struct world *w)
{
    uint64_t crashes = w->crashes;

    lanes_finish(w);
    if (crashes == w->crashes)
        world_adopt(w); /* what expired is written down before it ends */
    if (crashes != w->crashes || !cycle_all(w))
        return;
    world_compare(w);
    uint64_t before = engine_hash(w->engine);
    trace_note("close");
    w->plan.fired = false;
    partition_close(w->partition);
    enum ending ending = w->plan.fired ? EITHER : CLEAN;
    bool died = fault_dead(w->store);
    fault_revive(w->store);
    tamper(w);
    open_and_find(w, died, ending);
    CHECK(!w->same_jobs || !w->options.durable || w->hash == before,
          "the hash is another after a restart");
    if (died)
        w->crashes++;
}
