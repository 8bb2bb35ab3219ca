/* SPDX-License-Identifier: MIT */
/* What goes to disk and comes back, and what the engine knows of it. */
#ifndef ENGINE_COLD_ROOM_H
#define ENGINE_COLD_ROOM_H

#include <limits.h>

#include "engine/engine_data.h"
#include "record/image.h"

/* ---- spill.c: what leaves memory ---- */

/* Takes a queue's dead jobs out of a batch that is not fed yet. */
void batch_release_dead(struct engine *e, const struct queue *q);
/* So much is aside in memory that a batch is due, or under way. */
bool memory_is_pressed(const struct engine *e);
/* Half of the budget: on a full disk they cannot go there. */
bool graves_fill_memory(const struct engine *e);
/* The first of it on disk is not before this. */
void class_from(struct engine *e, struct class *c, struct cold_point from);
/* The clock was set back: what is not due any more leaves the tails, or it would keep others back.
 */
void tails_rewind(struct engine *e);
bool tail_comes_first(const struct class *c); /* nothing on disk is before its first one */

/* ---- load.c: the frontier, up to which jobs have been loaded ---- */

void frontier_set(struct engine *e, struct cold_point p);
/* Goes on, if no job on disk is passed by that. */
void frontier_follow(struct engine *e);
/* When jobs on disk should be looked at next. */
int64_t frontier_wake(const struct engine *e);

/* ---- manifest.c: what is on disk, and what of it counts ---- */

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
/* The counts or floors of a queue change. */
void tally_touch(const struct engine *e, struct queue *q);
void tally_add(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n);
/* An item's job was taken out of its run: a merge under way must not count it as gone, too. */
void run_taken(struct engine *e, const struct cold_item *item);
/* Whether an entry of a run counts. */
bool cold_counts(const struct engine *e, struct str key, uint32_t number);

/* ---- known.c: what was found out about jobs on disk, and holds until more of them go there ----
 */

/* No job on disk has this key. */
void key_absent(struct engine *e, struct str queue, struct str order, struct str key);
/* The same was found out before, of a locator's key. */
bool key_is_absent(const struct engine *e, const struct cold_key *k);

#define PAST_UNKNOWN INT_MIN

/* What is known of a job of the scope that has ended: its state, NOTFOUND, or PAST_UNKNOWN. */
int past_state(const struct engine *e, struct job_id id);
/* It ended so, or there is none (NOTFOUND), until that moment. */
void past_note(struct engine *e, struct job_id id, int state, int64_t gone_ms);
/* What was found out about this job's end no longer holds. */
void past_forget(struct engine *e, uint64_t seq);

/* ---- walk.c: walks over jobs in memory and on disk ---- */

/* A number for a walk that begins: what has been loaded before has another one. */
uint32_t walk_begin(struct engine *e);
/* A job goes to a family: a walk that has been there, and has not met it in memory, misses it. */
void walk_misses(struct engine *e, const struct job *j, char family);
/* Whether that happened since the walk of this number began. */
bool walk_missed(const struct engine *e, uint32_t walk);

/* Numbers of walks go in a circle; 0 was before all. */
static inline bool walk_is_since(uint32_t mark, uint32_t walk)
{
    return mark && (walk == 0 || (mark - walk + WALKS) % WALKS <= WALKS / 2);
}

#endif
