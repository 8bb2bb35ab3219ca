/* SPDX-License-Identifier: MIT */
/* Jobs, their options and keys, and their indexes. */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include "base/pool.h"
#include "base/str.h"
#include "engine/engine_data.h"
#include "engine/place/job_data.h"
#include "record/image.h"
#include "record/opts.h"

/* ---- job.c: jobs and their indexes ---- */

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

/* ---- jobopts.c: what follows from a job's options, and from the time ---- */

void job_opts_get(const struct job *j, struct job_opts *ret);

/* The options of a job, one after another: see job_opt_next. */
static inline struct wire_reader job_opts_reader(const struct job *j)
{
    struct wire_reader r = wire_reader_of((struct str){ j->tail, j->opts_len });

    wire_zigzag(&r); /* when the job was made */
    return r;
}

static inline bool job_is_bare(const struct job *j)
{
    return opts_are_bare((struct str){ j->tail, j->opts_len });
}

/* When it expires if it is not started by then; -1: never, or it was leased before. */
int64_t job_expires_ms(const struct job *j);
/* It waits for other jobs. */
static inline bool job_is_waiting(const struct job *j)
{
    return j->state == JOB_SCHEDULED && j->timer.at_ms == AT_NEVER;
}
/* The moment by which it must be in memory: a waiting one may expire. */
int64_t job_cold_ms(const struct job *j);
/* It was not started in time, though nothing has been written about that. */
bool job_is_over(const struct engine *e, const struct job *j);
/* What it is counted as. */
static inline enum job_state job_counts_as(const struct job *j)
{
    return job_is_waiting(j) ? JOB_WAITING : (enum job_state)j->state;
}
int64_t job_attempts(const struct job *j);
/* Its state as users see it. */
enum job_state job_state_now(const struct engine *e, const struct job *j);

/* ---- key.c: keys: which job of a queue has one ---- */

void keys_init(struct engine *e);
/* A key is of its queue, and of its ordering key if there is one (len > 0). */
struct job *key_find(const struct engine *e, const struct queue *q, struct str order,
                     struct str key);
int key_take(struct engine *e, struct job *j); /* from whoever has it. NOMEM. */
void key_release(struct engine *e, struct job *j);
/* The job that has the key is at another place. */
void key_follow(struct engine *e, const struct job *from, struct job *to);

/* ---- blob.c: texts in the memory of the engine's pool ---- */

struct blob *blob_new(struct pool *p, struct str s); /* NULL if empty or out of memory */
void blob_free(struct pool *p, struct blob *b);
static inline struct str blob_str(const struct blob *b)
{
    return b ? (struct str){ b->bytes, b->len } : (struct str){ "", 0 };
}
/* Replaces *slot by a copy of s. False, with nothing changed, if out of memory. */
bool blob_set(struct pool *p, struct blob **slot, struct str s);

/* ---- batch.c: which jobs are in the batch that goes to disk ---- */

void batch_init(struct batch *b);
/* A job of the batch changes: what is written of it will not count. */
void batch_stale(struct engine *e, struct job *j);
/* The batch that is being gathered must not write the job (again). Either the batch has an older
 * image of it, and FED names each job once; or it came from disk after the batch began, and its
 * grave, which the batch does not hold, would hide the new entry. Such a job waits in `left`, where
 * the batch does not look. */
bool batch_is_left(const struct engine *e, const struct job *j);
bool batch_takes_tails(const struct engine *e);
/* Which run it belongs into, and where there. */
void job_cold_key(const struct job *j, struct cold_key *ret);

/* ---- segment.c: how many images of jobs stand in each segment of the journal ---- */

/* An image's job was put into, or is no longer in, the journal's segment. */
void segment_add(struct engine *e, uint32_t segment);
void segment_sub(struct engine *e, uint32_t segment);

#endif
