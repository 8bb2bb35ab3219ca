/* SPDX-License-Identifier: MIT */
/* How many images of jobs stand in each segment of the journal. */
#include "engine/place/segment.h"

#include <stdlib.h>

static uint32_t *segment_slot(const struct engine *e, uint32_t segment)
{
    if (segment < e->first_segment || segment - e->first_segment >= e->segment_count)
        return NULL;
    return &e->segment_jobs[segment - e->first_segment];
}

void segment_add(struct engine *e, uint32_t segment)
{
    uint32_t *slot;

    if (e->segment_count == 0)
        e->first_segment = segment;
    while (e->first_segment < segment && e->segment_count > 0 && e->segment_jobs[0] == 0) {
        e->first_segment++;
        e->segment_count--;
        memmove(e->segment_jobs, e->segment_jobs + 1, e->segment_count * sizeof(uint32_t));
        if (e->segment_count == 0)
            e->first_segment = segment;
    }
    if (segment >= e->first_segment && segment - e->first_segment >= e->segment_count) {
        size_t n = segment - e->first_segment + 1;
        uint32_t *grown = realloc(e->segment_jobs, n * sizeof(uint32_t));

        if (!grown) { /* from now on every segment is read before it is dropped */
            e->segments_unknown = true;
            return;
        }
        memset(grown + e->segment_count, 0, (n - e->segment_count) * sizeof(uint32_t));
        e->segment_jobs = grown;
        e->segment_count = n;
    }
    slot = segment_slot(e, segment);
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

    return e->segments_unknown ? UINT64_MAX : slot ? *slot : 0;
}
