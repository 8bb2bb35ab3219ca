/* SPDX-License-Identifier: MIT */
/* What users see. */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

#include "engine/engine_data.h"

bool job_passes(const struct engine *e, const struct list_filter *f, const struct job *j);

#endif
