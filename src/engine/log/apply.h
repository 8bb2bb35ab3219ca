/* SPDX-License-Identifier: MIT */
/* The only code that changes jobs and settings, in live running as in replay. */
#ifndef ENGINE_APPLY_H
#define ENGINE_APPLY_H

#include "engine/engine_data.h"
#include "record/record_cold.h"

#define APPLY(NAME, number, codec, kind, type, what) \
    int apply_##kind(struct engine *e, const type *r);
RECORDS(APPLY)
#undef APPLY

#endif
