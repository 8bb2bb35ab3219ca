/* SPDX-License-Identifier: MIT */
/* What may be pushed, and where to. */
#ifndef ENGINE_PUSH_CHECK_H
#define ENGINE_PUSH_CHECK_H

#include "engine/engine_data.h"

int push_settings_check(struct engine *e, const struct push_settings *s);
/* Whether a job may, or must, have a URL of its own there. INVALID. */
int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);

#endif
