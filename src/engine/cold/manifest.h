/* SPDX-License-Identifier: MIT */
/* What is on disk, and what of it counts. */
#ifndef ENGINE_MANIFEST_H
#define ENGINE_MANIFEST_H

#include "engine/engine_data.h"
#include "record/image.h"

void manifest_init(struct engine *e);
void manifest_free(struct engine *e);
/* NOMEM. Of a run that is there already the description is replaced. */
int manifest_add(struct engine *e, const struct run_desc *d);
void manifest_drop(struct engine *e, uint32_t file);
struct cold_run *manifest_find(const struct engine *e, uint32_t file); /* or NULL */
struct grave *grave_find(const struct engine *e, struct str key);
int grave_add(struct engine *e, struct str key, uint64_t serial, int64_t gone_ms); /* NOMEM */
/* Until when an ended job is kept; 0 for others. */
int64_t image_gone_ms(const struct job_image *image);
void grave_remove(struct engine *e, struct grave *g);
/* NOMEM, with nothing changed. */
int floor_raise(struct class *c, uint32_t number, struct cold_point upto);
struct cold_point floor_of(const struct class *c, uint32_t number);
void tally_add(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n);
/* An item's job was taken out of its run: a merge under way must not count it as gone, too. */
void run_taken(struct engine *e, const struct cold_item *item);
/* Whether an entry of a run counts. */
bool cold_counts(const struct engine *e, struct str key, uint32_t number);

#endif
