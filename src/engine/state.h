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
 *     ready       HOT: in a ready list of its class; TAIL: in the tail of its class;
 *                 with an ordering key: see lane.h
 *     leased      nowhere: the trail's timer stands in `leases`
 *     ended       in `moments`, at the moment when it is forgotten or its key is given free; not
 *                 while others are to be told of it
 * but what is being fed to a run is in a list of the batch, and counts as it will there: as ready
 * though its moment may be up to the lookahead away.
 */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <assert.h>

#include "base/pool.h"
#include "base/table.h"
#include "base/time.h"
#include "base/wheel.h"
#include "engine/cold.h"
#include "engine/lane.h"
#include "engine/mutant.h"
#include "record/opts.h"
#include "record/record_cold.h"

#define PRIORITIES    5
#define ORDERED       5 /* in queue.classes: jobs with an ordering key; */
#define INDEX_PASSING 6 /* those that pass all gates */
#define CLASSES       7
#define AGE_STEP_MS   INT64_C(30000)
#define FIRE_SLICE    20000 /* timers fired by one engine_advance */
#define STANDSTILL_MS 1000  /* a wall clock set back by less than this is waited for */
#define STRICT_MS     60000
#define TOKEN_COUNTER 40 /* bits of a token below the epoch */
#define IDLE_QUEUES   1000
#define ATTEMPT_MAX   ((1u << 20) - 1)
#define WALK_BITS     12
#define WALKS         ((1u << WALK_BITS) - 1)

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
    uint64_t priority : 3;
    uint64_t left : 1;    /* the batch that is gathered must not write it: see batch_is_left */
    uint64_t where : 3;   /* enum where */
    uint64_t again : 1;   /* came from the backlog or from what is aside, and may go there again */
    uint64_t fed : 1;     /* is in the batch that is being written, as it is now */
    uint64_t near : 1;    /* came from the backlog */
    uint64_t passing : 1; /* GATES pass: of a class of its own */
    uint64_t ordered : 1; /* has an ordering key, and a struct spot in front of it */
    uint32_t payload_len;
    uint32_t segment;      /* where its last RECORD_PUT stands */
    uint32_t attempt : 20; /* stops there */
    uint32_t loaded
        : WALK_BITS; /* came from a run, during this walk (engine.walk) at the latest; 0: never */
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
    WHERE_HOLDS, /* its lane, waiting for its next attempt */
    WHERES
};

_Static_assert(WHERES <= 8, "job.where has room for it");

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
    int64_t deferred_ms; /* it waits until then because of quiet hours; 0: it does not */
    struct blob *worker;
    struct blob *note;
    struct blob *result;
    struct blob *error;
    struct blob *history;
    struct blob *pending;
    uint32_t live_bytes; /* its part of engine.live_bytes, */
    uint32_t weight;     /* and of job_weight */
    uint32_t deferrals;
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

/* The jobs of one priority of a queue, its ordered ones, or those that pass all gates. Those that
 * are due are in three parts, in this order:
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
    /* Of ordered jobs, in place of ready and tail: */
    struct heap hot;     /* the last one first */
    struct heap waiting; /* the first one first */
    struct heap feeding; /* of the tail what is to be fed */
    uint64_t tailed;     /* jobs there, in `spare`, and on their way to disk */
    struct list arrived; /* in engine.arrived: some of its tail waits for others to become ready */
    struct list fed;     /* in batch.orders */
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
    uint64_t holding; /* bytes of jobs that hold their lanes */
    uint64_t queue_total;
    uint32_t segment;       /* where its settings stand; 0: they are the defaults */
    int64_t quiet_asked_ms; /* at this moment it was quiet until that one; -1: it was not; */
    int64_t quiet_until_ms; /* both -1: it has not been asked */
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
    struct list turn; /* in the ring of `serves`, or parked at its tenant, or in engine.unwell: */
    bool parked;      /* it was one of the latter, if it is in one of them */
    struct list lull; /* in engine.lulls */
    struct tenant *tenant;
    struct kind *kind;
    struct kind *serves; /* whose ring it gives in: its kind's, or that of all that push */
    char *push_text;     /* of its settings */
    struct post post;
    struct bucket bucket;
    int64_t credit; /* jobs that it may still give before it is the next one's turn */
    struct class classes[CLASSES];
    /* The first of its lanes, by rank: those that gates hold, and those that pass them; and those
     * of them that are tried again. */
    struct heap firsts[2];
    struct heap retries[2];
    uint64_t first_count;
    uint64_t asides;  /* lanes that have jobs aside */
    struct list past; /* done and cancelled, by end */
    struct list rich; /* in engine.rich, if past has more than engine_options.history_bytes */
    struct list held; /* done, and their key is held: kept whatever their number */
    struct list dead;
    uint64_t jobs[JOB_STATE_COUNT]; /* in memory */
    int64_t cold[COLD_SLOTS];       /* on disk */
    uint64_t offered;               /* in the ready lists and firsts */
    uint64_t past_bytes;
    uint32_t segment;       /* where its settings stand; 0: they are the defaults */
    uint32_t tally_segment; /* where cold[] and the floors stand; 0: there is nothing to say */
    bool tally_changed;     /* since then */
    bool hidden;            /* the engine's own: its jobs are not users', see task.c */
    bool bulk;              /* its jobs are bulks, */
    bool audit;             /* or entries of the audit log: */
    struct list logged;     /* then those of them that have ended, by their trails' timers */
    bool idle;
    struct queue_settings settings;
    struct counters counters;
    struct hist *lateness; /* made with the first lease */
    struct hist *runtime;
    struct hist *wait;
    uint64_t served; /* the LEASE that was last counted in `wait`: engine.served then */
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
    int64_t since_ms;   /* likewise */
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
    bool gathering;          /* jobs are still added to it */
    bool tails;              /* of classes are in it */
    bool fed;                /* its jobs are on disk and count there: what is in memory is waste */
    unsigned slot;           /* of `later` that is looked at next, */
    unsigned slots_left;     /* and how many are yet to be */
    uint64_t later_bytes;    /* of what was taken from there */
    struct list orders;      /* classes whose tails are not in the batch yet, */
    struct list asides;      /* likewise those that are aside, by lane; */
    struct list asides_fed;  /* lanes all of which are in it, */
    struct list source;      /* and jobs of other tails, by their timers */
    struct list held;        /* jobs that are */
    struct list past_source; /* ended jobs, by their trails */
    struct list past_held;
    uint64_t empty_lsn; /* after this record a batch had nothing to write, nor will the next */
    uint64_t graves;    /* serial of the last grave in it */
    struct buf stale;   /* jobs in it that changed: see struct fed_record */
    struct buf hints;   /* where the held jobs are in memory, some of them gone: to be looked at by
                           nobody but the processor's cache */
    size_t buried;
};

