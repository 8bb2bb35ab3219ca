/* SPDX-License-Identifier: MIT */
/* What is said about an error; and how much is done at one time. */
#ifndef ENGINE_DETAIL_H
#define ENGINE_DETAIL_H

#include "engine/engine_data.h"

int engine_error(struct engine *e, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int engine_plain(struct engine *e, int err); /* nothing to add to the error's own text */

/* NOMEM if e->scratch could not be written, which is forgotten by that; else 0. */
int engine_scratch(struct engine *e);

/* How much of something is done at one time: less where a test asks for it, so that a few jobs make
 * several slices. */
static inline int engine_slice(const struct engine *e, int usual)
{
    return e->o.slice_jobs > 0 && e->o.slice_jobs < usual ? e->o.slice_jobs : usual;
}

#endif
