/* SPDX-License-Identifier: MIT */
#include "sim/run.h"

#include "sim/steps.h"

static const struct {
    const char *name;
    unsigned weight;
    enum { MIXED, STEADY, FAULT, LANE } kind;
    void (*step)(struct world *w);
} steps[] = {
    { "schedule", 160, MIXED, step_schedule },
    { "herd", 6, MIXED, step_herd },
    { "batch", 20, MIXED, step_batch },
    { "replace", 15, MIXED, step_replace },
    { "rotate", 3, MIXED, step_rotate },
    { "hand_over", 20, MIXED, step_hand_over },
    { "untie", 6, MIXED, step_untie },
    { "lease", 70, MIXED, step_lease },
    { "wait", 40, MIXED, step_wait },
    { "unwait", 8, MIXED, step_unwait },
    { "complete", 70, MIXED, step_complete },
    { "fail", 45, MIXED, step_fail },
    { "extend", 25, MIXED, step_extend },
    { "release", 25, MIXED, step_release },
    { "storm", 4, MIXED, step_storm },
    { "hog", 4, MIXED, step_hog },
    { "cancel", 20, MIXED, step_cancel },
    { "cancel_key", 12, MIXED, step_cancel_key },
    { "delete", 12, MIXED, step_delete },
    { "reschedule", 20, MIXED, step_reschedule },
    { "edit", 16, MIXED, step_edit },
    { "clone", 8, MIXED, step_clone },
    { "redrive", 10, MIXED, step_redrive },
    { "redrive_queue", 6, MIXED, step_redrive_queue },
    { "audit", 12, MIXED, step_audit },
    { "bulk", 16, MIXED, step_bulk },
    { "bulk_stop", 3, MIXED, step_bulk_stop },
    { "queue_set", 12, MIXED, step_queue_set },
    { "pause", 10, MIXED, step_pause },
    { "tenant_set", 12, MIXED, step_tenant_set },
    { "maintenance", 8, MIXED, step_maintenance },
    { "tenant_pause", 6, MIXED, step_tenant_pause },
    { "queue_delete", 6, MIXED, step_queue_delete },
    { "tenant_delete", 4, MIXED, step_tenant_delete },
    { "recur", 10, MIXED, step_recur },
    { "recur_pause", 8, MIXED, step_recur_pause },
    { "recur_run", 5, MIXED, step_recur_run },
    { "recur_delete", 2, MIXED, step_recur_delete },
    { "refuse", 3, MIXED, step_refuse },
    { "invalid", 3, MIXED, step_invalid },
    { "get", 15, MIXED, step_get },
    { "series", 4, MIXED, step_series },
    { "list", 8, MIXED, step_list },
    { "page", 60, MIXED, step_page },
    { "explain", 15, MIXED, step_explain },
    { "forecast", 6, MIXED, step_forecast },
    { "compare", 60, STEADY, step_compare },
    { "tick", 70, MIXED, step_tick },
    { "pass", 50, MIXED, step_pass },
    { "wake", 90, MIXED, step_wake },
    { "days", 2, MIXED, step_days },
    { "wall_forward", 8, MIXED, step_wall_forward },
    { "miss", 6, MIXED, step_miss },
    { "wall_back", 8, MIXED, step_wall_back },
    { "take", 80, MIXED, step_take },
    { "write", 80, MIXED, step_write },
    { "settle", 80, STEADY, step_settle },
    { "cycle", 60, MIXED, step_cycle },
    { "sync", 6, MIXED, step_sync },
    { "work", 60, LANE, step_work },
    { "chore", 250, LANE, step_chore },
    { "chores", 15, LANE, step_chores },
    { "calm", 8, LANE, step_calm },
    { "fetch", 150, LANE, step_fetch },
    { "arm", 12, FAULT, step_arm },
    { "full", 4, FAULT, step_full },
    { "crash", 6, FAULT, step_crash },
    { "power", 4, FAULT, step_power },
    { "hang", 3, FAULT, step_hang },
    { "close", 4, MIXED, step_close },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Each seed has its own idea of what is frequent: steady steps are the same in all, and in some
 * there is hardly a fault, so that the journal gets long. What goes on between memory and disk goes
 * on somehow in all, and more where there is more of it. */
static uint64_t draw_weights(struct rng *r, bool cold, unsigned weights[STEPS])
{
    static const unsigned lanes[] = { 20, 100, 100, 300, 300, 600 };
    static const unsigned percent[] = { 0, 30, 100, 100, 100, 300 };
    static const unsigned faults[] = { 0, 10, 30, 100 }, cold_faults[] = { 0, 30, 100, 250 };
    unsigned fault_percent = (cold ? cold_faults : faults)[rng_below(r, 4)];
    uint64_t sum = 0;

    for (size_t i = 0; i < STEPS; i++) {
        unsigned factor = steps[i].kind == STEADY ? 100 : percent[rng_below(r, 6)];
        if (steps[i].kind == LANE)
            factor = cold ? lanes[rng_below(r, 6)] : 30;
        weights[i] = steps[i].weight * factor;
        if (steps[i].kind == FAULT)
            weights[i] = weights[i] * fault_percent / 100;
        sum += weights[i];
    }
    return sum;
}

static size_t draw_step(struct rng *r, const unsigned weights[STEPS], uint64_t sum)
{
    uint64_t at = rng_below(r, sum);
    size_t i = 0;

    while (at >= weights[i])
        at -= weights[i++];
    return i;
}

void run_seed(uint64_t seed, uint64_t count, unsigned mutant, struct run_totals *totals)
{
    static struct world w; /* large */
    unsigned weights[STEPS];

    world_init(&w, seed, mutant);
    uint64_t sum = draw_weights(&w.rng, w.cold, weights);
    if (count == 0)
        count = (uint64_t)rng_between(&w.rng, 400, rng_chance(&w.rng, 10) ? 4000 : 1000) *
                (w.cold ? 2 : 1);
    for (int i = 0; i < MODEL_QUEUES; i++)
        if (rng_chance(&w.rng, 60))
            step_queue_set(&w);
    for (int i = 0; i < MODEL_TENANTS && (w.limits || w.gates); i++)
        if (rng_chance(&w.rng, 60))
            step_tenant_set(&w);
    for (int i = 0; i < MODEL_RECURRENCES; i++)
        step_recur(&w);
    for (uint64_t i = 0; i < count; i++) {
        w.model.steps++;
        steps[draw_step(&w.rng, weights, sum)].step(&w);
    }
    world_fini(&w);
    totals->steps += count;
    totals->crashes += w.crashes;
    totals->leases += w.leases;
    totals->reclaimed += w.reclaimed;
    if (w.memory_max > totals->memory_max)
        totals->memory_max = w.memory_max;
}
