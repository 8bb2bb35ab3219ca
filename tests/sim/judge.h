/* SPDX-License-Identifier: MIT */
/*
 * Compares the engine with the model. A difference is described in a buffer or fails the run. The
 * judge fetches jobs that are on disk, so there must be no faults meanwhile.
 *
 * Where jobs are on disk, the judge allows more. A job in a backlog may count as ready early, by
 * the lookahead at most. Ended jobs whose time is over are counted until their run is dropped. When
 * the clock was set back, the clock decides whether a job on disk is ready, while a job in memory
 * stays ready.
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include "partition/partition.h"
#include "sim/model.h"

#define JUDGE_TEXT 400

/* Fills the model's gaps with what the engine chose, if it was free to choose that: judge_adopt.c.
 * False with a sentence in `ret` if not. */
bool judge_adopt(struct partition *p, struct model *m, char ret[JUDGE_TEXT]);

/* As judge_adopt, for jobs that were to be given out in quiet hours, or too late. It may read the
 * disk. */
bool judge_adopt_met(struct partition *p, struct model *m, char ret[JUDGE_TEXT]);

/* As judge_adopt, for ended jobs that the engine was free to forget: all of them, or one. */
void judge_adopt_forgotten(struct partition *p, struct model *m);
void judge_adopt_job(struct partition *p, struct model *m, struct job_id id);

/* Whether this job may have been forgotten before its time: judge_history.c. */
bool judge_trimmed(struct partition *p, const struct model *m, const struct model_job *job,
                   char ret[JUDGE_TEXT]);

/* What LIST showed of a tenant: judge_bytes.c compares it with the bytes that are kept of it. */
struct listed {
    uint64_t jobs;
    uint64_t bytes;
};

/* Whether the bytes of a job that LIST shows are possible. */
bool judge_bytes_of(const struct model_job *job, const struct job_view *v, char ret[JUDGE_TEXT]);
/* Whether the bytes that are kept of each tenant are those of its jobs and recurrences. */
bool judge_bytes(struct partition *p, const struct model *m, const struct listed *listed,
                 char ret[JUDGE_TEXT]);
/* The most bytes that a job counts for: judge_history.c. */
uint64_t judge_most_bytes(const struct model_job *job);

/* True if every job, every key and every count is as the model says. */
bool judge_same(struct partition *p, const struct model *m, char ret[JUDGE_TEXT]);

/* The same for recurrences: judge_recur.c. */
bool judge_recurrences(struct partition *p, const struct model *m, char ret[JUDGE_TEXT]);

/* True if this one job is as the model says. */
bool judge_job(const struct model *m, const struct model_job *job, const struct job_view *v,
               char ret[JUDGE_TEXT]);

/* The other way round: leaves in the graveyard what was forgotten since the model was copied and
 * whose records may be gone for good. */
void judge_bury(struct partition *p, struct model *m);

/* Takes back from the graveyard what the engine remembers once more after its clock was set back,
 * which it may as long as it is the truth. Returns how many. */
size_t judge_resurrect(struct partition *p, struct model *m);

#endif
