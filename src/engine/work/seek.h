/* SPDX-License-Identifier: MIT */
/* Jobs and keys wherever they are, in memory or on disk. */
#ifndef ENGINE_SEEK_H
#define ENGINE_SEEK_H

#include "engine/engine_data.h"

/* The job of an id, wherever it is. One on disk comes to memory if it is to be changed (`take`);
 * else it is shown as it is, until the next call. NULL with NOTFOUND, COLD or NOMEM in *ret_err. */
struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err);
/* Brings an item's job to memory. NOMEM. */
int item_take(struct engine *e, const struct cold_item *item);
/* The job that has a key, wherever it is; see job_seek. One that is only shown may be over
 * (job_is_over). */
struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err);

#endif
