/* SPDX-License-Identifier: MIT */
/* The text about an error, and the size of a slice of work. */
#ifndef ENGINE_DETAIL_H
#define ENGINE_DETAIL_H

#include "engine/engine_data.h"

int engine_error(struct engine *e, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int engine_plain(struct engine *e, int err); /* nothing to add to the error's own text */

/* NOMEM if a write to e->scratch failed; the call clears that mark. Else 0. */
int engine_scratch(struct engine *e);

/* How many jobs a slice has: fewer where a test asks for it, so that a few jobs make several
 * slices. */
static inline int engine_slice(const struct engine *e, int usual)
{
    return e->o.slice_jobs > 0 && e->o.slice_jobs < usual ? e->o.slice_jobs : usual;
}

#endif
