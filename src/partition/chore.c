/* SPDX-License-Identifier: MIT */
/* Chores: one of each kind at a time. */
#include "partition/internal.h"
#include "record/name.h"

static const struct chore_ops *const kinds[CHORE_KINDS] = {
    [CHORE_RECLAIM] = &reclaim_chore, [CHORE_FEED] = &feed_chore, [CHORE_LOAD] = &load_chore,
    [CHORE_MERGE] = &merge_chore,     [CHORE_TASK] = &task_chore,
};

struct chore *partition_chore(struct partition *p, enum chore_kind kind)
{
    struct chore *c = &p->chores[kind];

    if (c->running || !kinds[kind]->begin(p, c))
        return NULL;
    c->running = true;
    return c;
}

int chore_run(struct chore *c)
{
    return kinds[c->kind]->run(c);
}

int partition_chore_done(struct partition *p, struct chore *c, int result)
{
    c->running = false;
    return kinds[c->kind]->end(p, c, result);
}

const char *chore_name(const struct chore *c)
{
    return kinds[c->kind]->names[c->step];
}

bool partition_work(struct partition *p, int64_t until_us)
{
    bool more = feed_work(p);

    more = reclaim_work(p) || more;
    more = merge_work(p) || more;
    more = own_work(p, until_us) || more;
    return engine_work(p->engine) || more;
}

uint64_t chores_memory(const struct partition *p)
{
    const struct feed *f = &p->chores[CHORE_FEED].feed;

    return engine_memory(p->engine) + f->batch.cap + f->batch.cap / 4 + p->bytes.filters +
           p->bytes.beside + p->chores[CHORE_MERGE].merge.floors.bytes.cap;
}

/* Requests are held back only while a feed is under way or due. Else workers that would make room,
 * by finishing their jobs, would not be heard. */
bool partition_pressed(const struct partition *p)
{
    return chores_memory(p) > p->o.memory_bytes &&
           (p->chores[CHORE_FEED].feed.state != FEED_IDLE || feed_waits(p));
}

/* Beyond nine eighths, a tenant may add jobs while those that it has in memory take less than is
 * left to nineteen sixteenths. So the tenant that fills memory waits, and others find some room. */
bool partition_crammed(const struct partition *p, struct str tenant)
{
    uint64_t used = chores_memory(p), memory = p->o.memory_bytes;
    uint64_t most = memory + memory / 8 + memory / 16;

    if (used <= memory + memory / 8 || !partition_pressed(p))
        return false;
    if (MUTANT(p->o.mutant, CRAMMED_SHARED))
        return true;
    return used >= most || tenant.len == 0 || str_eq(tenant, STR(TENANT_ALL)) ||
           engine_tenant_memory(p->engine, tenant) >= most - used;
}

bool partition_overfull(const struct partition *p)
{
    return chores_memory(p) > p->o.memory_bytes + p->o.memory_bytes / 4 && !partition_pressed(p);
}

void chores_init(struct partition *p)
{
    for (int i = 0; i < CHORE_KINDS; i++) {
        p->chores[i].p = p;
        p->chores[i].kind = (enum chore_kind)i;
    }
    list_init(&p->fetches);
    pthread_mutex_init(&p->open_lock, NULL);
}

/* No chore may be under way. */
void chores_fini(struct partition *p)
{
    struct cold_run *r;

    buf_fini(&p->chores[CHORE_RECLAIM].slice.elements);
    feed_clear(&p->chores[CHORE_FEED].feed);
    load_clear(&p->chores[CHORE_LOAD].load);
    merge_clear(&p->chores[CHORE_MERGE].merge);
    while (!list_empty(&p->fetches))
        partition_fetch_end(p, container_of(p->fetches.next, struct fetch, link));
    if (p->engine) {
        each_run (r, engine_runs(p->engine))
            cold_close(r);
        each_run (r, engine_gone_runs(p->engine))
            cold_close(r);
    }
    pthread_mutex_destroy(&p->open_lock);
}
