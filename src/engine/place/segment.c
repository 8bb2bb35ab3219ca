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
    if (e->place.segments.count == 0)
        e->place.segments.first = segment;
    while (e->place.segments.first < segment && e->place.segments.count > 0 &&
           e->place.segments.jobs[0] == 0) {
        e->place.segments.first++;
        e->place.segments.count--;
        memmove(e->place.segments.jobs, e->place.segments.jobs + 1,
                e->place.segments.count * sizeof(uint32_t));
        if (e->place.segments.count == 0)
            e->place.segments.first = segment;
    }
    if (segment >= e->place.segments.first &&
        segment - e->place.segments.first >= e->place.segments.count) {
        size_t n = segment - e->place.segments.first + 1;
        uint32_t *grown = realloc(e->place.segments.jobs, n * sizeof(uint32_t));

        if (!grown) { /* from now on every segment is read before it is dropped */
            e->place.segments.unknown = true;
            return;
        }
        memset(grown + e->place.segments.count, 0,
               (n - e->place.segments.count) * sizeof(uint32_t));
        e->place.segments.jobs = grown;
        e->place.segments.count = n;
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
