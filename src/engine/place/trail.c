/* SPDX-License-Identifier: MIT */
/* Trails: what a job has besides its options and payload, once it was leased, deferred or ended. */
#include "engine/place/job.h"

#include <assert.h>

#include "engine/place/queue.h"
#include "record/image.h"

/* The fields of a trail are those of its image, but texts are blobs: a macro picks by the kind of a
 * field. */
#define TRAIL(F)                        TRAIL_FIELDS(F) TRAIL_LATER_FIELDS(F)
#define PICK_NUMBER(if_number, if_text) if_number
#define PICK_MOMENT(if_number, if_text) if_number
#define PICK_SIGNED(if_number, if_text) if_number
#define PICK_COUNT(if_number, if_text)  if_number
#define PICK_BITS(if_number, if_text)   if_number
#define PICK_BYTES(if_number, if_text)  if_text
#define PICK_LATER_BYTES                PICK_BYTES

struct trail *trail_new(struct engine *e, struct job *j)
{
    struct trail *t = pool_alloc(&e->pool, sizeof(*t));

    assert(!j->trail);
    if (t) {
        *t = (struct trail){ .job = j, .progress = -1 };
        list_init(&t->timer.link);
        list_init(&t->link);
    }
    return t;
}

void trail_free(struct engine *e, struct trail *t)
{
    if (!t)
        return;
#define FREE(kind, member, what) PICK_##kind((void)0, blob_free(&e->pool, t->member));
    TRAIL(FREE)
#undef FREE
    pool_free(&e->pool, t, sizeof(*t));
}

static size_t trail_text_bytes(const struct trail *t)
{
#define LENGTH(kind, member, what) PICK_##kind(, +blob_str(t->member).len)
    return 0 TRAIL(LENGTH);
#undef LENGTH
}

uint32_t trail_weight(const struct trail *t)
{
    return (uint32_t)(sizeof(*t) + trail_text_bytes(t));
}

void trail_recount(struct engine *e, struct trail *t)
{
    size_t bytes = TRAIL_KEPT_BYTES + trail_text_bytes(t);

    e->place.live_bytes += bytes - t->live_bytes;
    kept_add(e, t->job->queue, (int64_t)bytes - (int64_t)t->live_bytes);
    t->live_bytes = (uint32_t)bytes;
}

void trail_reweigh(struct engine *e, struct trail *t)
{
    const struct job *j = t->job;
    uint32_t weight = trail_weight(t);
    uint64_t more = (uint64_t)weight - t->weight;

    assert(j->where == WHERE_LEASED);
    t->weight = weight;
    e->place.bytes[WHERE_LEASED] += more;
    j->queue->tenant->memory_bytes += more;
    leased_count(e, j->queue->tenant, more);
}

struct trail *trail_of_image(struct engine *e, struct job *j, const struct trail_image *i)
{
    struct trail *t = trail_new(e, j);
    bool whole = true;

    if (!t)
        return NULL;
#define SET(kind, member, what)                               \
    PICK_##kind(t->member = (__typeof__(t->member))i->member, \
                whole = blob_set(&e->pool, &t->member, i->member) && whole);
    TRAIL(SET)
#undef SET
    if (!whole) {
        trail_free(e, t);
        return NULL;
    }
    return t;
}

struct trail_image trail_image_of(const struct trail *t)
{
    return (struct trail_image){
#define SHOW(kind, member, what) .member = PICK_##kind(t->member, blob_str(t->member)),
        TRAIL(SHOW)
#undef SHOW
    };
}
