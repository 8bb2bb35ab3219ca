/* SPDX-License-Identifier: MIT */
/*
 * What the engine is made of. For files of src/engine only.
 *
 *     jobs (by sequence) ---> struct job ---> struct trail (once it has been leased)
 *                               |  \
 *     keys (queue, key) --------+   +--> struct queue: ready lists, waiters, ended jobs
 *
 * A job's timer stands in exactly one place, by its state and `where`:
 *     scheduled   HOT: in `moments`, at at_ms; TAIL: in `spare`; LATER: in `later`
 *     ready       HOT: in a ready list of its class; TAIL: in the tail of its class
 *     leased      nowhere: the trail's timer stands in `leases`
 *     ended       in `moments`, at the moment when it is forgotten or its key is given free; not
 *                 while others are to be told of it
 * but what is being fed to a run is in a list of the batch, and counts as it will there: as ready
 * though its moment may be up to the lookahead away.
 */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <assert.h>

#include "base/pool.h"
#include "base/table.h"
#include "base/time.h"
#include "engine/cold.h"
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
#define ATTEMPT_MAX   ((1u << 20) - 1)
#define WALKS         4095u

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
    uint64_t state : 4;
    uint64_t priority : 4;
    uint64_t where : 4; /* enum where */
    uint64_t fed : 1;   /* is in the batch that is being written, as it is now */
    uint64_t near : 1;  /* came from the backlog */
    uint32_t payload_len;
    uint32_t segment;      /* where its last RECORD_PUT stands */
    uint32_t attempt : 20; /* stops there */
    uint32_t
        loaded : 12; /* came from a run, during this walk (engine.walk) at the latest; 0: never */
    uint16_t opts_len;
    uint8_t stalls;
    char tail[];
};

/* Which part of the memory's budget a job takes. */
enum where {
    WHERE_NONE,
    WHERE_HOT,
    WHERE_LATER,
    WHERE_TAIL,
    WHERE_LEASED,
    WHERE_PAST,
    WHERE_TASK,
    WHERES
};

enum job_opt {
    OPT_KEY = 1,
    OPT_ATTEMPTS = 2,
    OPT_BACKOFF = 3,
    OPT_LEASE = 4,
    OPT_RETAIN = 5,
    OPT_EXPIRE = 6,
    OPT_TAG = 7,        /* there may be several of it, */
    OPT_META = 8,       /* and of it */
    OPT_AFTER = 12,     /* a job that it waits for; several */
    OPT_AFTERFAIL = 13, /* enum after_fail */
    OPT_LISTENER = 14,  /* a job that is told when it has ended; several */
    OPT_NOMINAL = 15,   /* it is an occurrence: of when, and of which recurrence */
};

/* The moment of a job that waits for something else than time. */
#define AT_NEVER (TIME_MOMENT_MAX + 1)

/* One of them, as it stands in a job's tail. */
struct opt {
    enum job_opt type;
    struct str bytes; /* KEY, BACKOFF, TAG, META: its name; NOMINAL: the recurrence's */
    struct str value; /* META */
    int64_t number;   /* the others; AFTER, LISTENER: the id's due time */
    uint64_t seq;     /* AFTER, LISTENER */
};

struct job_opts {
    int64_t created_ms;
    struct str key;
    int64_t attempts; /* -1: not given; likewise below */
    struct str backoff;
    int64_t lease_ms;
    int64_t retain_ms;
    int64_t expire_ms;
    enum after_fail after_fail;
    size_t afters;
    size_t listeners;
};

struct trail {
    struct timer timer; /* leased: end of the lease on the monotonic clock; waiting: in
                           `expiries`, if it can expire */
    struct list link;   /* leased: in engine.leased; ended: in queue.past, .held or .dead, or in
                           engine.telling */
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
    uint32_t live_bytes; /* its part of engine.live_bytes, */
    uint32_t weight;     /* and of job_weight */
    uint8_t flags;
    int8_t progress;
};

struct key_entry {
    struct table_node node;
    uint64_t hash;
    struct job *job;
};

