/* SPDX-License-Identifier: MIT */
/* Bulks: one action on all jobs that match, done in slices behind other work. A bulk is a job of a
 * hidden queue whose payload is a struct bulk. While it runs, it is due. Once it is over it is an
 * ended job, and is forgotten like one. See bulk.c. */
#ifndef ENGINE_BULK_H
#define ENGINE_BULK_H

#include "engine/types.h"
#include "record/bulkcode.h"

#define BULK_KEEP_MS  INT64_C(86400000) /* how long a bulk is shown after its end */
#define BULK_KEEP     100               /* ended bulks of a tenant that are shown */
#define BULKS_MAX     20                /* running bulks of a tenant */
#define BULKS_MAX_ALL 100               /* running bulks of all tenants */

struct bulk_spec {
    struct str tenant;
    enum bulk_action action;
    bool dry;         /* the bulk counts only */
    struct str queue; /* in full; empty: all of the tenant */
    int state;        /* -1: all states that the action can be about */
    unsigned states;  /* bits 1 << enum job_state, instead of `state`; 0: `state` counts */
    struct str tag;   /* empty: any */
    int64_t from_ms;  /* due; inclusive; -1: from the first */
    int64_t to_ms;    /* due; exclusive; -1: to the last */
    int64_t due_ms;   /* RESCHEDULE: the new due time; -1: now */
    /* As in struct list_filter. */
    struct str recurrence, key_prefix, order, worker, error, error_group;
    int64_t ended_from_ms, ended_to_ms; /* as there; 0: any */
};

struct bulk_view {
    struct job_id id;
    int64_t created_ms;
    bool damaged; /* the stored bulk cannot be read */
    struct bulk b;
};

struct engine;

/* All of these but engine_bulk may answer COLD. */

/* Begins a bulk, whose work follows in slices of engine_task. INVALID, LIMIT, FULL, NOMEM. */
int engine_bulk(struct engine *e, const struct bulk_spec *s, struct job_id *ret);
/* Stops a bulk; the work that it has done stays. NOTFOUND, STATE (it has ended). */
int engine_bulk_stop(struct engine *e, struct str tenant, struct job_id id);
/* NOTFOUND. */
int engine_bulk_get(struct engine *e, struct str tenant, struct job_id id, struct bulk_view *ret);
/* All bulks of a tenant, ended ones first, in the order in which they were asked for. */
int engine_bulks(struct engine *e, struct str tenant,
                 int (*fn)(void *arg, const struct bulk_view *v), void *arg);

#endif
