/* SPDX-License-Identifier: MIT */
/* Requests that wait: LEASEs for jobs, and others for the end of a job. */
#ifndef ENGINE_WAITER_DATA_H
#define ENGINE_WAITER_DATA_H

#include "engine/place/queue_data.h"

struct wait_link {
    struct list link;
    struct post *post;
    struct waiter *waiter;
};

/* A job whose end requests wait for. */
struct awaited {
    struct table_node by_seq;
    uint64_t seq;
    struct list waits;     /* its waiters, never none */
    struct list link;      /* in awaits.ended, once the job has ended */
    struct tenant *tenant; /* the tenant whose memory its waiters count for; NULL: none */
    uint64_t bytes;        /* so much of it */
};

struct awaits {
    struct table jobs; /* struct awaited, by the numbers of jobs that have not ended */
    struct list ended; /* struct awaited whose waiters are to be handed out */
};

struct waiter {
    struct timer timer;      /* in WHEEL_WAITS */
    struct awaited *awaited; /* the job for whose end it waits; NULL: it is a LEASE */
    struct list await;       /* in awaited.waits */
    int64_t since_ms;        /* on the monotonic clock */
    void *owner;
    size_t count;
    int64_t for_ms;
    struct blob *worker;
    struct tenant *tenant; /* the tenant whose memory it counts for while it waits; NULL: none */
    size_t link_count;
    struct wait_link links[];
};

#endif
