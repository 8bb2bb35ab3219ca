/* SPDX-License-Identifier: MIT */
/*
 * What the engine is made of. For files of src/engine only.
 *
 *     jobs (by sequence) ---> struct job ---> struct trail (once it has been leased)
 *                               |  \
 *     keys (queue, key) --------+   +--> struct queue: ready lists, waiters, ended jobs
 *
 * A job's timer stands in exactly one place, by its state:
 *     scheduled   in `moments`, at at_ms
 *     ready       in a ready list of its queue
 *     leased      nowhere: the trail's timer stands in `leases`
 *     ended       in `moments`, at the moment when it is forgotten or its key is given free
 */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <assert.h>

#include "base/pool.h"
#include "base/table.h"
#include "engine/engine.h"
#include "engine/mutant.h"
#include "engine/record.h"
#include "engine/wheel.h"

#define PRIORITIES    5
#define AGE_STEP_MS   INT64_C(30000)
#define FIRE_SLICE    20000 /* timers fired by one engine_advance */
#define STANDSTILL_MS 1000  /* a wall clock set back by less than this is waited for */
#define STRICT_MS     60000
#define TOKEN_COUNTER 40 /* bits of a token below the epoch */
#define IDLE_QUEUES   1000

/* Bytes owned by the engine's pool; NULL stands for none. */
struct blob {
    uint32_t len;
    char bytes[];
};

/* Arranged so that a job of 100 bytes takes 192: there may be millions. `tail` holds the options
 * and then the payload; options are zigzag(created - born), then tagged ones (enum job_opt). */
struct job {
    struct timer timer;
    struct table_node by_seq;
    uint64_t seq;
    struct queue *queue;
    struct trail *trail;
    int64_t due_ms;
    uint64_t born_ms : 48;
    uint64_t state : 8;
    uint64_t priority : 8;
    uint32_t payload_len;
    uint32_t segment; /* where its last RECORD_PUT stands */
    uint32_t attempt;
    uint16_t opts_len;
    uint8_t stalls;
    char tail[];
};

enum job_opt { OPT_KEY = 1, OPT_ATTEMPTS = 2, OPT_BACKOFF = 3, OPT_LEASE = 4, OPT_RETAIN = 5 };

struct job_opts {
    int64_t created_ms;
    struct str key;
    int64_t attempts; /* -1: not given; likewise below */
    struct str backoff;
    int64_t lease_ms;
    int64_t retain_ms;
};

struct trail {
    struct timer timer; /* leased: end of the lease on the monotonic clock */
    struct list link;   /* leased: in engine.leased; ended: in queue.past, .held or .dead */
    struct job *job;
    uint64_t token;
    int64_t start_ms;
    int64_t until_ms;
    int64_t lease_ms;
    int64_t late_ms;
    int64_t ended_ms;
    int64_t keep_ms;
    int64_t hold_ms;
    int64_t pending_due_ms;
    struct blob *worker;
    struct blob *note;
    struct blob *result;
    struct blob *error;
    struct blob *history;
    struct blob *pending;
    uint32_t live_bytes; /* its part of engine.live_bytes */
    uint8_t flags;
    int8_t progress;
};

struct key_entry {
    struct table_node node;
    uint64_t hash;
    struct job *job;
};

struct queue {
    struct table_node by_name;
    struct list link;     /* in engine.queues, or engine.idle when it could be forgotten */
    struct list dispatch; /* in engine.dispatch: has waiters and may have work for them */
    struct list ready[PRIORITIES];
    struct list past; /* done and cancelled, by end */
    struct list held; /* done, and their key is held: kept whatever their number */
    struct list dead;
    struct list waits; /* struct wait_link */
    uint64_t jobs[JOB_STATE_COUNT];
    uint64_t past_bytes;
    size_t waiters;
    uint32_t segment; /* where its settings stand; 0: they are the defaults */
    bool idle;
    struct queue_settings settings;
    struct counters counters;
    struct hist *lateness; /* made with the first lease */
    struct hist *runtime;
    uint16_t name_len;
    char name[];
};

struct wait_link {
    struct list link;
    struct queue *queue;
    struct waiter *waiter;
};

struct waiter {
    struct timer timer; /* in engine.waits, on the monotonic clock */
    void *owner;
    size_t count;
    int64_t for_ms;
    struct blob *worker;
    size_t queue_count;
    struct wait_link links[];
};

struct engine {
    struct engine_options o;
    struct pool pool;
    struct table jobs;
    struct table keys;
    struct table names; /* queues */
    struct list queues;
    struct list idle;
    size_t idle_count;
    struct list dispatch;
    struct list leased;
    struct wheel moments; /* jobs, by wall clock */
    struct wheel leases;  /* trails, by monotonic clock */
    struct wheel waits;   /* waiters, by monotonic clock */
    bool started;
    bool refuse_new;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t strict_until_ms; /* monotonic */
    struct buf *out;
    uint32_t segment;
    uint64_t lsn;
    uint64_t visible_lsn;
    uint64_t offered_lsn;
    uint64_t next_seq;
    uint64_t next_token;
    uint64_t random;
    uint64_t live_bytes;
    uint64_t waiters;
    uint64_t queue_total;
    uint64_t states[JOB_STATE_COUNT];
    struct counters counters;
    struct hist lateness;
    struct hist runtime;
    struct buf scratch;
    char detail[256];
};

