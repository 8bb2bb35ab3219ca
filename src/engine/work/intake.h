/* SPDX-License-Identifier: MIT */
/* Requests about jobs that are not running. */
#ifndef ENGINE_INTAKE_H
#define ENGINE_INTAKE_H

#include "engine/engine_data.h"

/* What can be said of a spec without looking at anything else. */
int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
/* The options that a job of this spec has, but for those about AFTER. */
void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born);
/* LIMIT if the tenant has as many pending jobs as it may. */
int tenant_refuses(struct engine *e, const struct queue *q, struct str full);

#endif
