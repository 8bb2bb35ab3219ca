/* SPDX-License-Identifier: MIT */
/* What producers schedule, one by one or in batches. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "sim/labels.h"
#include "sim/steps.h"

/* Jobs that have not begun. */
#define WAITING (1u << JOB_SCHEDULED | 1u << JOB_READY | 1u << JOB_WAITING)

/* A spec as the engine wants it, with memory for its slices. */
struct spec {
    struct job_spec spec;
    char queue[TEXT_MAX], payload[TEXT_MAX], key[TEXT_MAX], order[TEXT_MAX];
    struct labels labels;
};

void spec_of(const struct model_spec *s, struct spec *ret);
/* Where the engine was free to forget a job that one names, or found that it has expired. */
void spec_adopt(struct world *w, const struct model_spec *s);
/* Jobs that it names come to memory: on disk they lose their place by that. */
void spec_note(struct world *w, const struct model_spec *s);
/* What the engine answered to one: 0, or an error; what it says of the job is in `is`. */
void spec_judge(struct world *w, const struct model_spec *s, int err,
                const struct schedule_result *is);

/* bytes.c: notes the bytes that are kept of each tenant, before a request. */
void bytes_note(struct world *w);
/* Whether the answer to a request for these jobs fits to max_bytes of their tenants; `n`: up to the
 * item that was refused. True: it was refused for this limit. */
bool bytes_judge(struct world *w, const struct model_spec *specs, size_t n, int err);

/* Near and far, and at one moment with many others. */
int64_t schedule_due(struct world *w);
struct request schedule_random(struct world *w);
request_fn schedule_one;
/* The jobs that had the key of a job may have expired on disk, and ended when they were looked for.
 */
void adopt_rivals(struct world *w, unsigned queue);
/* If the model knows no job that has the key of this job, notes the job that holds it once more. */
void rival_hold_again(struct world *w, const struct model_job *job);
/* A server that is at its budget reads no requests, but for those that it had read before. */
bool schedule_pressed(struct world *w);
/* Counts what happened to a job that was on disk. */
void cover_cold(bool was_cold, enum event e);

#endif
