/* SPDX-License-Identifier: MIT */
/* Between the model's own files only. */
#ifndef SIM_MODEL_JOB_H
#define SIM_MODEL_JOB_H

#include "sim/model.h"

struct model_job *model_add(struct model *m);
void model_forget(struct model *m, size_t i);
bool model_ended(const struct model_job *job);
void model_changed(struct model *m, struct model_job *job);
void model_end(struct model *m, struct model_job *job, enum job_state state, uint32_t result);
/* A lease ended without a word. */
void model_stall(struct model *m, struct model_job *job);

/* model_rule.c: the first nominal time after a moment; -1: there is none. */
int64_t model_rule_after(const struct model_recur *s, int64_t ms);
/* Counts a nominal time at which the clocks are changed. */
void model_rule_cover(const struct model_recur *s, int64_t ms);

/* model_ledger.c: a nominal time was decided about, and the total of that outcome grows. */
void model_ledger_made(struct model_recurrence *r, int64_t nominal_ms, uint64_t seq, bool by_hand);
void model_ledger_skipped(struct model_recurrence *r, int64_t from_ms, int64_t upto_ms, uint64_t n,
                          enum ledger_outcome why);
/* An occurrence has ended; totals are the caller's. */
void model_ledger_told(struct model_recurrence *r, uint64_t seq, enum ledger_outcome outcome,
                       int64_t ended_ms);

/* When it becomes ready: what is due already becomes ready now; with an ordering key its place is
 * where it says. */
int64_t model_at_of(const struct model *m, uint32_t order, int64_t due_ms);
/* It is scheduled once more. */
void model_again(struct model *m, struct model_job *job, int64_t due_ms, int64_t at_ms);

#endif
