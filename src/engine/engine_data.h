/* SPDX-License-Identifier: MIT */
/* The engine's state: the parts that all rooms need, and one struct for each room. For files of
 * src/engine only. */
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

/* Things that wait for a moment. The wheels up to WALL_WHEELS go by the wall clock, the others by
 * the monotonic clock. The first JOB_WHEELS hold jobs. */
enum {
    WHEEL_MOMENTS, /* jobs that are soon due, or kept until then */
    WHEEL_LATER,   /* jobs beyond the frontier */
    WHEEL_LEFT,    /* jobs of WHEEL_LATER that left the batch which is being gathered */
    WHEEL_SPARE,   /* jobs whose class has its share of memory */
    JOB_WHEELS,
    WHEEL_NEARS = JOB_WHEELS, /* classes, when their jobs on disk should be loaded */
    WHEEL_SLEEPERS,           /* asides whose next job is not due */
    WHEEL_EXPIRIES,           /* trails of jobs that can expire */
    WHEEL_GATES,              /* tenants whose maintenance ends by itself */
    WALL_WHEELS,
    WHEEL_LEASES = WALL_WHEELS, /* trails of leased jobs */
    WHEEL_WAITS,                /* waiters */
    WHEEL_RATES,
    WHEELS
};

struct engine {
    struct engine_options o;
    struct pool pool;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t start_ms; /* on the monotonic clock */
    bool started;
    bool refuse_new;
    struct str scope; /* the tenant whose jobs requests may see; ptr NULL: they see all */
    uint64_t lsn;
    struct cold_names naming;
    uint32_t segment; /* the segment in which records stand that are written now */
    struct counters counters;
    struct buf scratch;
    char detail[256];
    struct wheel wheels[WHEELS];
    struct pulses pulses;
    struct place place;
    struct cold cold;
    struct log log;
    struct work work;
    struct tasks tasks;
};

#endif
