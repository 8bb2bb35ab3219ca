/* SPDX-License-Identifier: MIT */
/* Which jobs are in the batch that goes to disk, and where each of them goes; spill.c makes it. */
#include "engine/place/job.h"

#include <assert.h>

#include "engine/place/queue.h"

const struct place_row place_rows[WHERES] = {
#define ROW(name, states, family, container) { states, family },
    PLACES(ROW)
#undef ROW
};

void batch_init(struct batch *b)
{
    b->empty_lsn = UINT64_MAX;
    lists_init(&b->classes, &b->asides, &b->asides_fed, &b->source, &b->jobs, &b->past_jobs,
               &b->dead);
}

/* The family of the run that a job goes to from its place. */
static char job_family(const struct job *j)
{
    char family = place_rows[j->where].family;

    assert(family);
    if (family == FAMILY_BACKLOG && j->ordered && spot_of(j)->in >= SPOT_ASIDE)
        return FAMILY_ASIDE;
    return family == FAMILY_PAST && (j->state == JOB_DEAD || j->trail->hold_ms) ? FAMILY_KEPT
                                                                                : family;
}

void job_cold_key(const struct job *j, struct cold_key *ret)
{
    struct str queue = queue_name(j->queue);

    switch (job_family(j)) {
    case FAMILY_DUE: cold_key_due(ret, (struct cold_point){ job_cold_ms(j), j->seq }); break;
    case FAMILY_ASIDE: cold_key_lane(ret, queue, spot_of(j)->hash, job_point(j)); break;
    case FAMILY_BACKLOG:
        cold_key_queue(ret, FAMILY_BACKLOG, queue, class_number_of(j), job_point(j));
        break;
    default:
        cold_key_queue(ret, job_family(j), queue, 0,
                       (struct cold_point){ j->trail->ended_ms, j->seq });
    }
}

void batch_stale(struct engine *e, struct job *j)
{
    struct cold_key key;
    struct buf *out = &e->place.batch.stale;

    assert(j->fed && e->place.batch.active && !e->place.batch.fed);
    job_cold_key(j, &key);
    wire_put_varint(out, j->seq);
    wire_put_bytes(out, cold_key_str(&key));
    wire_put_bytes(out, queue_name(j->queue));
    wire_put_u8(out,
                SLOT_SIZED | (uint8_t)cold_slot_at(
                                 cold_slot_of(key.bytes[0], (unsigned)j->state, class_number_of(j)),
                                 j->timer.at_ms));
    wire_put_zigzag(out, j->where == WHERE_PAST ? trail_gone_ms(j->trail) : 0);
    wire_put_varint(out, job_bytes(j)); /* as it was fed, though its texts may have changed */
    j->fed = 0;
    j->left = 1;
}

bool batch_is_left(const struct engine *e, const struct job *j)
{
    return j->left && e->place.batch.gathering && !MUTANT(e->o.mutant, FED_TWICE);
}

bool batch_takes_tails(const struct engine *e)
{
    return e->place.batch.active && e->place.batch.tails && !e->place.batch.fed;
}

bool batch_has_first(const struct engine *e, const struct class *c)
{
    return batch_takes_tails(e) && c->tail_first == e->place.batch.number;
}
