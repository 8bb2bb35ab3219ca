/* SPDX-License-Identifier: MIT */
/* The engine's state: what all rooms need, and what each of them has. For files of src/engine only.
 */
#ifndef ENGINE_ENGINE_DATA_H
#define ENGINE_ENGINE_DATA_H

#include "base/pool.h"
#include "base/time.h"
#include "engine/cold/cold_data.h"
#include "engine/log/log_data.h"
#include "engine/mutant.h"
#include "engine/options.h"
#include "engine/place/place_data.h"
#include "engine/tasks/tasks_data.h"
#include "engine/work/work_data.h"

/* What waits for its time: by wall clock, */
enum {
    WHEEL_MOMENTS, /* jobs */
    WHEEL_LATER,   /* jobs beyond the frontier */
    WHEEL_LEFT,    /* those of WHEEL_LATER that left the batch which is being gathered */
    WHEEL_SPARE,   /* jobs whose class has its share */
    JOB_WHEELS,
    WHEEL_NEARS = JOB_WHEELS, /* classes */
    WHEEL_SLEEPERS,           /* asides whose next job is not due */
    WHEEL_EXPIRIES,           /* trails */
    WALL_WHEELS,
    /* and by the monotonic clock. */
    WHEEL_LEASES = WALL_WHEELS, /* trails */
    WHEEL_WAITS,                /* waiters */
    WHEEL_BUCKETS,
    WHEELS
};

struct engine {
    struct engine_options o;
    struct pool pool;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t start_ms; /* monotonic: when it was started */
    bool started;
    bool refuse_new;
    struct str scope; /* whose things requests may see; ptr NULL: everybody's */
    uint64_t lsn;
    uint32_t segment; /* where records stand that are written now */
    struct counters counters;
    struct buf scratch;
    char detail[256];
    struct wheel wheels[WHEELS];
    struct place place;
    struct cold cold;
    struct log log;
    struct work work;
    struct tasks tasks;
};

#endif
