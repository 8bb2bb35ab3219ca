/* SPDX-License-Identifier: MIT */
/* Compares the engine with the model. A difference is described in a buffer or fails the run. */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include "engine/engine.h"
#include "sim/model.h"

#define JUDGE_TEXT 400

/* Fills the model's gaps with what the engine chose, if it was free to choose that. False with a
 * sentence in `ret` if not. */
bool judge_adopt(const struct engine *e, struct model *m, char ret[JUDGE_TEXT]);

/* True if every job, every key and every count is as the model says. */
bool judge_same(const struct engine *e, const struct model *m, char ret[JUDGE_TEXT]);

/* True if this one job is as the model says. */
bool judge_job(const struct model *m, const struct model_job *job, const struct job_view *v,
               char ret[JUDGE_TEXT]);

/* The other way round: leaves in the graveyard what was forgotten since the model was copied and
 * whose records may be gone for good. */
void judge_bury(const struct engine *e, struct model *m);

/* Takes back from the graveyard what the engine remembers once more after its clock was set back,
 * which it may as long as it is the truth. Returns how many. */
size_t judge_resurrect(const struct engine *e, struct model *m);

#endif
