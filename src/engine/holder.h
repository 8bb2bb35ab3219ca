/* SPDX-License-Identifier: MIT */
/* Which worker has which leased job, and what it is told of the job. Slices last until the engine's
 * next call. */
#ifndef ENGINE_HOLDER_H
#define ENGINE_HOLDER_H

#include "base/id.h"
#include "base/str.h"

struct engine;
struct job;
struct job_view;

struct holder {
    struct str tenant; /* of the job */
    struct str worker; /* empty: the worker gave no name */
};

/* The holder of a leased job of the scope, by the token of its lease. False: there is none. */
bool engine_holder(const struct engine *e, struct job_id id, uint64_t token, struct holder *ret);
/* Visits the holders of leased jobs, of `most` jobs at the most. Whether that were all. */
bool engine_holders(const struct engine *e, size_t most,
                    void (*fn)(void *arg, const struct holder *h), void *arg);
/* What LEASE shows of a leased job. Only these members are filled: id, tenant, queue, payload, key,
 * order, priority, due_ms, attempt, token, lease_ms, until_ms, recurrence and labels. nominal_ms is
 * filled if there is a recurrence. */
void engine_view_lease(const struct engine *e, const struct job *j, struct job_view *ret);

#endif
