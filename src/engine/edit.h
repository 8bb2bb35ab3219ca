/* SPDX-License-Identifier: MIT */
/* Jobs that a request changes as they wait, and jobs as models of others. */
#ifndef ENGINE_EDIT_H
#define ENGINE_EDIT_H

#include "base/buf.h"
#include "engine/types.h"

struct engine;

/* A job as SCHEDULE would ask for it: without its due time (-1), and without the jobs that it waits
 * for. Slices point into the template. */
struct job_template {
    struct job_spec spec;
    struct job_labels labels;
    struct buf bytes;
};

struct job_edit {
    struct job_spec spec; /* all that the job has from now on, its queue and keys as they were;
                             due_ms -1: its due time stays */
    bool redrive;         /* the job is dead, and is put back */
};

/* Copies the values of a job, which may have ended. `take`: the job comes to memory, for a request
 * that will need another job on disk. The caller frees the template, also after an error. NOTFOUND,
 * COLD, NOMEM. */
int engine_template(struct engine *e, struct job_id id, bool take, struct job_template *ret);
void job_template_fini(struct job_template *t);

/* Gives a job other values. If the job has these values already, the engine writes no record. The
 * job keeps its id, its attempts, and the jobs that wait for it. A job that is put back has its
 * attempts counted anew. STATE: a worker has the job, the job has ended, or `redrive` does not fit.
 * NOTFOUND, INVALID, TOOLARGE, LIMIT, KEYEXISTS, FULL, COLD, NOMEM. */
int engine_edit(struct engine *e, struct job_id id, const struct job_edit *x);

#endif
