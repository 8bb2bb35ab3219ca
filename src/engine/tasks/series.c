/* SPDX-License-Identifier: MIT */
/* Figures over time: a minute that is over becomes a record. Empty minutes have none. */
#include "engine/log/log.h"
#include "engine/place/queue.h"
#include "engine/tasks/tasks.h"

#define GATHER_SLICE 500 /* rows: at most 2 ms */

/* Keeps the figures of the minute that ended. Without memory they are lost, and jobs go on. */
static void minute_keep(struct engine *e)
{
    struct minute *m = &e->pulses.ending;

    if (!m->failed && !MUTANT(e->o.mutant, SERIES_LOST))
        emit_series(e, &(struct series_record){ .at_ms = m->at_ms,
                                                .kind = SERIES_ADDS,
                                                .most = step_most(e),
                                                .step = buf_view(&m->step) });
    minute_forget(e);
    steps_fit(e);
}

void series_advance(struct engine *e)
{
    struct pulses *p = &e->pulses;

    if (!p->ending.used && p->running.used &&
        p->running.at_ms != e->now_ms - e->now_ms % SERIES_MINUTE_MS)
        minute_end(e);
    if (p->ending.used && !minute_gather(e, GATHER_SLICE))
        minute_keep(e);
}

int64_t series_wake(const struct engine *e)
{
    const struct pulses *p = &e->pulses;

    return p->ending.used    ? e->now_ms
           : p->running.used ? p->running.at_ms + SERIES_MINUTE_MS
                             : INT64_MAX;
}
