/* SPDX-License-Identifier: MIT */
/* Where jobs are. */
#ifndef ENGINE_PLACE_DATA_H
#define ENGINE_PLACE_DATA_H

#include "base/pool.h"
#include "engine/place/batch_data.h"
#include "engine/place/job_data.h"
#include "engine/place/lane_data.h"
#include "engine/place/queue_data.h"
#include "engine/place/waiter_data.h"

/* The lanes that have jobs aside. */
struct asides {
    struct table by_lane;
    struct list all;
    struct list lows; /* lanes that may need some of their jobs; the others are in WHEEL_SLEEPERS,
                         or in no list */
    uint64_t bytes;   /* of jobs aside in memory that are in no batch */
    uint64_t back_bytes; /* of those jobs among them that are aside again: see spot.back */
};

struct turns {
    struct list dispatch; /* posts that may have work for their waiters */
    struct list serving;  /* the one of them that was last served, if it may have more */
    struct list later;    /* those that could not be served in this round of dispatching */
    struct list lulls;    /* queues that had only firsts of lanes to give, while lanes_are_full */
    struct table unwell_table; /* struct unwell, endpoints that the host leaves alone, by key */
    struct list unwell_list;   /* all of them */
    uint64_t pick_steps;       /* queues that picking has looked at so far: for tests */
};

/* The memory of leased jobs: see leased.c. */
struct leases {
    uint64_t bytes;     /* of all tenants, each up to the largest share that a tenant can have */
    struct list laden;  /* tenants that have reached their share and have more jobs to give */
    struct list capped; /* tenants at their max_leased that have more to give, by `laden` */
    uint64_t waiting;   /* tenants in these lists */
    uint64_t holds;     /* how many times a tenant joined one of these lists */
};

/* How many images of jobs stand in each segment of the journal. */
struct segments {
    uint32_t *jobs; /* one count for each segment from `first` on */
    size_t count;
    uint32_t first;
    bool unknown; /* memory ran out: the counts are not to be trusted */
};

/* Queues and tenants: their memory, and their order by name. */
struct known {
    struct pool pool; /* of queues, tenants, kinds and waiters, with all that belongs to them */
    uint64_t standing_bytes; /* of all tenants, each up to the largest share: see standing.c */
    struct tree queues;      /* all but hidden ones */
    struct tree tenants;
    uint64_t queues_forgotten;
    uint64_t tenants_forgotten;
};

/* Bytes that tenants keep: see kept.c. */
struct kept {
    struct list greedy; /* tenants whose history has to give way */
    int64_t bytes;      /* of all tenants */
    uint64_t refusals;  /* new jobs that max_bytes or tenant_bytes refused */
};

struct place {
    struct table jobs;
    struct table keys;
    struct table lanes; /* the first job of each lane */
    struct asides asides;
    struct list arrived; /* classes, by class.arrived: their tails wait for jobs to become ready */
    struct known known;
    struct table names; /* queues by name */
    struct queue
        *recent; /* the queue that was last asked for by name, which is mostly the next one, too */
    struct list queues;
    struct list idle; /* queues that could be forgotten */
    size_t idle_count;
    struct list noted[QUEUE_NOTES]; /* queues that have such a record, by its segment */
    struct list ended;              /* queues that may have ended jobs in memory */
    struct list rich;               /* queues with much history in memory: see past_trim */
    uint64_t queue_total;
    uint64_t hidden_total; /* queues that are the engine's own */
    uint64_t hidden_jobs;  /* jobs of hidden queues */
    struct table tenants;
    struct table kinds;
    struct list tenant_list;
    struct list kind_list;
    uint64_t tenant_total;
    struct turns turns;
    struct list leased;
    struct leases leases;
    struct awaits awaits; /* see awaited.h */
    struct list tellers;  /* tenants that have ended jobs of which others are to be told, in turn */
    uint64_t untold;      /* ended jobs of which others are still to be told */
    struct list due[HIDDEN_KINDS]; /* jobs of hidden queues whose time has come, by their timers */
    uint64_t states[JOB_STATE_COUNT];
    uint64_t bytes[WHERES]; /* of jobs, by their places */
    uint64_t live_bytes;
    struct kept kept;
    struct list closed; /* closed classes */
    uint64_t closed_count;
    struct cold_point frontier; /* jobs up to this point are in memory */
    bool sinking;               /* due jobs are moved to WHEEL_MOMENTS first */
    struct batch batch;
    struct segments segments;
    struct pulses pulses;
    struct job *shown; /* a job made for an answer, in no index */
};

#endif