/* Jobs of this class in backlog runs up to `number` have been loaded up to here. */
struct floor {
    uint32_t number;
    struct cold_point upto;
};

/* The jobs of one priority of a queue. Those that are due are in three parts, in this order:
 *
 *     ready list (memory) --- backlog runs (disk) --- tail (memory)
 *
 * A class is closed while it has a second or third part: then what becomes due joins the tail, so
 * that nothing overtakes. Those that are not due are in `moments`, or in `spare` if the class has
 * its share of memory there. What waits in a tail or in `spare` goes to disk when that is much. */
struct class
{
    struct queue *queue;
    struct list ready;
    struct list tail;
    struct list link;  /* in engine.closed */
    struct timer near; /* in engine.nears, when what is on disk should be loaded */
    bool closed;
    uint64_t hot_bytes;     /* due and not due; */
    uint64_t ready_bytes;   /* due only; */
    uint64_t near_bytes;    /* loaded from the backlog */
    struct cold_point from; /* what is on disk is not before this */
    struct floor *floors;   /* numbers rise, points fall */
    size_t floor_count;
};

/* Where workers wait: at a queue, or at a kind. */
struct post {
    struct list waits;    /* struct wait_link */
    struct list dispatch; /* in engine.dispatch: may have work for them */
    size_t waiters;
    int64_t asked_ms;    /* when a worker last asked here; 0: never */
    struct queue *queue; /* one of the two */
    struct kind *kind;
};

/* What a rate has left, of a queue or of a tenant. */
struct bucket {
    struct timer timer; /* in engine.buckets, while somebody waits for it */
    int64_t full;       /* when it is full again: see tenant.c */
    struct queue *queue;
    struct tenant *tenant;
};

/* See tenant.c. */
struct tenant {
    struct table_node by_name;
    struct list link;   /* in engine.tenant_list */
    struct list queues; /* by queue.of_tenant */
    struct list parked; /* by queue.turn */
    struct bucket bucket;
    int64_t pending;
    int64_t promised; /* jobs that are about to be scheduled together */
    uint64_t running;
    uint64_t queue_total;
    uint32_t segment; /* where its settings stand; 0: they are the defaults */
    struct tenant_settings settings;
    uint16_t name_len;
    char name[];
};

struct kind {
    struct table_node by_name;
    struct list link; /* in engine.kind_list */
    struct list ring; /* by queue.turn */
    struct post post;
    size_t queues;
    uint16_t name_len;
    char name[];
};

struct queue {
    struct table_node by_name;
    struct list link; /* in engine.queues, or engine.idle when it could be forgotten */
    struct list of_tenant;
    struct list turn; /* in the ring of its kind, or parked at its tenant */
    struct tenant *tenant;
    struct kind *kind;
    struct post post;
    struct bucket bucket;
    int64_t credit; /* jobs that it may still give before it is the next one's turn */
    struct class classes[PRIORITIES];
    struct list past; /* done and cancelled, by end */
    struct list held; /* done, and their key is held: kept whatever their number */
    struct list dead;
    uint64_t jobs[JOB_STATE_COUNT]; /* in memory */
    int64_t cold[COLD_SLOTS];       /* on disk */
    uint64_t offered;               /* in the ready lists */
    uint64_t past_bytes;
    uint32_t segment;       /* where its settings stand; 0: they are the defaults */
    uint32_t tally_segment; /* where cold[] and the floors stand; 0: there is nothing to say */
    bool tally_changed;     /* since then */
    bool hidden;            /* the engine's own: its jobs are not users', see task.c */
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
    struct post *post;
    struct waiter *waiter;
};

struct waiter {
    struct timer timer; /* in engine.waits, on the monotonic clock */
    void *owner;
    size_t count;
    int64_t for_ms;
    struct blob *worker;
    size_t link_count;
    struct wait_link links[];
};

/* A place in a run whose entry no longer counts, until that too is in a run. */
struct grave {
    struct table_node node;
    struct list link;
    uint64_t serial;
    int64_t gone_ms; /* see struct grave_record */
    uint32_t segment;
    uint16_t len;
    char key[];
};

