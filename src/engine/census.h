/* SPDX-License-Identifier: MIT */
/*
 * A census counts the jobs that become due in each step of time, in memory and on disk, for
 * FORECAST. It also counts the coming occurrences of recurrences. It is made in rounds, and each
 * round has two parts:
 *
 *     on the engine's thread    jobs of a stripe of the table; entries that were read are counted
 *     on another thread         rules are asked for their times; a page of family D is read
 *
 * The first request begins a census and answers COLD. The fetch carries the census, so that the
 * request goes on with it when it is executed again.
 *
 * Each job is counted once, although jobs move meanwhile. Jobs that were on disk at the beginning
 * are counted there: the census pins the runs that there were, and in memory, jobs that were loaded
 * since are left out. Jobs that were in memory at the beginning are counted there. A job that goes
 * to disk before its stripe has its turn is counted when its memory is freed. A job that becomes
 * ready in memory, or that a request changes meanwhile, is counted once or not at all.
 */
#ifndef ENGINE_CENSUS_H
#define ENGINE_CENSUS_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/cold.h"
#include "record/ledger.h"
#include "record/limits.h"

#define CENSUS_STEPS 1000
#define CENSUS_PAGE  5000 /* entries of family D in a round */

struct census_ask {
    struct str tenant; /* `*`: all */
    struct str queue;  /* without its tenant; empty: all */
    int64_t from_ms;
    int64_t to_ms;
    int64_t step_ms;
    size_t n;     /* steps from from_ms to to_ms: 1 .. CENSUS_STEPS; the last one may be shorter */
    size_t times; /* so many times of recurrences are collected, and nothing is counted; 0: none */
    int64_t after_ms; /* only times behind this moment and this recurrence */
    uint64_t after_seq;
};

struct census_time; /* see times.h */

struct census {
    struct list link; /* in cold.censuses */
    struct census_ask ask;
    char tenant[NAME_MAX_BYTES];
    char queue[NAME_MAX_BYTES];

    /* The beginning. */
    uint32_t walk;             /* jobs that were loaded since this walk began are left out */
    uint32_t batch;            /* the jobs of this batch were waste already; 0: there were none */
    struct cold_point *graves; /* of family D, beyond the frontier; sorted */
    size_t grave_count;
    struct cold_run **runs; /* of family D; pinned */
    size_t run_count;
    int64_t
        disk_to_ms; /* entries of family D from this moment on do not matter; INT64_MAX: all do */

    /* The engine's thread alone uses these. */
    uint8_t stripes_log2;
    uint64_t stripe; /* the next one; 1 << stripes_log2: all have been visited */
    struct buf left; /* rules that were met: census_rule_put */
    bool lacks;      /* some rules were left out, for want of memory */
    int64_t hidden;  /* recurrences on disk that were not met yet, if times are collected */
    uint64_t jobs[CENSUS_STEPS];

    /* The thread of the fetch uses these while there is a fetch. */
    struct buf rules; /* those whose times are to be counted: census_rule_put */
    size_t rules_at;  /* so many bytes of them are done */
    bool disk_done;   /* family D has been read */
    struct cold_key after;
    struct cold_point *points; /* entries that were read, and are to be counted */
    size_t point_count;
    struct buf found; /* recurrences that were read: point, then census_rule_put */
    uint64_t recurring[CENSUS_STEPS];
    struct census_time *times; /* a heap of up to ask.times of them */
    size_t time_count;
    bool more;      /* there are times behind those in the heap */
    size_t partial; /* from this step on, not all times of all rules are counted; n: all are */
};

/* A rule of a recurrence, without its payload and ledger. */
struct census_rule {
    struct recur_spec spec; /* without its zone */
    struct str zone;
    struct recur_state state;
    int64_t next_ms; /* the next nominal time */
    int64_t from_ms; /* nominal times before it are skipped */
};

void census_rule_put(struct buf *out, struct str name, const struct recurrence *r);
bool census_rule_get(struct wire_reader *in, struct census_rule *ret); /* false if malformed */
/* Whether a recurrence has times to come. */
bool census_rule_counts(const struct recurrence *r);

/* Whether the census is about a queue of this full name. */
bool census_has(const struct census *c, struct str queue);
/* The step of a moment; n if it is in none. */
size_t census_step(const struct census_ask *a, int64_t at_ms);

struct forecast_view {
    struct census_ask ask; /* as the first execution of the request had it */
    uint64_t jobs[CENSUS_STEPS];
    uint64_t recurring[CENSUS_STEPS]; /* occurrences that are to be made */
    size_t partial;                   /* see struct census */
};

/* Counts jobs that are scheduled, and occurrences. COLD, NOMEM; BUSY: too many censuses are under
 * way. */
int engine_forecast(struct engine *e, const struct census_ask *ask, struct forecast_view *ret);
/* The census of the request that answered COLD; the caller owns it. NULL if it has none. */
struct census *engine_census(struct engine *e);
void census_free(struct census *c); /* accepts NULL */

#endif
