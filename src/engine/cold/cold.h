/* SPDX-License-Identifier: MIT */
/* Jobs that go to disk and come back, and facts that the engine knows of jobs on disk. */
#ifndef ENGINE_COLD_ROOM_H
#define ENGINE_COLD_ROOM_H

#include "engine/engine_data.h"
#include "record/image.h"

/* ---- gather.c: the jobs that go to disk ---- */

/* Takes the oldest dead jobs of a queue, so many at most, out of a batch that is not fed yet. */
void batch_release_dead(struct engine *e, struct queue *q, size_t limit);
/* Frees waste. True: there is more. */
bool batch_bury(struct engine *e, int *budget);

/* ---- spill.c: when jobs go to disk ---- */

/* Jobs aside in memory take so much that a batch is due, or under way. */
bool memory_is_pressed(const struct engine *e);
/* Graves take half of the budget. On a full disk they cannot go there. */
bool graves_fill_memory(const struct engine *e);
/* The jobs of the class on disk are not before this point. */
void class_from(struct engine *e, struct class *c, struct cold_point from);
/* The clock was set back: jobs that are not due any more leave the tails, where they would hold up
 * other jobs. */
void tails_rewind(struct engine *e);
bool tail_comes_first(const struct class *c); /* no job on disk is before the first of its tail */

/* ---- load.c: from disk to memory; the frontier ---- */

void frontier_set(struct engine *e, struct cold_point p);
/* Moves the frontier on, if it passes no job on disk. */
void frontier_follow(struct engine *e);
/* When the frontier should be looked at next. */
int64_t frontier_wake(const struct engine *e);
/* The queue has no due job in memory that it could give, but some will come from disk. */
bool queue_owes(const struct engine *e, const struct queue *q);

/* ---- manifest.c: which runs there are, and which of their entries count ---- */

void manifest_init(struct engine *e);
void manifest_free(struct engine *e);
/* Adds a run, or replaces its description. NOMEM. */
int manifest_add(struct engine *e, const struct run_desc *d);
void manifest_drop(struct engine *e, uint32_t file);
struct cold_run *manifest_find(const struct engine *e, uint32_t file); /* or NULL */
struct grave *grave_find(const struct engine *e, struct str key);
int grave_add(struct engine *e, struct str key, uint64_t serial, int64_t gone_ms); /* NOMEM */
/* Until when an ended job is kept; 0: the job has not ended. */
int64_t image_gone_ms(const struct job_image *image);
void grave_remove(struct engine *e, struct grave *g);
/* NOMEM, with nothing changed. */
int floor_raise(struct class *c, uint32_t number, struct cold_point upto);
/* The counts or floors of a queue change. */
void tally_touch(struct engine *e, struct queue *q);
/* Adds `n` jobs with `bytes` to the counts of jobs on disk; both may be negative. */
void tally_add(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n, int64_t bytes);
/* The job of an item was taken out of its run: a merge under way must not count it as gone, too. */
void run_taken(struct engine *e, const struct cold_item *item);
/* Whether an entry of a run counts. */
bool cold_counts(const struct engine *e, struct str key, uint32_t number);

/* ---- walk.c: walks over jobs in memory and on disk ---- */

/* The families that have jobs, in the order of walks. Most jobs go through them in this order. */
extern const char walk_families[WALK_FAMILIES];

/* Begins a walk, and returns its number. Jobs that came from disk before have another number in
 * `loaded`, so the walk can tell them from jobs that come later. */
uint32_t walk_begin(struct engine *e);
/* The number of the newest run: entries of later runs were fed later. */
uint32_t walk_newest(const struct engine *e);
/* A job came to memory from this family. */
void walk_loads(struct engine *e, struct job *j, char family);
/* A job goes to a family. A walk that was there, and has not met the job in memory, misses it. */
void walk_misses(struct engine *e, const struct job *j, char family);
/* The first family where a walk may have missed jobs since the walk of this number began; or 0. */
char walk_missed(const struct engine *e, uint32_t walk);

/* ---- census.c: jobs are counted by their moments ---- */

struct census_ask;
/* Makes a round of the census that the request goes on with, or of a new one. 0: the census is
 * done, and the caller frees it. COLD, BUSY, NOMEM. */
int census_resume(struct engine *e, const struct census_ask *ask, struct census **ret);
/* The memory of a job that was fed is freed. */
void censuses_leave(struct engine *e, const struct job *j);
void censuses_free(struct engine *e);
uint64_t censuses_bytes(const struct engine *e);

/* ---- sorted.c: the jobs that pages in order of time have met ---- */

/* Whether a job at this point would be in the page. */
bool sorted_wants(const struct sorted *s, struct cold_point p);
/* A job of the page that passes its filter. If there is no memory for it, the page has failed. */
void sorted_add(const struct engine *e, struct sorted *s, const struct job *j, size_t payload_len);
/* A job in memory, which may be of the page. */
void sorted_meet(const struct engine *e, struct sorted *s, const struct job *j);
struct cold_point sorted_last(const struct sorted *s); /* of its jobs, of which there are some */
/* Nothing behind this point is in the page. */
void sorted_bound(struct sorted *s, struct cold_point p);

/* The memory of a job that was fed is freed. */
void sorts_leave(struct engine *e, const struct job *j);
void sorts_free(struct engine *e);
uint64_t sorts_bytes(const struct engine *e);

/* Numbers of walks go in a circle; 0 is before all. */
static inline bool walk_is_since(uint32_t mark, uint32_t walk)
{
    return mark && (walk == 0 || (mark - walk + WALKS) % WALKS <= WALKS / 2);
}

#endif