/* What is on its way from memory to runs: one batch at a time. */
struct batch {
    bool active;             /* from engine_feed_begin until it is fed and freed, or aborted */
    bool tails;              /* of classes are in it */
    bool fed;                /* its jobs are on disk and count there: what is in memory is waste */
    unsigned slot;           /* of `later` that is looked at next, */
    unsigned slots_left;     /* and how many are yet to be */
    uint64_t later_bytes;    /* of what was taken from there */
    struct list source;      /* jobs of tails, by their timers, that are not in the batch yet */
    struct list held;        /* jobs that are */
    struct list past_source; /* ended jobs, by their trails */
    struct list past_held;
    uint64_t graves;  /* serial of the last grave in it */
    struct buf stale; /* jobs in it that changed: see struct fed_record */
    struct buf hints; /* where the held jobs are in memory, some of them gone: to be looked at by
                         nobody but the processor's cache */
    size_t buried;
};

#define ABSENT_MAX   4096
#define ABSENT_BYTES 18 /* of a locator's key for a key */

/* Keys that no job on disk has, as was found out since this number of moves. */
struct absent {
    uint64_t moves;
    size_t n;
    char keys[ABSENT_MAX][ABSENT_BYTES];
};

#define PASTS_MAX 4096 /* jobs that one batch may wait for, too */

/* Jobs on disk that have ended, and ids of none, as was found out since this number of moves: a
 * request that names several is told of one at a time. */
struct pasts {
    uint64_t moves;
    size_t n;
    struct {
        struct job_id id;
        uint64_t tenant; /* a hash of its name */
        int64_t from_ms; /* when that was found out, */
        int64_t gone_ms; /* and until when it holds */
        int state;       /* or NOTFOUND */
    } jobs[PASTS_MAX];
};

struct engine {
    struct engine_options o;
    struct pool pool;
    struct table jobs;
    struct table keys;
    struct table names; /* queues */
    struct table tenants;
    struct table kinds;
    struct list tenant_list;
    struct list kind_list;
    uint64_t tenant_total;
    uint64_t pick_steps;  /* queues looked at in picking, so far */
    struct str scope;     /* whose things requests may see; ptr NULL: everybody's */
    struct queue *recent; /* the one last asked for by name: mostly the next one, too */
    struct list queues;
    struct list idle;
    size_t idle_count;
    struct list dispatch; /* posts */
    struct list leased;
    struct list telling;   /* ended jobs, by their trails, that others are to be told of */
    struct list tasks;     /* jobs of hidden queues whose time has come */
    uint64_t tell_seq;     /* the one being told of, */
    size_t tell_next;      /* and who is told next */
    struct wheel moments;  /* jobs, by wall clock */
    struct wheel later;    /* jobs beyond the frontier, by wall clock */
    struct wheel spare;    /* jobs whose class has its share, by wall clock */
    struct wheel nears;    /* classes */
    struct wheel expiries; /* trails, by wall clock */
    struct wheel leases;   /* trails, by monotonic clock */
    struct wheel waits;    /* waiters, by monotonic clock */
    struct wheel buckets;  /* by monotonic clock */
    bool started;
    bool whole;  /* records that follow belong into one commit */
    bool inside; /* the engine's own work: its jobs are seen */
    bool torn;   /* not all of them could be made */
    bool refuse_new;
    bool load_turn;
    bool walk_loaded; /* jobs came from disk since the walk did */
    bool sinking;     /* jobs are moved to `moments` though they are due */
    bool segments_unknown;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t strict_until_ms; /* monotonic */
    struct buf *out;
    uint32_t segment;
    uint32_t frontier_segment; /* where it says so; 0: nowhere */
    uint32_t next_file;
    uint32_t walk; /* 1 .. WALKS: number of the last LIST that began, in a ring; */
    uint32_t first_segment;
    uint64_t lsn;
    uint64_t visible_lsn;
    uint64_t offered_lsn;
    uint64_t next_seq;
    uint64_t next_token;
    uint64_t random;
    uint64_t live_bytes;
    uint64_t waiters;
    uint64_t queue_total;
    uint64_t hidden_total; /* of them, the engine's own, */
    uint64_t hidden_jobs;  /* and jobs in these */
    uint64_t states[JOB_STATE_COUNT];
    struct counters counters;
    struct hist lateness;
    struct hist runtime;
    struct buf scratch;
    char detail[256];

