/* SPDX-License-Identifier: MIT */
/* Figures of the running minute, and the steps of time that are kept: see pulse.c and steps.c. */
#ifndef ENGINE_PULSE_DATA_H
#define ENGINE_PULSE_DATA_H

#include "base/hist.h"
#include "base/list.h"
#include "record/series.h"

/* What a queue or a tenant did since the beginning of a minute. */
struct pulse {
    struct list link;      /* in a list of struct minute, while its row is not made */
    uint64_t number;       /* of the minute, see pulses.number; 0: nothing happened yet */
    struct hist *lateness; /* of the minute's deliveries */
    uint64_t base[SERIES_COUNT_TOTAL]; /* the counters when the pulse began */
};

/* How fast the jobs of a queue or of a tenant go. The first figure makes each histogram. */
struct gauges {
    struct pulse pulse; /* the running minute */
    struct hist *lateness;
    struct hist *runtime;
    struct hist *wait;
    uint64_t served;    /* work.served when `wait` was last counted */
    int64_t success_ms; /* when a job last completed; 0: never */
};

/* A minute whose figures are not kept yet. */
struct minute {
    bool used;                   /* something happened in it */
    bool failed;                 /* memory ran out: it has no figures */
    int64_t at_ms;               /* when it began */
    struct list queues, tenants; /* by their pulses: those whose rows are not made yet */
    struct series_row server;    /* the sum of the tenants' rows that are made */
    struct buf chunk; /* rows that are not in order yet: name and body, each with its length */
    size_t chunk_rows;
    struct buf step; /* the others, as record/series.h has them */
};

/* Figures that are kept: of a minute, or of an hour. */
struct step {
    int64_t at_ms;
    uint32_t segment; /* the oldest segment that has a part of it */
    uint32_t len;
    char bytes[]; /* record/series.h */
};

enum step_kind { STEP_MINUTES, STEP_HOURS, STEP_KINDS };

/* The steps of one length, by their moments. */
struct steps {
    struct step **all;
    size_t count, cap;
    uint64_t bytes;
};

struct pulses {
    uint64_t number; /* of the running minute; 0: the engine has not started */
    bool closed;     /* the engine is being freed */
    struct minute running;
    struct minute ending; /* the one before, while its rows are made */
    struct steps steps[STEP_KINDS];
};

#endif
