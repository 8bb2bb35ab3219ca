/* SPDX-License-Identifier: MIT */
/* LEASEs that wait. */
#ifndef ENGINE_WAITER_DATA_H
#define ENGINE_WAITER_DATA_H

#include "engine/place/queue_data.h"

struct wait_link {
    struct list link;
    struct post *post;
    struct waiter *waiter;
};

struct waiter {
    struct timer timer; /* in WHEEL_WAITS */
    int64_t since_ms;   /* on the monotonic clock */
    void *owner;
    size_t count;
    int64_t for_ms;
    struct blob *worker;
    struct tenant *tenant; /* the tenant whose memory it counts for while it waits; NULL: none */
    size_t link_count;
    struct wait_link links[];
};

#endif
