/* SPDX-License-Identifier: MIT */
/* Jobs and their indexes. */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include "engine/engine_data.h"
#include "record/image.h"

/* None of these writes a record. */
void jobs_init(struct engine *e);
struct job *job_find(const struct engine *e, uint64_t seq);
/* So that looking for them, and for what is there at them, finds them in the cache. */
void jobs_near(const struct engine *e, const uint64_t *seqs, size_t n);
/* The job of an id, which must match in full. */
struct job *job_of(const struct engine *e, struct job_id id);

/* In the batch that was fed: it is on disk, and what is in memory does not count. */
static inline bool job_is_waste(const struct engine *e, const struct job *j)
{
    return j->fed && e->place.batch.fed;
}
size_t job_size(const struct job *j);
size_t job_weight(const struct job *j); /* what it takes of its part of the budget */
struct job_id job_id_of(const struct engine *e, const struct job *j);
/* A job that is in no index yet. NULL if out of memory. */
struct job *job_new(struct engine *e, const struct job_image *image, struct queue *q);
/* Enters a job into index, key index, wheel or list, and counts. NOMEM leaves it out of all. `hot`:
 * even if its class is closed. */
int job_enter(struct engine *e, struct job *j, bool hot);
void job_leave(struct engine *e, struct job *j); /* and frees it */
void job_free(struct engine *e, struct job *j);  /* one that was never entered */
/* Moves a job that was entered to another state: j's fields are those of the new state. */
void job_place(struct engine *e, struct job *j, enum job_state state);
/* The same for one that is to be hot though its class is closed. */
void job_place_hot(struct engine *e, struct job *j, enum job_state state);
void job_unplace(struct engine *e, struct job *j);
/* Finds a job that is not leased another place, by what holds now. */
void job_place_again(struct engine *e, struct job *j);
/* Does so with the jobs of a wheel up to a moment, or with those of a list that are not due now. */
void jobs_place_upto(struct engine *e, struct wheel *w, int64_t upto_ms, int *budget);
void jobs_rewind(struct engine *e, struct list *head);
/* Whether a job of this place in the order would overtake the class's tail. */
bool tail_is_before(const struct class *c, struct cold_point at);
/* While history cannot go to disk: forgets the oldest of queues that have more in memory than they
 * may, but no job that still holds a key. */
void past_trim(struct engine *e, int *budget);
struct str job_payload(const struct job *j);
void job_image_of(const struct job *j, struct job_image *ret);
struct trail *trail_new(struct engine *e, struct job *j);
void trail_free(struct engine *e, struct trail *t);
/* To be called when what a trail holds has changed. */
void trail_recount(struct engine *e, struct trail *t);
/* The first moment at which an ended job changes by time. */
int64_t trail_next_ms(const struct job *j);

/* A job gets longer options, in its place. j is gone afterwards. NOMEM. */
int job_regrow(struct engine *e, struct job *j, struct str opts);

#endif
