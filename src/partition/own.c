/* SPDX-License-Identifier: MIT */
/* The engine's own work: slices of its tasks in every turn, and the fetches that they need. */
#include "base/time.h"
#include "partition/internal.h"

#define TASK_SLICES 20 /* in one turn */
#define TASK_PAUSE  2  /* own work waits while this part of gather_max is gathered */
#define TASK_SHARE  8  /* own work gathers this part of gather_max in one turn */

static bool own_is_held_up(const struct partition *p)
{
    return partition_gathered_bytes(p) >= partition_gather_max(p) / TASK_PAUSE;
}

/* Own work and requests share the room for records, and reclaiming needs some, too. So own work
 * ends when it has used its share. Requests run first in a turn, and may leave no room: then own
 * work comes first in a later turn. */
static bool own_may_go_on(const struct partition *p, uint64_t from_bytes, int64_t until_us)
{
    return partition_gathered_bytes(p) - from_bytes < partition_gather_max(p) / TASK_SHARE &&
           !own_is_held_up(p) && (until_us == INT64_MAX || time_mono_us() < until_us);
}

/* True: some work was done, so the next turn should follow soon. Work that is held up is no reason
 * for another turn, because the commit that makes room brings one. */
bool own_work(struct partition *p, int64_t until_us)
{
    uint64_t from_bytes = partition_gathered_bytes(p);
    bool any = false;

    engine_press(p->engine, partition_pressed(p) || reclaim_is_behind(p));
    p->own_first = own_is_held_up(p) && !p->task && engine_task_waits(p->engine);
    for (int i = 0; i < TASK_SLICES && !p->task; i++) {
        if (i == 0 ? own_is_held_up(p) : !own_may_go_on(p, from_bytes, until_us))
            break;
        int done = engine_task(p->engine);

        if (done == 2)
            return true;
        if (done == BELFRY_COLD)
            p->task = partition_fetch(p); /* NULL if memory ran out: the next turn tries again. */
        if (done <= 0)
            break;
        any = true;
    }
    return any;
}

static bool own_begin(struct partition *p, struct chore *c)
{
    (void)c;
    return p->task != NULL;
}

static int own_run(struct chore *c)
{
    return fetch_run(c->p->task);
}

static int own_end(struct partition *p, struct chore *c, int result)
{
    struct fetch *f = p->task;
    int err = partition_fetched(p, f, result), done = 0;

    (void)c;
    if (err == BELFRY_COLD) /* Jobs moved meanwhile: the fetch runs once more. */
        return 0;
    if (!err)
        done = engine_task(p->engine);
    else if (err == BELFRY_CORRUPT) /* It cannot be read: other tasks must not wait for it. */
        engine_task_skip(p->engine);
    partition_fetch_end(p, f);
    p->task = done == BELFRY_COLD ? partition_fetch(p) : NULL;
    return err;
}

const struct chore_ops task_chore = {
    { "looking up jobs that wait for others, or recurrences" },
    own_begin,
    own_run,
    own_end,
};
