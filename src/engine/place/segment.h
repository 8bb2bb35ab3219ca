/* SPDX-License-Identifier: MIT */
/* How many images of jobs stand in each segment of the journal. */
#ifndef ENGINE_SEGMENT_H
#define ENGINE_SEGMENT_H

#include "engine/engine_data.h"

/* An image's job was put into, or is no longer in, the journal's segment. */
void segment_add(struct engine *e, uint32_t segment);
void segment_sub(struct engine *e, uint32_t segment);

#endif