    struct cold_point frontier;
    struct cold_point frontier_noted; /* as the journal knows it: behind the true one */
    uint64_t bytes[WHERES];           /* of jobs */
    struct list closed;               /* classes, */
    uint64_t closed_count;            /* and how many they are */
    struct list runs;                 /* that count */
    struct list gone;                 /* that do not, and are to be removed */
    uint64_t moves;
    uint64_t run_changes;
    struct table graves;
    struct list grave_list;
    uint64_t next_grave;
    int64_t cold[COLD_SLOTS];
    int64_t hidden_cold[COLD_SLOTS]; /* of them, the engine's own */
    struct batch batch;
    struct cold_want want;
    struct absent absent;
    struct pasts pasts;
    struct cold_answer *answer;
    struct job *shown;      /* made for an answer, in no index */
    uint32_t *segment_jobs; /* images in each segment from first_segment on */
    size_t segment_count;
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
/* The same, wherever it is. One on disk comes to memory if it is to be changed (`take`); else it is
 * shown as it is, until the next call. NULL with NOTFOUND, COLD or NOMEM in *ret_err. */
struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err);
/* In the batch that was fed: it is on disk, and what is in memory does not count. */
static inline bool job_is_waste(const struct engine *e, const struct job *j)
{
    return j->fed && e->batch.fed;
}
size_t job_size(const struct job *j);
size_t job_weight(const struct job *j); /* what it takes of its part of the budget */
/* Which run it belongs into, and where there. */
void job_cold_key(const struct job *j, struct cold_key *ret);
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
/* Whether a job of this place in the order would overtake the class's tail. */
bool tail_is_before(const struct class *c, struct cold_point at);
/* Forgets the queue's oldest history beyond its share, but not what still holds a key. Not while a
 * job is in two versions: it could be one of them. */
void past_trim(struct engine *e, struct queue *q);
/* Brings a queue's ended jobs into the order of their ends, which copying forward upsets. */
void past_sort(struct queue *q);
void job_opts_get(const struct job *j, struct job_opts *ret);
void job_opts_read(struct str opts, int64_t born_ms, struct job_opts *ret);
/* The next option; false at the end, or where a newer version's begin. */
bool job_opt_next(struct wire_reader *r, struct opt *ret);
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

/* regrow.c: a job gets longer options, in its place. j is gone afterwards. NOMEM. */
int job_regrow(struct engine *e, struct job *j, struct str opts);

/* key.c */
void keys_init(struct engine *e);
struct job *key_find(const struct engine *e, const struct queue *q, struct str key);
/* The same, wherever it is; see job_seek. One that is only shown may be over (job_is_over). */
struct job *key_seek(struct engine *e, struct queue *q, struct str key, bool take, int *ret_err);
/* No job on disk has this key: for a queue that is about to be made. */
void key_absent(struct engine *e, struct str queue, struct str key);
int key_take(struct engine *e, struct job *j); /* from whoever has it. NOMEM. */
void key_release(struct engine *e, struct job *j);
/* The job that has the key is at another place. */
void key_follow(struct engine *e, const struct job *from, struct job *to);

/* queue.c */
void queues_init(struct engine *e);
struct queue *queue_find(const struct engine *e, struct str name);
struct queue *queue_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when a queue may have become, or is no longer, without use. */
void queue_settle(struct engine *e, struct queue *q);
/* The ready job of lowest rank, or NULL; ret_rank is set if there is one. */
struct job *queue_head(const struct queue *q, int64_t *ret_rank);
/* So many jobs more in this state, in memory. */
void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n);
void queues_free(struct engine *e);

