/* SPDX-License-Identifier: MIT */
/* The classes of a queue, and their shares of memory. */
#include "engine/place/queue.h"

#include "engine/place/budget.h"
#include "engine/place/pushing.h"

#include <assert.h>
#include <stdlib.h>

#define ASKED_MS 10000 /* a worker is expected to ask again within this time */

static const struct class rows[CLASSES] = {
#define ROW(name, row_number, row_slot) { .number = (row_number), .slot = (row_slot) },
    QUEUE_CLASSES(ROW)
#undef ROW
};

unsigned class_index_of(const struct job *j)
{
    return j->ordered ? INDEX_ORDERED : j->passing ? INDEX_PASSING : j->priority - 1;
}

struct class *class_of(const struct job *j)
{
    struct class *c = j->queue->classes[class_index_of(j)];

    assert(c);
    return c;
}

unsigned class_number_of(const struct job *j)
{
    return rows[class_index_of(j)].number;
}

struct class *class_obtain(struct engine *e, struct queue *q, unsigned index)
{
    struct class *c = q->classes[index];

    if (c)
        return c;
    c = pool_alloc(&e->place.known.pool, sizeof(*c));
    if (!c)
        return NULL;
    *c = rows[index];
    c->queue = q;
    lists_init(&c->ready, &c->tail, &c->link, &c->near.link, &c->arrived, &c->waits, &c->fed,
               &c->source);
    assert(cold_slot_of(FAMILY_BACKLOG, JOB_READY, c->number) == c->slot);
    q->classes[index] = c;
    standing_count(e, q, pool_size(sizeof(*c)));
    return c;
}

void classes_free(struct engine *e, struct queue *q)
{
    for (int i = 0; i < CLASSES; i++) {
        struct class *c = q->classes[i];

        if (!c)
            continue;
        list_remove(&c->link);
        list_remove(&c->arrived);
        list_remove(&c->waits);
        list_remove(&c->fed);
        wheel_remove(&c->near);
        free(c->floors);
        pool_free(&e->place.known.pool, c, sizeof(*c));
        q->classes[i] = NULL;
    }
}

unsigned class_numbered(unsigned number)
{
    return class_is_valid(number) ? class_at_slot(cold_slot_of(FAMILY_BACKLOG, JOB_READY, number))
                                  : CLASSES;
}

unsigned class_at_slot(enum cold_slot slot)
{
    unsigned i = 0;

    while (i < CLASSES && rows[i].slot != slot)
        i++;
    return i;
}

void class_count_hot(struct class *c, const struct job *j, uint64_t bytes)
{
    c->hot_bytes += bytes;
    c->queue->tenant->hot_bytes += bytes;
    if (j->near)
        c->near_bytes += bytes;
    if (j->state == JOB_READY)
        c->ready_bytes += bytes;
    assert((int64_t)c->hot_bytes >= 0 && c->ready_bytes <= c->hot_bytes);
}

void class_close(struct engine *e, struct class *c)
{
    if (!c->closed) {
        c->closed = true;
        e->place.closed_count++;
        list_append(&e->place.closed, &c->link);
    }
}

void class_waits(struct engine *e, struct class *c)
{
    class_close(e, c);
    if (list_empty(&c->waits))
        list_append(&e->place.batch.waits, &c->waits);
}

void queue_ask(struct engine *e, struct queue *q)
{
    q->post.asked_ms = e->now_ms;
    for (int i = 0; i < CLASSES; i++) {
        struct class *c = q->classes[i];

        if (!c || !c->closed || e->place.closed.next == &c->link)
            continue;
        list_move(e->place.closed.next, &c->link);
    }
}

/* ---- Shares of memory ---- */

static uint64_t hot_bytes(const struct engine *e)
{
    return e->place.bytes[WHERE_HOT] + e->place.bytes[WHERE_LEASED] +
           e->place.bytes[WHERE_OWNS_LANE];
}

/* The room that is left for hot and leased jobs. A class may have an eighth of it, so that each
 * class finds some room, however many there are. */
uint64_t hot_room(const struct engine *e)
{
    uint64_t limit = budget_share(e, SHARE_HOT);
    uint64_t used = hot_bytes(e);

    return used < limit ? limit - used : 0;
}

bool memory_is_crowded(const struct engine *e)
{
    return hot_bytes(e) > budget_share(e, SHARE_CROWDED);
}

static bool post_is_asked(const struct engine *e, const struct post *p)
{
    if (MUTANT(e->o.mutant, ASKED_IGNORED))
        return false;
    return p->waiters > 0 || (p->asked_ms > 0 && e->now_ms - p->asked_ms < ASKED_MS);
}

/* Whether a worker would take a job of the queue soon. */
static bool queue_is_asked(const struct engine *e, const struct queue *q)
{
    return queue_pushes(q) || post_is_asked(e, &q->post) ||
           (q->kind && post_is_asked(e, &q->kind->post));
}

/* A tenant has its share when its hot jobs take more memory than is left, and more than
 * SHARE_TENANT. */
static bool has_share(const struct engine *e, const struct queue *q)
{
    uint64_t room = hot_room(e), least = budget_share(e, SHARE_TENANT);

    return !q->hidden && q->tenant->hot_bytes > (room > least ? room : least);
}

/* If a tenant has its share, its classes without hot jobs get none: otherwise one large job in each
 * of many queues would fill the memory. Where a worker asks, the bound is SHARE_ASKED, because the
 * worker takes the job. */
static bool class_goes_without(const struct engine *e, const struct class *c)
{
    const struct tenant *t = c->queue->tenant;

    if (!has_share(e, c->queue))
        return false;
    return !queue_is_asked(e, c->queue) || leased_is_full(e, t) ||
           t->hot_bytes > budget_share(e, SHARE_ASKED);
}

bool class_is_full(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) &&
           (c->hot_bytes > hot_room(e) / 8 || (c->hot_bytes == 0 && class_goes_without(e, c)));
}

/* The share of a class though there is no room. All closed classes together have a sixteenth. Open
 * classes may be many, too: when hot jobs have that sixteenth beside their own share, a class of a
 * tenant that has its share may have one job. */
uint64_t class_least(const struct engine *e, const struct class *c)
{
    if (hot_bytes(e) > budget_share(e, SHARE_HOT) + budget_share(e, SHARE_CLASSES) &&
        has_share(e, c->queue))
        return 0;
    return e->place.closed_count > 4 ? budget_share(e, SHARE_CLASSES) / e->place.closed_count
                                     : budget_share(e, SHARE_CLASS);
}

bool class_is_glutted(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) && (c->ready_bytes > hot_room(e) / 8 + class_least(e, c) ||
                                    (c->ready_bytes == 0 && class_goes_without(e, c)));
}

bool class_is_shut_out(const struct engine *e, const struct class *c)
{
    return c->ready_bytes == 0 && class_is_glutted(e, c);
}

bool class_is_half_glutted(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) && c->ready_bytes > (hot_room(e) / 8 + class_least(e, c)) / 2;
}

/* A tenant may have as much as it leaves to others, so that each finds some room. */
bool lanes_are_full(const struct engine *e, const struct tenant *t)
{
    uint64_t limit = budget_share(e, SHARE_OWNERS), used = e->place.bytes[WHERE_OWNS_LANE];

    if (MUTANT(e->o.mutant, HOLDERS_SHARED))
        return used > limit;
    return t->owner_bytes > (used < limit ? limit - used : 0);
}
