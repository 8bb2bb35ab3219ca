/* SPDX-License-Identifier: MIT */
/* Chores: one at a time in each lane. */
#include "partition/internal.h"

static const struct {
    bool (*begin)(struct partition *p, struct chore *c);
    int (*run)(struct chore *c);
    int (*end)(struct partition *p, struct chore *c, int result);
} lanes[LANES] = {
    [LANE_JOURNAL] = { reclaim_begin, reclaim_run, reclaim_end },
    [LANE_FEED] = { feed_begin, feed_run, feed_end },
    [LANE_LOAD] = { load_begin, load_run, load_end },
    [LANE_MERGE] = { merge_begin, merge_run, merge_end },
    [LANE_TASK] = { own_begin, own_run, own_end },
};

struct chore *partition_chore(struct partition *p, enum lane lane)
{
    struct chore *c = &p->chores[lane];

    if (c->running || !lanes[lane].begin(p, c))
        return NULL;
    c->running = true;
    return c;
}

int chore_run(struct chore *c)
{
    return lanes[c->lane].run(c);
}

int partition_chore_done(struct partition *p, struct chore *c, int result)
{
    c->running = false;
    return lanes[c->lane].end(p, c, result);
}

const char *chore_name(const struct chore *c)
{
    static const char *const names[] = {
        [CHORE_READ] = "reading the journal's oldest segment",
        [CHORE_REMOVE] = "removing the journal's oldest segment",
        [CHORE_UNLINK] = "removing a run",
        [CHORE_FEED] = "writing jobs from memory to runs",
        [CHORE_LOAD] = "loading jobs from runs",
        [CHORE_MERGE] = "merging runs",
        [CHORE_TASK] = "looking up jobs that wait for others, or recurrences",
    };
    return names[c->kind];
}

bool partition_work(struct partition *p)
{
    bool more = feed_work(p);

    more = own_work(p) || more;
    return engine_work(p->engine) || more;
}

static uint64_t memory(const struct partition *p)
{
    const struct feed *f = &p->chores[LANE_FEED].feed;

    return engine_memory(p->engine) + f->batch.cap + f->batch.cap / 4 + p->filter_bytes;
}

/* Only while something is being done about it: else those who would make room, by finishing what
 * they hold, would not be heard. */
bool partition_pressed(const struct partition *p)
{
    return memory(p) > p->o.memory_bytes &&
           (p->chores[LANE_FEED].feed.state != FEED_IDLE || feed_waits(p));
}

bool partition_crammed(const struct partition *p)
{
    return memory(p) > p->o.memory_bytes + p->o.memory_bytes / 8 && partition_pressed(p);
}

bool partition_overfull(const struct partition *p)
{
    return memory(p) > p->o.memory_bytes + p->o.memory_bytes / 4 && !partition_pressed(p);
}

void chores_init(struct partition *p)
{
    for (int i = 0; i < LANES; i++) {
        p->chores[i].p = p;
        p->chores[i].lane = (enum lane)i;
    }
    list_init(&p->fetches);
    pthread_mutex_init(&p->open_lock, NULL);
}

/* Nothing may be under way. */
void chores_fini(struct partition *p)
{
    struct list *heads[2] = { 0 };

    buf_fini(&p->chores[LANE_JOURNAL].slice.elements);
    feed_clear(&p->chores[LANE_FEED].feed);
    load_clear(&p->chores[LANE_LOAD].load);
    merge_clear(&p->chores[LANE_MERGE].merge);
    while (!list_empty(&p->fetches))
        partition_fetch_end(p, container_of(p->fetches.next, struct fetch, link));
    if (p->engine) {
        heads[0] = engine_runs(p->engine);
        heads[1] = engine_gone_runs(p->engine);
    }
    for (int i = 0; i < 2 && heads[i]; i++) {
        struct list *node;

        list_each (node, heads[i])
            cold_close(container_of(node, struct cold_run, link));
    }
    pthread_mutex_destroy(&p->open_lock);
}

uint64_t chores_memory(const struct partition *p)
{
    return memory(p);
}
