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

#endif
