/* SPDX-License-Identifier: MIT */
/* Whether a job is among those that LIST or BULK asks for. */
#ifndef ENGINE_FILTER_H
#define ENGINE_FILTER_H

#include "engine/engine_data.h"

/* The states of a filter as bits. */
unsigned filter_states(const struct list_filter *f);
bool job_passes(const struct engine *e, const struct list_filter *f, const struct job *j);

#endif
