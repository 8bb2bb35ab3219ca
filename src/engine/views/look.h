/* SPDX-License-Identifier: MIT */
/* What users see. */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

#include "engine/engine_data.h"
#include "engine/explanation.h"
#include "engine/place/filter.h"

/* ---- ahead.c: who goes before a job ---- */

struct ahead {
    uint64_t least; /* the least number of ready jobs */
    bool exact;     /* there are no more than `least` */
    const struct job *first;
};

/* The ready jobs of its queue that go before a job that has not ended. Jobs that quiet hours would
 * put off are not among them. */
void ahead_of(const struct engine *e, const struct job *j, struct ahead *ret);

/* ---- explain.c ---- */

/* When a worker last asked for the queue, by whichever way; -1: not since the engine started. One
 * that waits does so. */
int64_t queue_asked_ms(const struct engine *e, const struct queue *q);

/* ---- ended.c: how an ended job ended, and how the last attempt did ---- */

void explain_ended(const struct engine *e, const struct job *j, struct explanation *x);
/* A sentence about the last attempt, which was without success. */
void explain_attempt(const struct job *j, char ret[WHY_MAX]);

#endif
