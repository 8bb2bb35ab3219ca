/* SPDX-License-Identifier: MIT */
/* Queues, tenants and kinds. */
#ifndef ENGINE_QUEUE_DATA_H
#define ENGINE_QUEUE_DATA_H

#include "base/heap.h"
#include "base/hist.h"
#include "base/list.h"
#include "base/named.h"
#include "base/tree.h"
#include "base/wheel.h"
#include "engine/place/batch_data.h"
#include "engine/place/class_data.h"
#include "engine/place/pulse_data.h"
#include "engine/view.h"
#include "record/ratelog.h"

struct blob;

/* Where workers wait: at a queue, or at a kind. */
struct post {
    struct list waits;    /* of struct wait_link */
    struct list dispatch; /* in place.turns.dispatch, serving or later: may have work for them */
    size_t waiters;
    int64_t asked_ms;    /* when a worker last asked here; 0: never */
    int64_t made_ms;     /* when the post was made; 0: before the engine started */
    struct queue *queue; /* a post has a queue or a kind */
    struct kind *kind;
};

/* What the rate of a queue or of a tenant has counted. */
struct rated {
    struct timer timer;   /* in WHEEL_RATES, while a queue waits for the rate */
    struct rate_log *log; /* NULL: there is no rate. By the wall clock until the engine starts */
    struct queue *queue;
    struct tenant *tenant;
};

/* What keeps a queue. */
enum queue_use {
    QUEUE_NEW,    /* not known yet: it was just made */
    QUEUE_IDLE,   /* nothing: it could be forgotten */
    QUEUE_NOTED,  /* the journal has counts of it that must be copied forward */
    QUEUE_WAITED, /* workers wait at it */
    QUEUE_USED,   /* it has jobs, ended ones too, or settings */
    QUEUE_USES
};

/* Records about a queue that are copied forward. */
enum queue_note {
    NOTE_SETTINGS, /* unless they are the defaults */
    NOTE_TALLY,    /* cold[] and the floors */
    QUEUE_NOTES
};

/* The figures of a tenant's queues together, forgotten ones too, while the tenant is known. */
struct sums {
    int64_t jobs[JOB_STATE_COUNT]; /* in memory and on disk */
    uint64_t waiters;
    struct counters counters;
    struct gauges gauges;
};

/* Memory of a tenant that does not go to disk: see standing.c. */
struct standing {
    uint64_t queue_bytes; /* of queues that are not idle */
    uint64_t wait_bytes;  /* of LEASEs that wait */
};

/* Ended jobs of a tenant whose listeners are to be told: see task.c. */
struct telling {
    struct list jobs; /* ended jobs of which others are to be told, by their trails */
    struct list link; /* in place.tellers, unless `jobs` is empty */
    uint64_t seq;     /* the ended job whose listeners are being told; 0: none */
    size_t next;      /* the index of the listener that is told next */
};

/* See turn.c. */
struct tenant {
    struct named by_name;
    struct list link;           /* in place.tenant_list */
    struct list queues;         /* by queue.of_tenant */
    struct list parked;         /* by queue.turn */
    struct list parked_pushing; /* pushing queues that wait for a limit of the tenant: see turn.c */
    struct rated rated;
    struct timer gate;       /* in WHEEL_GATES */
    int64_t reopened_ms;     /* when its maintenance was ended last, since the start; 0: never */
    struct tree_node sorted; /* in known.tenants */
    struct tree sorted_queues;
    int64_t pending;
    int64_t promised;        /* jobs of a batch that is being checked */
    int64_t promised_queues; /* queues that the batch being checked would begin to use */
    uint64_t running;
    uint64_t owner_bytes; /* of jobs that own their lanes without being leased */
    uint64_t leased_bytes;
    uint64_t hot_bytes;
    uint64_t memory_bytes;  /* of its jobs in memory, hidden ones too */
    int64_t kept_bytes;     /* of its jobs in memory and on disk: see kept.c */
    struct list greedy;     /* in place.kept.greedy, while history has to give way: see kept.c */
    uint64_t past_bytes;    /* the sum of past_bytes of its queues, without hidden queues */
    uint32_t cut_number;    /* runs up to this number have no history of the tenant to give */
    int64_t promised_bytes; /* bytes that the batch being checked would add */
    struct list laden; /* in a list of place.leases, while a queue is parked for want of memory */
    uint64_t queue_total;
    uint64_t uses[QUEUE_USES]; /* its queues by their use, without hidden ones */
    struct sums sums;
    struct telling telling;
    struct standing standing;
    bool pushes_full;       /* the host has as many of its pushes under way as it may have */
    uint32_t segment;       /* the segment of its settings; 0: they are the defaults */
    int64_t quiet_asked_ms; /* when the engine last looked at its quiet hours; -1: never */
    int64_t quiet_until_ms; /* their end, as the engine found it; -1: it was not quiet */
    struct tenant_settings settings;
    char text[]; /* its name */
};

