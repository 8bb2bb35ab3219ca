/* SPDX-License-Identifier: MIT */
/*
 * Reclaiming the oldest segment, so that the journal stays within a small multiple of the live
 * state. The chore reads the segment slice by slice, and the engine copies live records forward. A
 * record says that the journal begins with the next segment. Once all that is durable, the chore
 * removes the oldest. A crash leaves the segment and copies, or only the copies; replay takes the
 * newer image of a job.
 */
#include "base/wire.h"
#include "partition/internal.h"

/* The number of segments that there may be: four, and twice the live state. When space is short,
 * dead records may take a quarter of the live state, or half of the reserve if that is less. */
static uint64_t allowed_segments(const struct partition *p)
{
    uint64_t live = engine_live_bytes(p->engine);

    if (atomic_load(&p->store->low)) {
        uint64_t dead = live / 4 / p->o.segment_bytes;

        return 2 + live / p->o.segment_bytes + (dead < p->o.reserve / 2 ? dead : p->o.reserve / 2);
    }
    return SPARE_SEGMENTS + 2 * live / p->o.segment_bytes;
}

/* While space is short, a bulk waits until the segments that it left behind are reclaimed: the
 * reserve is not for bulks. It does not wait for a journal that cannot be read. */
bool reclaim_is_behind(const struct partition *p)
{
    return atomic_load(&p->store->low) && !p->reclaim.broken &&
           p->segment_count > allowed_segments(p);
}

static bool oldest_is_settled(const struct partition *p)
{
    const struct commit *first = p->writing ? p->writing
                                 : list_empty(&p->closed)
                                     ? p->gathering
                                     : container_of(p->closed.next, struct commit, link);

    return p->segments[0].number < first->segment;
}

/* A run that no longer counts and is not being read, once the record of this is safe. */
static struct cold_run *run_to_unlink(struct partition *p)
{
    struct cold_run *r;

    each_run (r, engine_gone_runs(p->engine))
        if (r->pins == 0 &&
            (partition_make_safe(p, r->lsn) || MUTANT(p->o.mutant, RUN_DROPPED_EARLY)))
            return r;
    return NULL;
}

/* On the engine's thread: when the jobs of the segment are copied, copies a slice of the other
 * facts in it. */
bool reclaim_work(struct partition *p)
{
    if (!p->reclaim.on || p->reclaim.rest || p->reclaim.next < p->segments[0].elements)
        return false;
    int more = engine_copy_rest(p->engine, p->segments[0].number);
    if (more > 0)
        return true;
    if (more < 0 || engine_set_oldest(p->engine, p->segments[0].number + 1) < 0)
        return false; /* out of memory: again later */
    p->reclaim.rest = true;
    p->reclaim.lsn = engine_lsn(p->engine);
    return false;
}

static bool begin_segment(struct partition *p, struct chore *c)
{
    struct slice *s = &c->slice;

    if (p->reclaim.broken)
        return false;
    if (!p->reclaim.on) {
        if (p->segment_count <= allowed_segments(p) || !oldest_is_settled(p))
            return false;
        p->reclaim.on = true;
        p->reclaim.next = 0;
        p->reclaim.rest = false;
    }
    s->segment = p->segments[0];
    if (engine_segment_jobs(p->engine, s->segment.number) == 0)
        p->reclaim.next = s->segment.elements; /* nothing in it lives */
    if (p->reclaim.next < s->segment.elements) {
        if (partition_gathered_bytes(p) > RECLAIM_PAUSE * p->commit_bytes)
            return false; /* the disk is behind already */
        c->step = RECLAIM_READ;
        s->from = s->next = p->reclaim.next;
        buf_reset(&s->elements, 2 * p->o.slice_bytes);
        return true;
    }
    reclaim_work(p);
    if (!p->reclaim.rest)
        return false; /* a later turn goes on */
    if (!partition_make_safe(p, p->reclaim.lsn) && !MUTANT(p->o.mutant, EARLY_DROP))
        return false;
    c->step = RECLAIM_REMOVE;
    return true;
}

static bool reclaim_begin(struct partition *p, struct chore *c)
{
    c->unlink = run_to_unlink(p);
    if (c->unlink) {
        c->step = RECLAIM_UNLINK;
        return true;
    }
    return begin_segment(p, c);
}

static int keep_element(void *arg, uint64_t seq, struct str element)
{
    struct chore *c = arg;
    struct slice *s = &c->slice;

    if (s->elements.len >= c->p->o.slice_bytes || seq >= s->segment.elements)
        return 1;
    wire_put_u32(&s->elements, (uint32_t)element.len);
    buf_str(&s->elements, element);
    s->next = seq + 1;
    return s->elements.failed ? BELFRY_NOMEM : 0;
}

static int reclaim_run(struct chore *c)
{
    struct store *s = c->p->store;
    char log[NAME_BYTES];

    if (c->step == RECLAIM_UNLINK)
        cold_log_name(c->p, c->unlink->d.file, log);
    else
        partition_log_name(c->p, c->slice.segment.number, log);
    if (c->step != RECLAIM_READ)
        return s->ops->remove(s, str_of(log));
    int err = s->ops->read(s, str_of(log), c->slice.from, 0, keep_element, c, NULL);
    return err == 1 ? 0 : err;
}

static int copy_slice(struct partition *p, const struct slice *s)
{
    struct wire_reader r = wire_reader_of(buf_view(&s->elements));
    uint64_t before = partition_gathered_bytes(p);
    int err = 0;

    if (s->next == s->from)
        return store_fail(BELFRY_CORRUPT, "segment %u: commit %llu is gone", s->segment.number,
                          (unsigned long long)s->from);
    while (r.p < r.end && !err) {
        uint32_t len = wire_u32(&r);
        struct str element = { (const char *)r.p, len };

        r.p += len;
        err = engine_copy_forward(p->engine, element, s->segment.number);
    }
    p->stats.copied_bytes += partition_gathered_bytes(p) - before;
    if (!err)
        p->reclaim.next = s->next;
    return err;
}

static void unlinked(struct partition *p, struct cold_run *r)
{
    const struct opened *o = r->opened;

    if (o)
        p->bytes.filters -= o->filter.len;
    cold_close(r);
    engine_run_forget(p->engine, r);
}

static int reclaim_end(struct partition *p, struct chore *c, int result)
{
    if (!result && c->step == RECLAIM_READ)
        result = copy_slice(p, &c->slice);
    if (result == BELFRY_NOMEM)
        return 0; /* That slice comes again, when there is memory. */
    if (result) { /* A failed read may succeed later, but damage stays. */
        p->reclaim.broken = result == BELFRY_CORRUPT && c->step != RECLAIM_UNLINK;
        return result;
    }
    if (c->step == RECLAIM_UNLINK)
        unlinked(p, c->unlink);
    if (c->step == RECLAIM_REMOVE) {
        p->reclaim.on = false;
        p->segment_count--;
        memmove(p->segments, p->segments + 1, p->segment_count * sizeof(*p->segments));
        p->stats.reclaimed_segments++;
    }
    return 0;
}

const struct chore_ops reclaim_chore = {
    { [RECLAIM_READ] = "reading the journal's oldest segment",
      [RECLAIM_REMOVE] = "removing the journal's oldest segment",
      [RECLAIM_UNLINK] = "removing a run" },
    reclaim_begin,
    reclaim_run,
    reclaim_end,
};
