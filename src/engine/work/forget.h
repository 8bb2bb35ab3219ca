/* SPDX-License-Identifier: MIT */
/* An ended job is forgotten before its time. */
#ifndef ENGINE_FORGET_H
#define ENGINE_FORGET_H

#include "engine/engine_data.h"

int emit_forget(struct engine *e, const struct job *j);

#endif
