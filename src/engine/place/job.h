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

/* None of these functions writes a record. */
void jobs_init(struct engine *e);
struct job *job_find(const struct engine *e, uint64_t seq);
/* Fetches the jobs of these numbers to the cache, for callers that will look for all of them. */
void jobs_near(const struct engine *e, const uint64_t *seqs, size_t n);
/* The job of an id, which must match in full. */
struct job *job_of(const struct engine *e, struct job_id id);

/* Whether the memory of a job is waste. The batch that has the job was fed, so the job counts on
 * disk. */
static inline bool job_is_waste(const struct engine *e, const struct job *j)
{
    return j->fed && e->place.batch.fed;
}
/* The bytes in front of the job, in its memory. */
static inline size_t job_front(const struct job *j)
{
    return (j->ordered ? sizeof(struct spot) : 0) + (j->heard ? sizeof(struct ear) : 0);
}
static inline void *job_memory(const struct job *j)
{
    return (void *)((uintptr_t)j - job_front(j));
}
/* The ear of a job that has one. */
static inline struct ear *ear_of(const struct job *j)
{
    return job_memory(j);
}
static inline size_t job_listeners(const struct job *j)
{
    return j->heard ? ear_of(j)->listeners : 0;
}
size_t job_size(const struct job *j);
size_t job_weight(const struct job *j); /* its part of the budget */
/* The part of the job in its tenant's kept_bytes: the image_bytes of its image. */
uint64_t job_bytes(const struct job *j);
struct job_id job_id_of(const struct engine *e, const struct job *j);
/* Makes a job that is in no index yet. NULL: there is no memory. */
struct job *job_new(struct engine *e, const struct job_image *image, struct queue *q);
/* Enters a job into its indexes and its place, and counts it. NOMEM: it is in none of them. `hot`:
 * the job is hot even if its class is closed. */
int job_enter(struct engine *e, struct job *j, bool hot);
void job_leave(struct engine *e, struct job *j); /* frees it, too */
void job_free(struct engine *e, struct job *j);  /* a job that was never entered */
/* Places a job that was taken out of its place: its fields are those of the new state. */
void job_place(struct engine *e, struct job *j, enum job_state state);
/* Places a job as hot, though its class may be closed. */
void job_place_hot(struct engine *e, struct job *j, enum job_state state);
void job_unplace(struct engine *e, struct job *j);
/* Finds a job that is not leased another place, by the clock and the room of now. */
void job_place_again(struct engine *e, struct job *j);
/* Both functions find other places for jobs. The first is for the jobs of a wheel up to a moment.
 * The second is for the jobs of a list that are not due now. */
void jobs_place_upto(struct engine *e, struct wheel *w, int64_t upto_ms, int *budget);
void jobs_rewind(struct engine *e, struct list *head);
/* Places jobs that are in no place, but in this list by their timers. */
void jobs_place_all(struct engine *e, struct list *head);
/* A job at this point would overtake the tail of the class. */
bool tail_is_before(const struct class *c, struct cold_point at);
/* While history cannot go to disk, forgets the oldest ended jobs of queues that have too much of it
 * in memory. No job whose key is held is forgotten. */
void past_trim(struct engine *e, int *budget);
/* An ended job of a batch that could not be written is first again among those of its queue. */
void past_give_back(struct engine *e, struct job *j);
struct str job_payload(const struct job *j);
void job_image_of(const struct job *j, struct job_image *ret);
struct trail *trail_new(struct engine *e, struct job *j);
struct trail *trail_of_image(struct engine *e, struct job *j, const struct trail_image *i);
struct trail_image trail_image_of(const struct trail *t);
uint32_t trail_weight(const struct trail *t); /* its part of job_weight */
void trail_free(struct engine *e, struct trail *t);
/* The texts of a trail have changed: counts the bytes that are kept of its job. */
void trail_recount(struct engine *e, struct trail *t);
/* The texts of a leased job's trail have changed: counts the memory of leased jobs. */
void trail_reweigh(struct engine *e, struct trail *t);

/* Gives a job one more listener, an option at this offset of its options. The job keeps its place,
 * but its memory may move, so `j` is not valid afterwards. NOMEM. */
int job_regrow(struct engine *e, struct job *j, size_t at, struct str listener);

/* ---- jobopts.c: facts that follow from a job's options, and from the time ---- */

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

/* The moment at which the job expires if it is not started; -1: never, or it was leased before. */
int64_t job_expires_ms(const struct job *j);
/* The job waits for other jobs. */
static inline bool job_is_waiting(const struct job *j)
{
    return j->state == JOB_SCHEDULED && j->timer.at_ms == AT_NEVER;
}
/* The moment by which the job must be in memory. A waiting job may expire. */
int64_t job_cold_ms(const struct job *j);
/* The job was not started in time, though no record says so yet. */
bool job_is_over(const struct engine *e, const struct job *j);
/* The state as which the job is counted. */
static inline enum job_state job_counts_as(const struct job *j)
{
    return job_is_waiting(j) ? JOB_WAITING : (enum job_state)j->state;
}
int64_t job_attempts(const struct job *j);
/* The state of the job as users see it. */
enum job_state job_state_now(const struct engine *e, const struct job *j);

/* ---- key.c: which job of a queue has a key ---- */

void keys_init(struct engine *e);
/* A key belongs to its queue, and to its ordering key if it has one. */
struct job *key_find(const struct engine *e, const struct queue *q, struct str order,
                     struct str key);
int key_take(struct engine *e, struct job *j); /* from the job that has it. NOMEM */
void key_release(struct engine *e, struct job *j);
/* The job that has the key was copied to another address. */
void key_follow(struct engine *e, const struct job *from, struct job *to);

/* ---- blob.c: texts in the memory of the engine's pool ---- */

struct blob *blob_new(struct pool *p,
                      struct str s); /* NULL: the text is empty, or there is no memory */
void blob_free(struct pool *p, struct blob *b);
static inline struct str blob_str(const struct blob *b)
{
    return b ? (struct str){ b->bytes, b->len } : (struct str){ "", 0 };
}
/* Replaces *slot by a copy of s. False, with *slot unchanged: there is no memory. */
bool blob_set(struct pool *p, struct blob **slot, struct str s);

/* ---- batch.c: which jobs are in the batch that goes to disk ---- */

void batch_init(struct batch *b);
/* A job of the batch changes: its entry in the run will not count. */
void batch_stale(struct engine *e, struct job *j);
/* Whether the batch that is being gathered must not write the job (again). Either the batch has an
 * older image of it, and FED names each job once. Or the job came from disk after the batch began,
 * and its grave, which is not in the batch, would hide the new entry. Such a job waits in
 * WHEEL_LEFT. */
bool batch_is_left(const struct engine *e, const struct job *j);
bool batch_takes_tails(const struct engine *e);
/* The batch has jobs of the class that are before all those on disk. */
bool batch_has_first(const struct engine *e, const struct class *c);
/* The family and key under which the job goes to a run. */
void job_cold_key(const struct job *j, struct cold_key *ret);

/* ---- segment.c: how many images of jobs stand in each segment ---- */

/* A job's image stands in this segment from now on, or no longer. */
void segment_add(struct engine *e, uint32_t segment);
void segment_sub(struct engine *e, uint32_t segment);

#endif
