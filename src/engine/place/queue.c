/* SPDX-License-Identifier: MIT */
#include "engine/place/queue.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/pushing.h"
#include "record/name.h"

#define IDLE_QUEUES 1000

struct queue *queue_find(const struct engine *e, struct str name)
{
    if (e->place.recent && str_eq(queue_name(e->place.recent), name))
        return e->place.recent;
    struct named *found = named_find(&e->place.names, name);
    return found ? container_of(found, struct queue, by_name) : NULL;
}

struct queue *queue_next(const struct engine *e, const struct queue *q)
{
    const struct list *next = q ? q->link.next : e->place.queues.next;

    if (next == &e->place.queues)
        next = e->place.idle.next;
    return next == &e->place.idle ? NULL : container_of(next, struct queue, link);
}

static struct tree *tree_of(struct engine *e, const struct queue *q)
{
    return q->hidden ? &e->place.known.hidden : &e->place.known.queues;
}

struct queue *queue_behind(const struct engine *e, struct str name)
{
    struct tree_node *n = tree_after(&e->place.known.queues, name);
    struct tree_node *hidden = tree_after(&e->place.known.hidden, name);

    if (!n || (hidden && str_compare(hidden->thing->name, n->thing->name) < 0))
        n = hidden;
    return n ? container_of(n, struct queue, sorted[0]) : NULL;
}

/* The memory of a queue, and of its kind, although other queues may share the kind. */
uint64_t queue_bytes(const struct queue *q)
{
    size_t bytes = pool_size(sizeof(*q) + queue_name(q).len) +
                   pool_size(sizeof(struct kind) + queue_name(q).len) +
                   queue_settings_bytes(q->settings) + rated_bytes(&q->rated);

    for (int i = 0; i < CLASSES; i++)
        bytes += q->classes[i] ? pool_size(sizeof(struct class)) : 0;
    return bytes + hist_bytes(q->gauges.lateness) + hist_bytes(q->gauges.runtime) +
           hist_bytes(q->gauges.wait) + hist_bytes(q->gauges.pulse.lateness);
}

static void queue_forget(struct engine *e, struct queue *q)
{
    if (e->place.recent == q)
        e->place.recent = NULL;
    standing_count(e, q, -queue_bytes(q));
    table_remove(&e->place.names, &q->by_name.node);
    list_remove(&q->link);
    list_remove(&q->post.dispatch);
    queue_quits_ring(e, q);
    pulse_queue_gone(e, q);
    list_remove(&q->of_tenant);
    list_remove(&q->ended);
    list_remove(&q->batch.link);
    for (int i = 0; i < QUEUE_NOTES; i++)
        list_remove(&q->noted[i]);
    tree_remove(tree_of(e, q), &q->sorted[0]);
    tree_remove(&q->tenant->sorted_queues, &q->sorted[1]);
    rated_fini(e, &q->rated);
    queue_settings_fini(e, q);
    if (MUTANT(e->o.mutant, SUMS_LOST))
        q->tenant->sums.counters.scheduled -= q->counters.scheduled;
    q->tenant->queue_total -= !q->hidden;
    q->tenant->uses[q->use] -= !q->hidden;
    tenant_settle(e, q->tenant);
    q->kind->queues--;
    kind_settle(e, q->kind);
    list_remove(&q->lull);
    classes_free(e, q);
    gauges_free(e, &q->gauges);
    e->place.queue_total--;
    e->place.hidden_total -= q->hidden != HIDDEN_NONE;
    e->place.known.queues_forgotten += q->hidden == HIDDEN_NONE;
    pool_free(&e->place.known.pool, q, sizeof(*q) + q->by_name.name.len);
}

void gauges_free(struct engine *e, struct gauges *g)
{
    hist_free_few(&e->place.known.pool, g->lateness);
    hist_free_few(&e->place.known.pool, g->runtime);
    hist_free_few(&e->place.known.pool, g->wait);
}

/* The account leaves out KNOWN_FREE bytes, so that a few queues cost nothing even in a tiny budget.
 */
uint64_t known_bytes(const struct engine *e)
{
    uint64_t used = e->place.known.pool.used_bytes +
                    (e->place.names.buckets + e->place.tenants.buckets + e->place.kinds.buckets) *
                        sizeof(struct table_node *);

    return used > KNOWN_FREE ? used - KNOWN_FREE : 0;
}

/* Makes sure of the queue's tenant and kind. */
static bool queue_join(struct engine *e, struct queue *q, struct str name)
{
    struct str tenant, kind;

    scope_split(name, &tenant, &kind);
    q->tenant = tenant_obtain(e, tenant);
    q->kind = q->tenant ? kind_obtain(e, kind) : NULL;
    if (!q->kind) {
        if (q->tenant)
            tenant_settle(e, q->tenant);
        return false;
    }
    q->serves = q->kind;
    q->hidden = hidden_kind(kind);
    list_append(&q->tenant->queues, &q->of_tenant);
    q->tenant->queue_total += !q->hidden;
    q->tenant->uses[QUEUE_NEW] += !q->hidden;
    q->kind->queues++;
    return true;
}

/* Forgets idle queues, oldest first, until there are few. */
static void forget_idle(struct engine *e)
{
    size_t most = e->o.idle_queues ? e->o.idle_queues : IDLE_QUEUES;

    for (; e->place.idle_count > most; e->place.idle_count--)
        queue_forget(e, container_of(e->place.idle.next, struct queue, link));
}

