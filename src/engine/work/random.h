/* SPDX-License-Identifier: MIT */

#ifndef ENGINE_RANDOM_H
#define ENGINE_RANDOM_H

#include "engine/engine_data.h"

uint64_t engine_random(struct engine *e);

#endif
