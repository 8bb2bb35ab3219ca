/* SPDX-License-Identifier: MIT */
/* Keys: an index on jobs, by queue, ordering key if there is one, and key. A job has its key until
 * it ends, and then until trail.hold_ms if the key is held. */
#include "engine/place/job.h"

#include "record/opts.h"

struct wanted {
    const struct queue *queue;
    struct str order;
    struct str key;
};

/* A key is hashed under a secret of its queue and ordering key. This secret is made of the engine's
 * secret, the hash of the queue's name, and the hash of the ordering key, if there is one. */
static uint64_t key_hash(const struct engine *e, const struct queue *q, struct str order,
                         struct str key)
{
    struct hash_key k = { e->o.secret.a ^ q->by_name.hash, e->o.secret.b };

    if (order.len > 0)
        k.b ^= hash_quick(e->o.secret, order);
    return hash_quick(k, key);
}

static bool entry_matches(const struct table_node *node, const void *arg)
{
    const struct wanted *w = arg;
    const struct job *j = container_of(node, struct key_entry, node)->job;
    struct job_opts o;

    if (j->queue != w->queue)
        return false;
    job_opts_get(j, &o);
    return str_eq(o.key, w->key) && str_eq(o.order, w->order);
}

static struct key_entry *entry_find(const struct engine *e, const struct queue *q, struct str order,
                                    struct str key, uint64_t hash)
{
    struct wanted w = { q, order, key };
    struct table_node *node = table_find(&e->place.keys, hash, entry_matches, &w);

    return node ? container_of(node, struct key_entry, node) : NULL;
}

struct job *key_find(const struct engine *e, const struct queue *q, struct str order,
                     struct str key)
{
    struct key_entry *entry = entry_find(e, q, order, key, key_hash(e, q, order, key));

    return entry && !job_is_waste(e, entry->job) ? entry->job : NULL;
}

/* Whether a job that comes from disk has lost its key to its owner. An owner that has not ended
 * came when the hold of the job was over. Else the job that holds the key longer has it. */
static bool has_lost(const struct job *j, const struct job *owner)
{
    return state_is_ended(j->state) &&
           (!state_is_ended(owner->state) || owner->trail->hold_ms >= j->trail->hold_ms);
}

/* Another job takes the key of an ended job. The hold was over when this happened. If the clock was
 * set back since, the hold may seem to last. */
static int hold_over(struct engine *e, struct job *j)
{
    if (!state_is_ended(j->state))
        return BELFRY_CORRUPT;
    job_unplace(e, j);
    j->trail->hold_ms = 0;
    job_place(e, j, j->state);
    return 0;
}

int key_take(struct engine *e, struct job *j)
{
    struct job_opts o;

    if (job_is_bare(j))
        return 0;
    job_opts_get(j, &o);
    if (o.key.len == 0)
        return 0;
    uint64_t hash = key_hash(e, j->queue, o.order, o.key);
    struct key_entry *entry = entry_find(e, j->queue, o.order, o.key, hash);
    if (!entry) {
        entry = pool_alloc(&e->pool, sizeof(*entry));
        if (!entry)
            return BELFRY_NOMEM;
        entry->hash = hash;
        entry->job = j;
        table_add(&e->place.keys, &entry->node);
    } else if (entry->job->seq != j->seq && !job_is_waste(e, entry->job)) {
        if (has_lost(j, entry->job)) {
            j->trail->hold_ms = 0;
            return 0;
        }
        if (hold_over(e, entry->job) < 0)
            return BELFRY_CORRUPT;
    }
    entry->job = j;
    return 0;
}

/* The entry of this job's key, even if another job holds the key. NULL: the job has no key, or no
 * job holds it. */
static struct key_entry *entry_of(const struct engine *e, const struct job *j)
{
    struct job_opts o;

    if (job_is_bare(j))
        return NULL;
    job_opts_get(j, &o);
    return o.key.len
               ? entry_find(e, j->queue, o.order, o.key, key_hash(e, j->queue, o.order, o.key))
               : NULL;
}

void key_release(struct engine *e, struct job *j)
{
    struct key_entry *entry = entry_of(e, j);

    if (entry && entry->job == j) {
        table_remove(&e->place.keys, &entry->node);
        pool_free(&e->pool, entry, sizeof(*entry));
    }
}

void key_follow(struct engine *e, const struct job *from, struct job *to)
{
    struct key_entry *entry = entry_of(e, from);

    if (entry && entry->job == from)
        entry->job = to;
}

void keys_init(struct engine *e)
{
    table_init(&e->place.keys, table_entry_hash);
}
