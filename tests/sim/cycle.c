/* SPDX-License-Identifier: MIT */
/* Steps of the commit cycle. Each may happen long after the one before. */
#include <inttypes.h>

#include "sim/steps.h"

void step_take(struct world *w)
{
    if (w->commit) {
        CHECK(!partition_take(w->partition), "two commits are under way");
        return;
    }
    bool nothing = engine_lsn(w->engine) == partition_durable_lsn(w->partition) && !w->fresh;
    w->commit = partition_take(w->partition);
    if (!w->commit)
        return;
    /* Without `durable` an empty one may be written for the sake of its sync. */
    CHECK(!nothing || !w->options.durable, "there is a commit though there is nothing to commit");
    w->fresh = false;
    w->write = WRITE_TAKEN;
    model_copy(&w->taken, &w->model);
    trace_note("take: %" PRIu64 " facts, %" PRIu64 " leases", w->taken.changes, w->taken.leases);
}

void step_write(struct world *w)
{
    if (w->write != WRITE_TAKEN)
        return;
    w->plan.fired = false;
    int err = commit_write(w->commit);
    trace_note("write: %s", err ? error_name(err) : "ok");
    if (!err) {
        w->write = WRITE_DONE;
        w->taken_tail = restart_tail(w); /* now: the power may go before it settles */
        if (w->found_full)
            cover_event(EVENT_DISK_FULL);
        w->found_full = false;
        if (fault_dead(w->store)) /* in the note on a new segment, behind the commit */
            restart_crash(w, true);
    } else if (err == BELFRY_FULL) {
        CHECK(w->plan.disk_full || w->plan.fired, "FULL though there is room");
        w->found_full = true;
    } else {
        CHECK(w->plan.fired || fault_dead(w->store), "an append fails: %s: %s", error_name(err),
              store_detail());
        CHECK(!w->plan.fired || !w->plan.in_doubt, "an append in doubt is not resolved: %s",
              error_name(err));
        w->write = WRITE_TRIED;
        restart_crash(w, rng_chance(&w->rng, 50));
    }
    w->plan.fired = false;
}

void step_settle(struct world *w)
{
    if (w->write != WRITE_DONE)
        return;
    partition_settle(w->partition, w->commit);
    trace_note("settle: durable to %" PRIu64, partition_durable_lsn(w->partition));
    w->commit = NULL;
    w->write = WRITE_NONE;
    if (w->options.durable)
        w->safe_count = 0;
    w->tails[w->safe_count] = w->taken_tail;
    model_copy(&w->safe[w->safe_count++], &w->taken);
    world_release(w);
    if (w->safe_count == SAFE_MAX)
        step_sync(w);
}

void step_cycle(struct world *w)
{
    step_take(w);
    step_write(w);
    step_settle(w);
}

bool cycle_all(struct world *w)
{
    uint64_t crashes = w->crashes;

    w->plan.disk_full = false;
    do
        step_cycle(w);
    while (w->commit);
    step_cycle(w); /* the one before may have been taken long ago */
    return w->crashes == crashes && !w->commit;
}

/* Where commits do not survive a loss of power by themselves. */
void step_sync(struct world *w)
{
    if (w->write == WRITE_TAKEN) /* on the thread that writes: not in the middle of that */
        step_write(w);
    w->plan.fired = false;
    int err = partition_sync(w->partition);
    trace_note("sync: %s", err ? error_name(err) : "ok");
    if (err) {
        CHECK(w->plan.fired || fault_dead(w->store), "a sync fails: %s: %s", error_name(err),
              store_detail());
        w->plan.fired = false;
        restart_crash(w, rng_chance(&w->rng, 50));
        return;
    }
    model_copy(&w->safe[0], &w->safe[w->safe_count - 1]);
    w->tails[0] = w->tails[w->safe_count - 1];
    w->safe_count = 1;
    if (fault_dead(w->store))
        restart_crash(w, true);
}
