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
/* An occurrence has ended. */
int recurrence_told(struct engine *e, struct job *j, const struct job *ended);

/* Between the files about recurrences. */
struct str recurrence_name(const struct job *j);
bool recurrence_read(const struct engine *e, const struct job *j, struct recurrence *ret);
/* j is another afterwards. */
int recurrence_put(struct engine *e, const struct job *j, const struct recurrence *r);
/* INVALID, NOMEM. */
int recurrence_rule(struct engine *e, struct str name, const struct recurrence *r,
                    struct recur **ret);
/* The next one after a moment; -1: never again, or not to be found out. */
int64_t recurrence_after(const struct recur *rule, int64_t ms, struct recur_state *state);
/* An occurrence, and its ledger entry. LIMIT: its tenant has as many jobs as it may, or too many
 * occurrences are under way. */
int recurrence_make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                    bool by_hand);

/* ---- bulk.c: bulks at work ---- */

bool bulk_waits(const struct engine *e);   /* a slice can be done */
int64_t bulk_wake(const struct engine *e); /* when one can be, by monotonic clock */
int bulk_step(struct engine *e);
void bulk_skip(struct engine *e);
void bulks_free(struct engine *e);
/* Jobs by due time have come to memory: their images, each with its length. */
void bulks_loaded(struct engine *e, struct str images);
struct bulk; /* see bulk.h */
/* It is over: an enum bulk_state. */
void bulk_finish(const struct engine *e, struct bulk *b, unsigned state);
/* What stands in its job from now on, which is another afterwards; in the commit that is open. What
 * was written since `lsn` belongs to it. */
int bulk_record(struct engine *e, const struct job *j, const struct bulk *b, uint64_t lsn);
/* The one of this number is no more. */
void bulk_forget(struct engine *e, uint64_t seq);

#endif
