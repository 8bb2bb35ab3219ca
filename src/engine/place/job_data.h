/* SPDX-License-Identifier: MIT */
/*
 * Jobs in memory.
 *
 *     jobs (by sequence) ---> struct job ---> struct trail (once it has been leased)
 *                               |  \
 *     keys (queue, key) --------+   +--> struct queue: ready lists, waiters, ended jobs
 *
 * The timer of a job links it into the container of its place (PLACES). The trail of a leased job
 * does this instead. An ended job uses both. Its trail stands in a list of its queue. Its timer
 * fires when the job is to be forgotten or its key becomes free. The timer is not set while
 * listeners are to be told. A job that is being fed is in a list of the batch. It already counts as
 * it will on disk: as ready, though its moment may be up to the lookahead away.
 */
#ifndef ENGINE_JOB_DATA_H
#define ENGINE_JOB_DATA_H

#include "base/list.h"
#include "base/table.h"
#include "base/wheel.h"
#include "record/coldkey.h"
#include "record/jobstate.h"

struct queue;

#define ATTEMPT_MAX ((1u << 20) - 1)
#define WALK_BITS   12
#define WALKS       ((1u << WALK_BITS) - 1)

/* Bytes owned by the engine's pool; NULL stands for none. */
struct blob {
    uint32_t len;
    char bytes[];
};

/* The struct is small, because there may be millions of jobs: a job with 100 bytes of payload takes
 * 192 bytes. `tail` has the options, then the payload. */
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
    uint64_t left : 1;    /* the batch that is gathered must not write the job: see batch_is_left */
    uint64_t where : 3;   /* enum where */
    uint64_t again : 1;   /* the job came from family B or A, and may go there again */
    uint64_t fed : 1;     /* the batch that is being written has the job as it is now */
    uint64_t near : 1;    /* the job came from family B or A to be hot */
    uint64_t passing : 1; /* GATES pass: the job has a class of its own */
    uint64_t ordered : 1; /* the job has an ordering key, and a struct spot in front of it */
    uint32_t payload_len;
    uint32_t segment;            /* the segment of its last image */
    uint32_t attempt : 20;       /* it stops at ATTEMPT_MAX */
    uint32_t loaded : WALK_BITS; /* the walk (cold.walk) during which the job came from a run, at
                                    the latest; 0: it did not */
    uint16_t opts_len;
    uint8_t stalls : 7;
    uint8_t heard : 1; /* the job has listeners, and a struct ear in front of it */
    char tail[];
};

/* An ear stands in front of a job that has listeners, before its spot. A further listener mostly
 * finds room between the options and the payload, so that the job keeps its memory. */
struct ear {
    uint32_t opts_room; /* bytes from the tail to the payload */
    uint16_t listeners;
    uint16_t promised; /* listeners that are about to be scheduled together */
};

/* The places of a job, each with its part of the memory's budget. A row has the name, the states of
 * the jobs there, the family of runs that they go to (0: none), and the container. */
#define PLACES(X)                                                                         \
    X(NONE, 0, 0, "none: the job is on its way from one place to another")                \
    X(HOT, JOB_BIT(SCHEDULED) | JOB_BIT(READY), 0,                                        \
      "WHEEL_MOMENTS until the job is due, then class.ready; ordered and due: class.hot") \
    X(LATER, JOB_BIT(SCHEDULED), FAMILY_DUE, "WHEEL_LATER, or WHEEL_LEFT")                \
    X(TAIL, JOB_BIT(SCHEDULED) | JOB_BIT(READY), FAMILY_BACKLOG,                          \
      "WHEEL_SPARE until the job is due, then class.tail; ordered: class.waiting, or an " \
      "aside, which goes to FAMILY_ASIDE")                                                \
    X(LEASED, JOB_BIT(LEASED), 0, "place.leased, and WHEEL_LEASES: both by the trail")    \
    X(PAST, JOB_ENDED, FAMILY_PAST,                                                       \
      "queue.past, .past_keyed or .dead, which go to FAMILY_KEPT; or tenant.telling")     \
    X(TASK, JOB_BIT(READY), 0, "place.due of its kind of hidden queue")                   \
    X(OWNS_LANE, JOB_BIT(SCHEDULED) | JOB_BIT(READY), 0,                                  \
      "WHEEL_MOMENTS until its next attempt is due; its lane")

enum where {
#define WHERE_ENUM(name, states, family, container) WHERE_##name,
    PLACES(WHERE_ENUM)
#undef WHERE_ENUM
        WHERES
};

_Static_assert(WHERES <= 8, "job.where has room for it");

struct place_row {
    unsigned states; /* bits 1 << enum job_state */
    char family;
};

extern const struct place_row place_rows[WHERES];

struct trail {
    struct timer timer; /* leased: the end of the lease, in WHEEL_LEASES; ahead: in WHEEL_EXPIRIES,
                           if the job can expire */
    struct list link; /* leased: in place.leased; ended: in queue.past, .past_keyed or .dead, or in
                         tenant.telling */
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
    int64_t deferred_ms; /* quiet hours have the job wait until then; 0: they do not */
    struct blob *worker;
    struct blob *note;
    struct blob *result;
    struct blob *error;
    struct blob *history;
    struct blob *pending;
    struct blob *log;
    uint32_t live_bytes; /* its part of place.live_bytes */
    uint32_t weight;     /* its part of job_weight */
    uint32_t deferrals;
    uint8_t flags;
    int8_t progress;
    uint16_t left; /* ended: the last batch that must not have the job, modulo 2^16 */
};

/* Until when the job of a trail is kept, if it has ended. */
static inline int64_t trail_gone_ms(const struct trail *t)
{
    return t->keep_ms > t->hold_ms ? t->keep_ms : t->hold_ms;
}

/* The place of a job in the order of those that wait. */
static inline struct cold_point job_point(const struct job *j)
{
    return (struct cold_point){ j->timer.at_ms, j->seq };
}

struct key_entry {
    struct table_node node;
    uint64_t hash; /* see table_entry_hash */
    struct job *job;
};

#endif
