/* SPDX-License-Identifier: MIT */
/* The engine's own work. */
#ifndef ENGINE_TASKS_H
#define ENGINE_TASKS_H

#include "engine/engine_data.h"

/* ---- recurrence.c: recurrences at work ---- */

struct recurrence;
struct recur;
struct recur_state;

int recurrence_fire(struct engine *e, struct job *j);
/* An occurrence has ended: the ledger notes how. */
int recurrence_told(struct engine *e, struct job *j, const struct job *ended);

/* Calls between recurrence.c and recurrences.c. */
bool recurrence_read(const struct engine *e, const struct job *j, struct recurrence *ret);
/* Replaces the job of a recurrence by one with this content. NOMEM. */
int recurrence_put(struct engine *e, const struct job *j, const struct recurrence *r);
/* Parses the rule of a recurrence. INVALID, NOMEM. */
int recurrence_rule(struct engine *e, struct str name, const struct recurrence *r,
                    struct recur **ret);
/* The next nominal time after a moment; -1: never again, or the search is too long. */
int64_t recurrence_after(const struct recur *rule, int64_t ms, struct recur_state *state);
/* Makes an occurrence and its ledger entry. LIMIT: its tenant has as many jobs as it may, or too
 * many occurrences are under way. */
int recurrence_make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                    bool by_hand);

/* ---- series.c: figures over time ---- */

/* Ends the minute that is over, and makes some rows of the one that ended. */
void series_advance(struct engine *e);
int64_t series_wake(const struct engine *e); /* by the wall clock: when it has something to do */

/* ---- bulk.c: bulks at work ---- */

bool bulk_waits(const struct engine *e);   /* a bulk can do a slice now */
int64_t bulk_wake(const struct engine *e); /* monotonic: when a bulk can go on */
int bulk_step(struct engine *e);
void bulk_skip(struct engine *e);
void bulks_free(struct engine *e);
/* Jobs came to memory from family D: their images, each with its length. */
void bulks_loaded(struct engine *e, struct str images);
struct bulk; /* see bulk.h */
/* Ends a bulk in an enum bulk_state. */
void bulk_finish(const struct engine *e, struct bulk *b, unsigned state);
/* Replaces the job of a bulk by one with the content `b`, in the open commit. `lsn` is where the
 * bulk's other records of this commit begin: a failure behind them marks the engine torn. */
int bulk_record(struct engine *e, const struct job *j, const struct bulk *b, uint64_t lsn);
/* Forgets where the bulk of this number is. */
void bulk_forget(struct engine *e, uint64_t seq);

#endif
