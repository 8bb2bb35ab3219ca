/* SPDX-License-Identifier: MIT */
/* Figures over time: those of the running minute, and the steps that are kept. */
#ifndef ENGINE_PULSE_H
#define ENGINE_PULSE_H

#include "engine/engine_data.h"

#define STEP_MINUTES_MAX 1440
#define STEP_HOURS_MAX   720

/* ---- pulse.c: minutes whose figures are not kept yet ---- */

void pulses_init(struct engine *e);
/* At the start jobs take their places again. Forgets the pulses that began for that alone. */
void pulses_settle(struct engine *e);
void pulses_free(struct engine *e);
/* Something happens in the queue for the first time in the running minute. */
void pulse_begin(struct engine *e, struct queue *q);
/* Called before a counter or a job of the queue changes. */
static inline void queue_pulse(struct engine *e, struct queue *q)
{
    if (q->gauges.pulse.number != e->pulses.number)
        pulse_begin(e, q);
}
/* The queue, or the tenant, is about to be forgotten. */
void pulse_queue_gone(struct engine *e, struct queue *q);
void pulse_tenant_gone(struct engine *e, struct tenant *t);
/* Ends the running minute: from now on things happen in the next. There must be no minute whose
 * rows are still made. */
void minute_end(struct engine *e);
/* Makes up to `max` rows of the minute that ended. False: all rows are made, and its figures are in
 * ending.step, unless it failed. */
bool minute_gather(struct engine *e, int max);
/* Forgets the minute that ended. */
void minute_forget(struct engine *e);

/* ---- steps.c: steps that are kept ---- */

void steps_free(struct engine *e);
/* The bytes that a step may take, so that all steps have room in their share of memory. */
size_t step_most(const struct engine *e);
/* Adds figures of a minute to it and to its hour. NOMEM: nothing was changed. */
int steps_add(struct engine *e, int64_t at_ms, struct str figures, size_t most);
/* Replaces a step, or makes it. NOMEM. */
int step_set(struct engine *e, enum step_kind kind, int64_t at_ms, struct str figures);
/* The index of the first step at this moment or later. */
size_t step_seek(const struct steps *s, int64_t at_ms);
/* Forgets old steps beyond their share of memory. */
void steps_fit(struct engine *e);
static inline struct str step_figures(const struct step *s)
{
    return (struct str){ s->bytes, s->len };
}

#endif
