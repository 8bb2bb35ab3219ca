/* SPDX-License-Identifier: MIT */
/* Quiet hours. */
#ifndef ENGINE_GATE_H
#define ENGINE_GATE_H

#include "engine/engine_data.h"

/* -1: it is not quiet; for a job: or it may be given all the same. */
int64_t tenant_quiet_until(const struct engine *e, struct tenant *t);
int64_t job_quiet_until(const struct engine *e, const struct job *j);
/* Has it wait until then, and for a part of the spread. */
int job_defer(struct engine *e, struct job *j, int64_t until_ms);

#endif
