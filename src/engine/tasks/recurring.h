/* SPDX-License-Identifier: MIT */
/* Recurrences at work. */
#ifndef ENGINE_RECURRING_H
#define ENGINE_RECURRING_H

#include "engine/engine_data.h"

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

#endif