/* tenant.c */
void tenants_init(struct engine *e);
void tenants_free(struct engine *e);
struct tenant *tenant_find(const struct engine *e, struct str name);
struct tenant *tenant_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when it may have become without use: then it is gone. Likewise below. */
void tenant_settle(struct engine *e, struct tenant *t);
/* Its parked queues are looked at again. */
void tenant_unpark(struct engine *e, struct tenant *t);
struct kind *kind_find(const struct engine *e, struct str name);
struct kind *kind_obtain(struct engine *e, struct str name);
void kind_settle(struct engine *e, struct kind *k);
/* The queue of a kind whose turn it is, or NULL. */
struct queue *kind_next(struct engine *e, struct kind *k);
void post_init(struct post *p);
/* Asks for engine_dispatch to look at it, if somebody waits. */
void post_call(struct engine *e, struct post *p);
/* It may have jobs to give. */
void queue_offer(struct engine *e, struct queue *q);
bool server_is_full(const struct engine *e);
enum hold queue_hold(const struct engine *e, const struct queue *q);
/* Whether it has a ready job and may give it; if not, it waits for the event that changes that. */
bool queue_gives(struct engine *e, struct queue *q);
/* One was given; `in_turn`: because it was its turn among its kind. */
void queue_took(struct engine *e, struct queue *q, bool in_turn);
void queue_freed(struct engine *e, struct queue *q); /* a lease ended */
void buckets_fire(struct engine *e);
void bucket_change(const struct engine *e, struct bucket *b, const struct rate *old,
                   const struct rate *r);
/* How long a rate holds it back, if one does. */
int64_t queue_rate_pause_ms(const struct engine *e, const struct queue *q);

/* figures.c */
bool queue_is_of(const struct queue *q, struct str tenant); /* empty or `*`: anybody's */

/* look.c: what users see. */
enum job_state job_state_now(const struct engine *e, const struct job *j);

/* spill.c: what leaves memory */
void batch_init(struct batch *b);
/* A job of the batch changes: what is written of it will not count. */
void batch_stale(struct engine *e, struct job *j);
/* Takes a queue's dead jobs out of a batch that is not fed yet. */
void batch_release_dead(struct engine *e, const struct queue *q);
/* It has its share of memory: of jobs that are not due, or of those that are. */
bool class_is_full(const struct engine *e, const struct class *c);
bool class_is_glutted(const struct engine *e, const struct class *c);
/* The first of it on disk is not before this. */
void class_from(struct engine *e, struct class *c, struct cold_point from);
void class_close(struct engine *e, struct class *c);
uint64_t class_least(const struct engine *e);
/* The clock was set back: what is not due any more leaves the tails, or it would keep others back.
 */
void tails_rewind(struct engine *e);
bool class_is_on_disk(const struct class *c); /* some of it */
bool tail_comes_first(const struct class *c); /* nothing on disk is before its first one */
uint64_t hot_room(const struct engine *e);

/* manifest.c */
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
/* Whether an entry of a run counts. */
bool cold_counts(const struct engine *e, struct str key, uint32_t number);
/* An image's job was put into, or is no longer in, the journal's segment. */
void segment_add(struct engine *e, uint32_t segment);
void segment_sub(struct engine *e, uint32_t segment);

/* load.c */
void frontier_set(struct engine *e, struct cold_point p);
/* Goes on, if no job on disk is passed by that. */
void frontier_follow(struct engine *e);
/* When jobs on disk should be looked at next. */
int64_t frontier_wake(const struct engine *e);

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
int apply_tenant(struct engine *e, const struct tenant_record *r);
int apply_told(struct engine *e, const struct told_record *r);
int apply_listen(struct engine *e, const struct listen_record *r);

/* apply_cold.c: the same for what is on disk. */
int apply_fed(struct engine *e, const struct fed_record *r);
int apply_merged(struct engine *e, const struct merged_record *r);
int apply_loaded(struct engine *e, const struct loaded_record *r);
int apply_taken(struct engine *e, const struct taken_record *r);
int apply_run(struct engine *e, const struct str *r);
int apply_grave(struct engine *e, const struct grave_record *r);
int apply_tally(struct engine *e, const struct tally_record *r);
int apply_cold(struct engine *e, const struct cold_record *r);

