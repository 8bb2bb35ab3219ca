/* SPDX-License-Identifier: MIT */
/* What the engine does of itself. */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include "engine/engine_data.h"

/* The clock was set back, and what was due is not any more. */
void tasks_rewind(struct engine *e);

#endif
