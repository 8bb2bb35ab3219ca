/* SPDX-License-Identifier: MIT */
/* The ways an attempt can end. */
#ifndef ENGINE_FINISH_H
#define ENGINE_FINISH_H

#include "engine/engine_data.h"

/* `pause_ms` -1: by back-off. */
int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final);
int job_expire(struct engine *e, struct job *j);
int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result);

#endif