/* emit.c: writes a record, then applies it; if that fails the record is taken back. */
int emit_put(struct engine *e, const struct job_image *r);
void commit_roll(struct engine *e); /* closes the commit if it is large enough */
int emit_lease(struct engine *e, const struct lease_record *r);
int emit_extend(struct engine *e, const struct extend_record *r);
int emit_back(struct engine *e, const struct back_record *r);
int emit_end(struct engine *e, const struct end_record *r);
int emit_move(struct engine *e, const struct move_record *r);
int emit_mark(struct engine *e, const struct mark_record *r);
int emit_queue(struct engine *e, const struct queue_record *r);
int emit_tenant(struct engine *e, const struct tenant_record *r);
int emit_told(struct engine *e, const struct told_record *r);
int emit_listen(struct engine *e, const struct listen_record *r);
int emit_fed(struct engine *e, const struct fed_record *r);
int emit_merged(struct engine *e, const struct merged_record *r);
int emit_loaded(struct engine *e, const struct loaded_record *r);
int emit_taken(struct engine *e, const struct taken_record *r);

/* history.c: the attempts of a job with the one that just ended, in out. */
void history_append(struct buf *out, const struct job *j, int64_t end_ms, unsigned outcome,
                    struct str error);

/* finish.c: the ways an attempt can end. `pause_ms` -1: by back-off. */
int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final);
int job_expire(struct engine *e, struct job *j);
int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result);

/* after.c: jobs that wait for others. */

/* Whether a job may wait for those that its spec names, which come to memory. *ret_waits: how many
 * have not ended; *ret_lost: one has, otherwise than done, and that matters; seq 0: none. */
int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost);
/* The same for the i-th of several that are to be scheduled together: whether those before leave
 * room for one more listener. LIMIT. */
int after_room(struct engine *e, const struct job_spec *specs, size_t i);
/* The options that say so, of those that have not ended. */
void after_put(struct engine *e, struct buf *out, const struct job_spec *s);
/* Enters a job as a listener with all that it waits for. */
int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener);
/* A job that it waited for ended otherwise than done. */
int after_lost(struct engine *e, struct job *j, struct job_id parent);
/* Whether it waits for that one. */
bool after_waits(const struct job *j, const struct job *parent);
/* A job that was waited for has ended. */
int after_told(struct engine *e, struct job *j, const struct job *ended);
/* The options without those of this type, or only without the one that names this job; and with
 * nothing in front. */
void opts_without(struct buf *out, const struct job *j, enum job_opt type, uint64_t seq);
void opts_put_id(struct buf *out, enum job_opt type, struct job_id id);

/* intake.c */

/* What can be said of a spec without looking at anything else. */
int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
/* The options that a job of this spec has, but for those about AFTER. */
void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born);
/* LIMIT if the tenant has as many pending jobs as it may. */
int tenant_refuses(struct engine *e, const struct queue *q, struct str full);

/* task.c: the clock was set back, and what was due is not any more. */
void tasks_rewind(struct engine *e);

/* recurrence.c */
struct recurrence;
struct recur;
struct recur_state;

int recurrence_fire(struct engine *e, struct job *j);
/* An occurrence has ended. */
int recurrence_told(struct engine *e, struct job *j, const struct job *ended);

/* Between the files about recurrences. */
struct str recurrence_name(const struct job *j);
bool recurrence_read(const struct engine *e, const struct job *j, struct recurrence *ret);
/* j is another afterwards. */
int recurrence_put(struct engine *e, const struct job *j, const struct recurrence *r);
/* INVALID, NOMEM. */
int recurrence_rule(struct engine *e, struct str name, const struct recurrence *r,
                    struct recur **ret);
/* The next one after a moment; -1: never again, or not to be found out. */
int64_t recurrence_after(const struct recur *rule, int64_t ms, struct recur_state *state);
/* An occurrence, and its ledger entry. LIMIT: its tenant has as many jobs as it may, or too many
 * occurrences are under way. */
int recurrence_make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                    bool by_hand);

/* lease.c */
void waiter_timeout(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

#endif
