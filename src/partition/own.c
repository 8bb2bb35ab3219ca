/* SPDX-License-Identifier: MIT */
/* The engine's own work: slices of its tasks in every turn, and the fetches that they need. */
#include "partition/internal.h"

#define TASK_SLICES 20 /* in one turn */

/* True if there is more work, of a task or because of it. */
bool own_work(struct partition *p)
{
    bool any = false;

    engine_press(p->engine, partition_pressed(p) || reclaim_is_behind(p));
    for (int i = 0; i < TASK_SLICES && !p->task; i++) {
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