struct kind {
    struct named by_name;
    struct list link; /* in place.kind_list */
    struct list ring; /* by queue.turn */
    struct post post;
    size_t queues;
    char text[]; /* its name */
};

struct queue {
    struct named by_name;
    struct list link; /* in place.queues, or in place.idle while it could be forgotten */
    struct list of_tenant;
    struct tree_node sorted[2]; /* in known.queues and tenant.sorted_queues; if it is hidden, in
                                   known.hidden alone */
    struct list turn; /* in the ring of `serves`; or parked: at its tenant, or at an endpoint */
    bool parked;      /* the list that `turn` is in, if any, is one of parked queues */
    struct list lull; /* in place.turns.lulls */
    struct tenant *tenant;
    struct kind *kind;
    struct kind *serves; /* it gives in the ring of this: its own, or that of queues that push */
    struct post post;
    struct rated rated;
    int64_t credit; /* jobs that it may still give before the next queue has its turn */
    struct class *classes[CLASSES]; /* NULL: no job has needed it */
    /* Ready firsts of its lanes, by rank: [0] gates hold them, [1] they pass. Retries own their
     * lanes. */
    struct heap firsts[2];
    struct heap retries[2];
    uint64_t first_count;
    uint64_t asides;  /* lanes that have jobs aside */
    struct list past; /* done, cancelled and expired jobs, by their ends */
    struct list rich; /* in place.rich, if `past` has more than engine_options.history_bytes */
    struct list past_keyed; /* ended jobs whose keys are held: any number is kept */
    struct list dead;
    struct list ended; /* in place.ended, if past, past_keyed or dead has jobs, or had */
    struct queue_batch batch;
    uint64_t jobs[JOB_STATE_COUNT]; /* in memory */
    int64_t cold[COLD_SLOTS];       /* on disk */
    int64_t cold_bytes;             /* bytes of jobs on disk, as records say: see kept.c */
    int64_t cold_kept;              /* the part of jobs on disk in tenant.kept_bytes */
    uint64_t offered;               /* jobs in the ready lists, and firsts of lanes */
    uint64_t past_bytes;
    uint32_t segments[QUEUE_NOTES]; /* the segment of each kind of record; 0: there is no record */
    struct list noted[QUEUE_NOTES]; /* in place.noted, unless the segment is 0 */
    bool tally_changed;             /* cold[] or the floors changed since they were written */
    enum hidden hidden;             /* the kind of the engine's own queue; HIDDEN_NONE: a user's */
    struct list logged; /* ended jobs, by their trails' timers, if its hidden_row lists them */
    enum queue_use use;
    const struct queue_settings *settings; /* queue_defaults, or its own: see queue_settings_set */
    struct counters counters;
    struct gauges gauges;
    char text[]; /* its name */
};

static inline struct str queue_name(const struct queue *q)
{
    return q->by_name.name;
}

static inline struct str tenant_name(const struct tenant *t)
{
    return t->by_name.name;
}

#endif
