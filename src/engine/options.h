/* SPDX-License-Identifier: MIT */
/*
 * What an engine is made with: its limits, and four functions.
 *
 * No decision of the engine waits for an answer from above. The host sets facts when they change
 * (engine_endpoint_set, engine_pushes_set, engine_refuse_new, engine_press), and takes deliveries
 * when the engine has decided (engine_dispatch, engine_timeout). The four functions ask for no
 * decision. None of them may call the engine, except as its comment says:
 *
 *     event     an output: the record is written and applied, and nothing comes back
 *     roll      an output: between two records, where a commit may end. The next commit begins
 *               there, because the next record of the call may stand in another segment
 *     may_have  a shortcut: true is always right, at the price of a fetch that finds nothing
 *     zone      a lookup of constants: the rules of a time zone, as the system has them
 */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include "base/hash.h"
#include "engine/event.h"
#include "engine/types.h"

struct zone;

struct engine_options {
    uint16_t partition;
    uint64_t epoch;         /* high part of every token; raised durably before the engine is made */
    uint64_t seed;          /* for jitter */
    struct hash_key secret; /* random; see engine_name_secretly. 0: for tests */
    uint64_t history_bytes; /* kept in memory of a queue's done and cancelled jobs while they cannot
                               go to disk. 0: 16 MiB */
    uint64_t memory_bytes;  /* the budget. 0: 256 MiB */
    int64_t lookahead_ms;   /* how long before they are due jobs come to memory. 0: 1 minute */
    uint64_t max_running;   /* leased at a time. 0: any number */
    uint64_t tenant_bytes;  /* kept of a tenant that has no max_bytes of its own. 0: any number */
    int64_t slow_start_ms;  /* how long after a start it takes to get there. 0: no time */
    size_t bulk_page;       /* jobs in a slice of a bulk, for tests. 0: some hundred */
    int64_t min_every_ms;   /* the least period of EVERY in a new rule. 0: 1 ms */
    int64_t audit_ms;       /* how long entries of the audit log are kept. 0: 90 days */
    uint64_t audit_max;     /* how many entries of it are kept. 0: any number */
    uint32_t attempts_kept; /* attempts that a job remembers. 0: ATTEMPTS_KEPT_DEFAULT */
    int slice_jobs;         /* jobs in a slice of other work, for tests. 0: some hundred */
    size_t idle_queues;     /* idle queues that stay known, for tests. 0: 1000 */
    unsigned mutant;        /* which deliberate bug, in builds with BELFRY_MUTANTS */
    uint64_t commit_bytes;  /* records beyond which roll is called */
    bool listen;            /* as engine_listen, from the start on */
    engine_event_fn *event; /* see event.h; NULL: there is no listener */
    void *host;             /* the first argument of event */
    void (*roll)(void *journal); /* may call engine_direct. NULL: never called */
    /* Whether the locator may have an entry of this hash (cold_key_hash). NULL: it may. */
    bool (*may_have)(void *journal, uint64_t hash);
    /* The zone of a name; it is good until the next call. As zonedir_load. NULL: there are none. */
    int (*zone)(void *journal, struct str name, const struct zone **ret, const char **ret_why);
    void *journal; /* the first argument of roll, may_have and zone */
};

#endif
