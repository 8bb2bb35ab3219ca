/* SPDX-License-Identifier: MIT */
/* State of requests besides jobs. */
#ifndef ENGINE_WORK_DATA_H
#define ENGINE_WORK_DATA_H

#include "base/hist.h"
#include "base/list.h"

/* What engine_dispatch and engine_push_lease have done since engine_advance. */
struct lease_round {
    size_t passed; /* jobs that they passed over */
    size_t looks;  /* queues that they looked at in vain since these are as many as they may be */
};

struct work {
    bool inside;  /* the engine itself asks: jobs of hidden queues are found */
    bool checked; /* the items of a batch are scheduled, which were checked together before */
    bool asked;   /* all that the request needs of jobs on disk is known: what is not is nowhere */
    bool torn;    /* some records of a commit that must be whole could not be made */
    uint64_t next_token;
    uint64_t random;
    uint64_t waiters;
    struct list late; /* waiters whose time is up, by their timers */
    struct hist lateness;
    struct hist runtime;
    struct hist wait;
    uint64_t served; /* LEASEs that got jobs */
    struct lease_round round;
};

#endif