#define ABSENT_MAX   4096
#define ABSENT_BYTES 18 /* of a locator's key for a key */

/* Keys that no job on disk has, as was found out since this number of moves. */
struct absent {
    uint64_t moves;
    uint64_t wipes; /* how many times all were forgotten */
    size_t n;
    char keys[ABSENT_MAX][ABSENT_BYTES];
};

#define PASTS_MAX 4096 /* jobs that one batch may wait for, too */

/* Jobs on disk that have ended, and ids of none, as was found out since this number of moves: a
 * request that names several is told of one at a time. */
struct pasts {
    uint64_t moves;
    uint64_t wipes; /* how many times all were forgotten */
    size_t n;
    struct {
        struct job_id id;
        uint64_t tenant; /* a hash of its name */
        int64_t from_ms; /* when that was found out, */
        int64_t gone_ms; /* and until when it holds */
        int state;       /* or NOTFOUND */
    } jobs[PASTS_MAX];
};

/* See token.c. */
struct token_set {
    struct table by_name;
    struct list all;
    size_t count; /* without the server's own secret */
    uint64_t serial;
    uint64_t generation;
};

struct engine {
    struct engine_options o;
    struct pool pool;
    struct table jobs;
    struct table keys;
    struct table lanes; /* the first of each */
    struct table asides;
    struct list aside_list;
    uint64_t aside_bytes;  /* in memory, not in a batch; */
    uint64_t back_bytes;   /* those of them that are aside again: see struct spot */
    struct list lows;      /* asides some of which may be needed, */
    struct wheel sleepers; /* and those that will when they are due, by wall clock */
    struct table names;    /* queues */
    struct table tenants;
    struct table kinds;
    struct token_set tokens;
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
    struct list arrived; /* classes, see struct class */
    struct list
        lulls; /* queues that had nothing to give but firsts of lanes, while lanes_are_full */
    struct list unwell;    /* queues whose endpoint is left alone, by queue.turn */
    struct list telling;   /* ended jobs, by their trails, that others are to be told of */
    struct list tasks;     /* recurrences whose time has come, */
    struct list bulks;     /* and bulks that run */
    struct list walks;     /* where those are: see bulk.c */
    uint64_t bulk_asks;    /* the one that answered COLD; 0: none */
    int64_t bulk_rest_ms;  /* monotonic: none goes on before */
    unsigned small_steps;  /* taken since a bulk had its turn */
    bool tell_turn;        /* before tasks */
    bool pressed;          /* memory or journal has no room for what bulks write: they wait */
    uint64_t tell_seq;     /* the one being told of, */
    size_t tell_next;      /* and who is told next */
    struct wheel moments;  /* jobs, by wall clock */
    struct wheel later;    /* jobs beyond the frontier, by wall clock */
    struct wheel left;     /* those of `later` that left the batch which is being gathered */
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
    struct list rich; /* queues with much history in memory, see past_trim */
    bool load_turn;
    bool walk_loaded; /* jobs came from disk since the walk did */
    /* To B, and to A, jobs went again that came from disk during this walk at the latest; 0: none
     * that a walk could miss. */
    uint32_t refed[2];
    bool sinking; /* jobs are moved to `moments` though they are due */
    bool segments_unknown;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t strict_until_ms; /* monotonic, */
    int64_t start_ms;        /* likewise: when it was started */
    struct buf *out;
    uint32_t segment;
    uint32_t frontier_segment; /* where it says so; 0: nowhere */
    uint32_t next_file;
    uint32_t walk; /* 1 .. WALKS: number of the last LIST that began, in a ring; */
    uint32_t first_segment;
    uint32_t oldest;     /* segment that the journal begins with; 0: no record says */
    uint64_t last_epoch; /* of any commit that was replayed */
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
    struct hist wait;
    uint64_t served; /* LEASEs that got jobs */
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
    size_t answer_at;       /* which of its items was found last */
    struct job *shown;      /* made for an answer, in no index */
    uint32_t *segment_jobs; /* images in each segment from first_segment on */
    size_t segment_count;
    bool listening; /* events are told */
};

#endif
