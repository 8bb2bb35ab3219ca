/* SPDX-License-Identifier: MIT */
/*
 * Reclaiming the oldest segment, so that the journal stays within a small multiple of the live
 * state: read it slice by slice, write again what of it still lives, and remove it once those
 * copies are durable. A crash at any point leaves both or only the copies; replay takes the newer.
 */
#include "base/wire.h"
#include "partition/internal.h"

/* How many segments there may be: four, and twice the live state; less when space is short. */
static uint64_t allowed_segments(const struct partition *p)
{
    uint64_t live = engine_live_bytes(p->engine);

    if (atomic_load(&p->store->low))
        return 2 + live * 5 / 4 / p->o.segment_bytes;
    return SPARE_SEGMENTS + 2 * live / p->o.segment_bytes;
}

static bool oldest_is_settled(const struct partition *p)
{
    const struct commit *first = p->writing ? p->writing
                                 : list_empty(&p->closed)
                                     ? p->gathering
                                     : container_of(p->closed.next, struct commit, link);

    return p->segments[0].number < first->segment;
}

struct chore *partition_chore(struct partition *p)
{
    struct chore *c = &p->chore;

    if (p->chore_running || p->reclaim_broken)
        return NULL;
    if (!p->reclaiming) {
        if (p->segment_count <= allowed_segments(p) || !oldest_is_settled(p))
            return NULL;
        p->reclaiming = true;
        p->reclaim_next = 0;
        p->reclaim_lsn = 0;
    }
    c->p = p;
    c->segment = p->segments[0];
    if (p->reclaim_next < c->segment.elements) {
        if (partition_gathered_bytes(p) > RECLAIM_PAUSE * p->commit_bytes)
            return NULL; /* the disk is behind already */
        c->kind = CHORE_READ;
        c->from = c->next = p->reclaim_next;
        buf_reset(&c->elements, 2 * p->o.slice_bytes);
    } else {
        if (p->safe_lsn < p->reclaim_lsn && !MUTANT(p->o.mutant, EARLY_DROP))
            return NULL;
        c->kind = CHORE_REMOVE;
    }
    p->chore_running = true;
    return c;
}

static int keep_element(void *arg, uint64_t seq, struct str element)
{
    struct chore *c = arg;

    if (c->elements.len >= c->p->o.slice_bytes || seq >= c->segment.elements)
        return 1;
    wire_put_u32(&c->elements, (uint32_t)element.len);
    buf_str(&c->elements, element);
    c->next = seq + 1;
    return c->elements.failed ? BELFRY_NOMEM : 0;
}

int chore_run(struct chore *c)
{
    struct store *s = c->p->store;
    char log[NAME_BYTES];
    int err;

    partition_log_name(c->p, c->segment.number, log);
    if (c->kind == CHORE_REMOVE)
        return s->ops->remove(s, str_of(log));
    err = s->ops->read(s, str_of(log), c->from, keep_element, c, NULL);
    return err == 1 ? 0 : err;
}

static int copy_slice(struct partition *p, struct chore *c)
{
    struct wire_reader r = wire_reader_of(buf_view(&c->elements));
    uint64_t before = partition_gathered_bytes(p);
    int err = 0;

    if (c->next == c->from)
        return store_fail(BELFRY_CORRUPT, "segment %u: commit %llu is gone", c->segment.number,
                          (unsigned long long)c->from);
    while (r.p < r.end && !err) {
        uint32_t len = wire_u32(&r);
        struct str element = { (const char *)r.p, len };

        r.p += len;
        err = engine_copy_forward(p->engine, element, c->segment.number);
    }
    p->reclaim_lsn = engine_lsn(p->engine);
    p->stats.copied_bytes += partition_gathered_bytes(p) - before;
    if (!err)
        p->reclaim_next = c->next;
    return err;
}

int partition_chore_done(struct partition *p, struct chore *c, int result)
{
    p->chore_running = false;
    if (!result && c->kind == CHORE_READ)
        result = copy_slice(p, c);
    if (result == BELFRY_NOMEM)
        return 0; /* the same slice again, when there is memory */
    if (result) { /* what cannot be read now may be read later, but damage stays */
        p->reclaim_broken = result == BELFRY_CORRUPT;
        return result;
    }
    if (c->kind == CHORE_REMOVE) {
        p->reclaiming = false;
        p->segment_count--;
        memmove(p->segments, p->segments + 1, p->segment_count * sizeof(*p->segments));
        p->stats.reclaimed_segments++;
    }
    return 0;
}