void queue_drop(struct engine *e, struct queue *q)
{
    if (q->use != QUEUE_IDLE)
        return;
    e->place.idle_count--;
    queue_forget(e, q);
}

struct queue *queue_obtain(struct engine *e, struct str name)
{
    struct queue *q = queue_find(e, name);

    if (q)
        return e->place.recent = q;
    forget_idle(e);
    q = pool_alloc(&e->place.known.pool, sizeof(*q) + name.len);
    if (q)
        *q = (struct queue){ .settings = &queue_defaults };
    if (!q || !queue_join(e, q, name)) {
        pool_free(&e->place.known.pool, q, sizeof(*q) + name.len);
        return NULL;
    }
    lists_init(&q->turn, &q->lull, &q->gauges.pulse.link, &q->rated.timer.link,
               &q->noted[NOTE_SETTINGS], &q->noted[NOTE_TALLY]);
    q->rated.queue = q;
    post_init(&q->post);
    q->post.queue = q;
    q->post.made_ms = e->now_ms;
    lists_init(&q->past, &q->rich, &q->past_keyed, &q->dead, &q->ended, &q->logged, &q->batch.dead,
               &q->batch.link);
    named_add(&e->place.names, &q->by_name, q->text, name);
    tree_add(tree_of(e, q), &q->sorted[0], &q->by_name);
    if (!q->hidden)
        tree_add(&q->tenant->sorted_queues, &q->sorted[1], &q->by_name);
    list_append(&e->place.queues, &q->link);
    e->place.queue_total++;
    e->place.hidden_total += q->hidden != HIDDEN_NONE;
    standing_count(e, q, queue_bytes(q));
    return q;
}

static enum queue_use use_of(const struct engine *e, const struct queue *q)
{
    if (q->segments[NOTE_SETTINGS] && !MUTANT(e->o.mutant, SETTINGS_FORGOTTEN))
        return QUEUE_USED;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (q->jobs[i])
            return QUEUE_USED;
    for (int i = 0; i < COLD_SLOTS; i++)
        if (q->cold[i])
            return QUEUE_USED;
    return q->post.waiters > 0                        ? QUEUE_WAITED
           : q->asides > 0 || q->segments[NOTE_TALLY] ? QUEUE_NOTED
                                                      : QUEUE_IDLE;
}

/* Names are free to choose, so queues come and go with their jobs. When there are many and another
 * is made, the engine forgets idle ones, oldest first. It forgets none earlier, because a caller
 * may be looking at one. */
void queue_settle(struct engine *e, struct queue *q)
{
    enum queue_use use = use_of(e, q), before = q->use;

    if (use == before)
        return;
    assert(use != QUEUE_IDLE || q->offered == 0);
    if (use == QUEUE_IDLE)
        standing_count(e, q, -queue_bytes(q));
    q->use = use;
    if (before == QUEUE_IDLE)
        standing_count(e, q, queue_bytes(q));
    if (!q->hidden) {
        assert(q->tenant->uses[before] > 0);
        q->tenant->uses[before]--;
        q->tenant->uses[use]++;
    }
    if (use != QUEUE_IDLE && before != QUEUE_IDLE)
        return;
    assert(use == QUEUE_IDLE || e->place.idle_count > 0);
    list_move(use == QUEUE_IDLE ? &e->place.idle : &e->place.queues, &q->link);
    e->place.idle_count += use == QUEUE_IDLE ? 1 : (size_t)-1;
}

void queue_noted(struct engine *e, struct queue *q, enum queue_note note, uint32_t segment)
{
    list_remove(&q->noted[note]);
    q->segments[note] = segment;
    if (segment)
        list_append(&e->place.noted[note], &q->noted[note]);
}

void queue_wait(struct engine *e, struct queue *q, int n)
{
    q->post.waiters += (size_t)n;
    if (!q->hidden)
        q->tenant->sums.waiters += (uint64_t)n;
    queue_settle(e, q);
}

void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n)
{
    assert(state < JOB_STATE_COUNT);
    queue_pulse(e, q);
    q->jobs[state] += (uint64_t)n;
    if (q->hidden)
        return;
    e->place.states[state] += (uint64_t)n;
    q->tenant->sums.jobs[state] += n;
    if (!state_is_ended(state))
        q->tenant->pending += n;
    if (state == JOB_LEASED)
        q->tenant->running += (uint64_t)n;
}

void queues_free(struct engine *e)
{
    struct queue *q;

    while ((q = queue_next(e, NULL)))
        queue_forget(e, q);
}

void queues_init(struct engine *e)
{
    pool_init(&e->place.known.pool, 0);
    named_init(&e->place.names, e->o.secret);
    lists_init(&e->place.batch.waits, &e->place.queues, &e->place.ended, &e->place.rich,
               &e->place.idle, &e->place.turns.dispatch, &e->place.turns.serving,
               &e->place.turns.later, &e->place.noted[NOTE_SETTINGS], &e->place.noted[NOTE_TALLY]);
}

bool queue_is_of(const struct queue *q, struct str tenant)
{
    return tenant.len == 0 || str_eq(tenant, STR(TENANT_ALL)) ||
           str_eq(tenant, tenant_name(q->tenant));
}
