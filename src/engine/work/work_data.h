/* SPDX-License-Identifier: MIT */
/* State of requests besides jobs. */
#ifndef ENGINE_WORK_DATA_H
#define ENGINE_WORK_DATA_H

#include "base/hist.h"
#include "base/list.h"

/* The work of engine_dispatch and engine_push_lease since the last engine_advance. */
struct lease_round {
    size_t passed; /* jobs that were passed over */
    size_t looks;  /* queues that were looked at in vain after PASSED_OVER_MAX was reached */
};

struct work {
    bool inside;  /* the engine itself asks: jobs of hidden queues are found */
    bool checked; /* the items of a batch, which were checked together, are being scheduled */
    bool asked;   /* all facts about jobs on disk were fetched: a job without one is nowhere */
    bool torn;    /* some records of a commit that must be whole are missing */
    uint64_t next_token;
    uint64_t random;
    uint64_t waiters; /* LEASEs that wait */
    uint64_t awaits;  /* requests that wait for the end of a job */
    struct list late; /* waiters whose time is up, by their timers */
    struct hist lateness;
    struct hist runtime;
    struct hist wait;
    uint64_t served; /* LEASEs that got jobs */
    struct lease_round round;
};

#endif
