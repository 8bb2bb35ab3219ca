/* SPDX-License-Identifier: MIT */
/* How many images of jobs stand in each segment of the journal. */
#include "engine/place/job.h"

#include <stdlib.h>

static uint32_t *segment_slot(const struct engine *e, uint32_t segment)
{
    if (segment < e->place.segments.first ||
        segment - e->place.segments.first >= e->place.segments.count)
        return NULL;
    return &e->place.segments.jobs[segment - e->place.segments.first];
}

void segment_add(struct engine *e, uint32_t segment)
{
    struct segments *s = &e->place.segments;

    while (s->first < segment && s->count > 0 && s->jobs[0] == 0) {
        s->first++;
        s->count--;
        memmove(s->jobs, s->jobs + 1, s->count * sizeof(uint32_t));
    }
    if (s->count == 0)
        s->first = segment;
    if (segment >= s->first && segment - s->first >= s->count) {
        size_t n = segment - s->first + 1;
        uint32_t *grown = realloc(s->jobs, n * sizeof(uint32_t));

        if (!grown) { /* from now on every segment is read before it is dropped */
            s->unknown = true;
            return;
        }
        memset(grown + s->count, 0, (n - s->count) * sizeof(uint32_t));
        s->jobs = grown;
        s->count = n;
    }
    uint32_t *slot = segment_slot(e, segment);
    if (slot)
        ++*slot;
}

void segment_sub(struct engine *e, uint32_t segment)
{
    uint32_t *slot = segment_slot(e, segment);

    if (slot && *slot > 0)
        --*slot;
}

uint64_t engine_segment_jobs(const struct engine *e, uint32_t segment)
{
    const uint32_t *slot = segment_slot(e, segment);

    return e->place.segments.unknown ? UINT64_MAX : slot ? *slot : 0;
}
