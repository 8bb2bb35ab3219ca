/* SPDX-License-Identifier: MIT */
/* What follows from a job's options, and from the time. */
#ifndef ENGINE_JOBOPTS_H
#define ENGINE_JOBOPTS_H

#include "engine/engine_data.h"
#include "record/opts.h"

void job_opts_get(const struct job *j, struct job_opts *ret);

/* The options of a job, one after another: see job_opt_next. */
static inline struct wire_reader job_opts_reader(const struct job *j)
{
    struct wire_reader r = wire_reader_of((struct str){ j->tail, j->opts_len });

    wire_zigzag(&r); /* when the job was made */
    return r;
}

static inline bool job_is_bare(const struct job *j)
{
    return opts_are_bare((struct str){ j->tail, j->opts_len });
}

/* When it expires if it is not started by then; -1: never, or it was leased before. */
int64_t job_expires_ms(const struct job *j);
/* It waits for other jobs. */
static inline bool job_is_waiting(const struct job *j)
{
    return j->state == JOB_SCHEDULED && j->timer.at_ms == AT_NEVER;
}
/* The moment by which it must be in memory: a waiting one may expire. */
int64_t job_cold_ms(const struct job *j);
/* It was not started in time, though nothing has been written about that. */
bool job_is_over(const struct engine *e, const struct job *j);
/* What it is counted as. */
static inline enum job_state job_counts_as(const struct job *j)
{
    return job_is_waiting(j) ? JOB_WAITING : (enum job_state)j->state;
}
int64_t job_attempts(const struct job *j);
bool job_says_pass(const struct job *j); /* by its options */
/* Its state as users see it. */
enum job_state job_state_now(const struct engine *e, const struct job *j);

#endif
