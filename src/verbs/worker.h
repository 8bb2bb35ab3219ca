/* SPDX-License-Identifier: MIT */
/*
 * Workers: who asked for jobs, or said a word about one, in the last hour. A worker is known by the
 * name that it gives in LEASE, within a tenant. Workers without a name are known by their machine.
 *
 * The table is in memory alone, and bounded: beyond WORKERS_MAX in all, or WORKERS_TENANT_MAX of a
 * tenant, the worker goes that has been silent longest. The server counts the bytes of the table in
 * its account of memory. The number of running jobs is counted when a client asks for it, so it
 * follows stalls and restarts.
 */
#ifndef VERBS_WORKER_H
#define VERBS_WORKER_H

#include "base/list.h"
#include "base/named.h"
#include "record/limits.h"

#define WORKERS_MAX        2000
#define WORKERS_TENANT_MAX 1000
#define WORKER_HOST        48  /* bytes of a machine's address */
#define WORKER_QUEUES      512 /* bytes of the queues that a worker asked for */
#define WORKER_SLOTS       12  /* an hour */
#define WORKER_SLOT_MS     (INT64_C(5) * 60000)
#define WORKER_KEEP_MS     (WORKER_SLOTS * WORKER_SLOT_MS)

enum worker_count { WORKER_DONE, WORKER_FAILED, WORKER_COUNTS };

struct worker {
    struct named named; /* first: by tenant, name and host, with a zero byte behind each */
    char text[2 * NAME_MAX_BYTES + WORKER_HOST + 3];
    struct list link;
    struct str tenant; /* `*`: the worker asked for jobs of all tenants */
    struct str name;   /* empty: it gave none */
    char address[64];
    char queues[WORKER_QUEUES]; /* names with commas between, as they were asked for */
    int64_t first_ms;           /* when the server first heard of it */
    int64_t seen_ms;            /* when it last said a word */
    int64_t asked_ms;           /* when it last asked for jobs; -1: never */
    int64_t slot;               /* the present one, counted from 1970 on */
    uint32_t counts[WORKER_COUNTS][WORKER_SLOTS];
    uint64_t running; /* jobs that it has, when WORKERS last counted them */
};

struct workers {
    struct table table;
    struct list all; /* the worker that has been silent longest first */
};

/* NULL: there is no memory. */
struct workers *workers_new(struct hash_key key);
void workers_free(struct workers *ws);

/* The memory that it takes; 0 for NULL. */
size_t workers_bytes(const struct workers *ws);

/* Notes a word of a worker. An empty name stands for the machine of the address, which has a port.
 * NULL: there is no memory. */
struct worker *workers_see(struct workers *ws, struct str tenant, struct str name,
                           struct str address, int64_t now_ms);
struct worker *workers_find(const struct workers *ws, struct str tenant, struct str name);
/* Notes that the worker asks for jobs of these queues. */
void worker_ask(struct worker *w, struct str queues, int64_t now_ms);
void worker_count(struct worker *w, enum worker_count kind, int64_t now_ms);
/* How many of the kind there were in the last hour. */
uint64_t worker_sum(struct worker *w, enum worker_count kind, int64_t now_ms);
/* Forgets workers that have been silent for an hour. */
void workers_sweep(struct workers *ws, int64_t now_ms);

#endif
