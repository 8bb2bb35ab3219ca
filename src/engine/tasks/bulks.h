/* SPDX-License-Identifier: MIT */
/* Bulks at work. */
#ifndef ENGINE_BULKS_H
#define ENGINE_BULKS_H

#include "engine/engine_data.h"

bool bulk_waits(const struct engine *e);   /* a slice can be done */
int64_t bulk_wake(const struct engine *e); /* when one can be, by monotonic clock */
int bulk_step(struct engine *e);
void bulk_skip(struct engine *e);
void bulks_free(struct engine *e);
/* Jobs by due time have come to memory: their images, each with its length. */
void bulks_loaded(struct engine *e, struct str images);
struct bulk; /* see bulk.h */
/* It is over: an enum bulk_state. */
void bulk_finish(const struct engine *e, struct bulk *b, unsigned state);
/* What stands in its job from now on, which is another afterwards; in the commit that is open. What
 * was written since `lsn` belongs to it. */
int bulk_record(struct engine *e, const struct job *j, const struct bulk *b, uint64_t lsn);
/* The one of this number is no more. */
void bulk_forget(struct engine *e, uint64_t seq);

#endif