/* engine.c */
int engine_error(struct engine *e, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int engine_plain(struct engine *e, int err); /* nothing to add to the error's own text */
uint64_t engine_random(struct engine *e);

/* Both the engine's and the queue's counter. */
#define COUNT(e, q, name) ((e)->counters.name++, (q)->counters.name++)

/* blob.c */
struct blob *blob_new(struct pool *p, struct str s); /* NULL if empty or out of memory */
void blob_free(struct pool *p, struct blob *b);
static inline struct str blob_str(const struct blob *b)
{
    return b ? (struct str){ b->bytes, b->len } : (struct str){ "", 0 };
}
/* Replaces *slot by a copy of s. False, with nothing changed, if out of memory. */
bool blob_set(struct pool *p, struct blob **slot, struct str s);

/* job.c: jobs and their indexes. None of these writes a record. */
void jobs_init(struct engine *e);
struct job *job_find(const struct engine *e, uint64_t seq);
/* The job of an id, which must match in full. */
struct job *job_of(const struct engine *e, struct job_id id);
struct job_id job_id_of(const struct engine *e, const struct job *j);
/* A job that is in no index yet. NULL if out of memory. */
struct job *job_new(struct engine *e, const struct job_image *image, struct queue *q);
/* Enters a job into index, key index, wheel or list, and counts. NOMEM leaves it out of all. */
int job_enter(struct engine *e, struct job *j);
void job_leave(struct engine *e, struct job *j); /* and frees it */
void job_free(struct engine *e, struct job *j);  /* one that was never entered */
/* Moves a job that was entered to another state: j's fields are those of the new state. */
void job_place(struct engine *e, struct job *j, enum job_state state);
void job_unplace(struct engine *e, struct job *j);
/* Forgets the queue's oldest history beyond its share, but not what still holds a key. Not while a
 * job is in two versions: it could be one of them. */
void past_trim(struct engine *e, struct queue *q);
/* Brings a queue's ended jobs into the order of their ends, which copying forward upsets. */
void past_sort(struct queue *q);
void job_opts_get(const struct job *j, struct job_opts *ret);
void job_opts_put(struct buf *out, const struct job_opts *o, int64_t born_ms);
struct str job_payload(const struct job *j);
int64_t job_attempts(const struct job *j);
void job_image_of(const struct job *j, struct job_image *ret);
struct trail *trail_new(struct engine *e, struct job *j);
void trail_free(struct engine *e, struct trail *t);
/* To be called when what a trail holds has changed. */
void trail_recount(struct engine *e, struct trail *t);
/* The first moment at which an ended job changes by time. */
int64_t trail_next_ms(const struct job *j);

/* key.c */
void keys_init(struct engine *e);
struct job *key_find(const struct engine *e, const struct queue *q, struct str key);
int key_take(struct engine *e, struct job *j); /* from whoever has it. NOMEM. */
void key_release(struct engine *e, struct job *j);

/* queue.c */
void queues_init(struct engine *e);
struct queue *queue_find(const struct engine *e, struct str name);
struct queue *queue_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when a queue may have become, or is no longer, without use. */
void queue_settle(struct engine *e, struct queue *q);
bool queue_has_work(const struct queue *q);
/* The ready job of lowest rank, or NULL; ret_rank is set if there is one. */
struct job *queue_head(const struct queue *q, int64_t *ret_rank);
/* Asks for engine_dispatch to look at it, if somebody waits. */
void queue_offer(struct engine *e, struct queue *q);
void queues_free(struct engine *e);

/* apply.c: the only code that changes jobs and settings, in live running as in replay. */
int apply_begin(struct engine *e, const struct begin_record *r);
int apply_put(struct engine *e, const struct job_image *r);
int apply_lease(struct engine *e, const struct lease_record *r);
int apply_extend(struct engine *e, const struct extend_record *r);
int apply_back(struct engine *e, const struct back_record *r);
int apply_end(struct engine *e, const struct end_record *r);
int apply_move(struct engine *e, const struct move_record *r);
int apply_mark(struct engine *e, const struct mark_record *r);
int apply_queue(struct engine *e, const struct queue_record *r);

/* emit.c: writes a record, then applies it; if that fails the record is taken back. */
int emit_put(struct engine *e, const struct job_image *r);
int emit_lease(struct engine *e, const struct lease_record *r);
int emit_extend(struct engine *e, const struct extend_record *r);
int emit_back(struct engine *e, const struct back_record *r);
int emit_end(struct engine *e, const struct end_record *r);
int emit_move(struct engine *e, const struct move_record *r);
int emit_mark(struct engine *e, const struct mark_record *r);
int emit_queue(struct engine *e, const struct queue_record *r);

/* history.c: the attempts of a job with the one that just ended, in out. */
void history_append(struct buf *out, const struct job *j, int64_t end_ms, unsigned outcome,
                    struct str error);

/* finish.c: the ways an attempt can end. `pause_ms` -1: by back-off. */
int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final);
int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result);

/* lease.c */
void waiter_timeout(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

#endif
