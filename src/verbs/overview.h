/* SPDX-License-Identifier: MIT */
/*
 * Overviews: which queues and tenants are worth a look, among any number of them.
 *
 * A scope is a tenant, or `*`. Its queues are looked at piece by piece: a request looks at
 * OVERVIEW_STRIDE of them, and the next piece has to wait for OVERVIEW_PACE_MS. So many readers
 * cost as much as one does. When all have been looked at, the places of the best of each kind are
 * known. An answer shows their present figures.
 *
 * Overviews are in memory alone, and bounded: beyond OVERVIEW_SCOPES the scope goes that nobody
 * asked about for longest. The server counts their bytes in its account of memory.
 */
#ifndef VERBS_OVERVIEW_H
#define VERBS_OVERVIEW_H

#include "base/list.h"
#include "base/named.h"
#include "record/limits.h"

#define OVERVIEW_SCOPES  16
#define OVERVIEW_ROWS    10   /* places of each kind */
#define OVERVIEW_STRIDE  4000 /* queues of a piece */
#define OVERVIEW_TENANTS 500  /* tenants of a piece */
#define OVERVIEW_PACE_MS INT64_C(250)
#define OVERVIEW_REST_MS INT64_C(1000) /* from the end of a pass to the next one */

/* Kinds of things that are worth a look. */
enum overview_kind {
    OVERVIEW_BUSY,     /* queues with ready or leased jobs */
    OVERVIEW_HELD,     /* queues that have such jobs, and give none */
    OVERVIEW_UNSERVED, /* queues with ready jobs for which no worker waits */
    OVERVIEW_DEAD,     /* queues with dead jobs */
    OVERVIEW_GATED,    /* tenants in maintenance or quiet hours, paused, or near a limit */
    OVERVIEW_KINDS
};

struct overview_place {
    uint64_t score;
    size_t len;
    char name[QUEUE_MAX_BYTES];
};

/* What one pass found. */
struct ranking {
    uint64_t counts[OVERVIEW_KINDS]; /* of all things of the kind */
    size_t n[OVERVIEW_KINDS];
    struct overview_place places[OVERVIEW_KINDS][OVERVIEW_ROWS];
    uint64_t queues, tenants;
    int64_t at_ms; /* when the pass ended */
};

struct overview {
    struct named named; /* first: by scope */
    char text[NAME_MAX_BYTES];
    struct list link;
    struct ranking made; /* by the pass that is under way */
    struct ranking done; /* by the pass before */
    bool making, is_done;
    bool at_tenants; /* the pass has seen all queues */
    size_t after_len;
    char after[QUEUE_MAX_BYTES]; /* the last thing that the pass saw */
    int64_t moved_ms;            /* when it last went on */
};

struct overviews {
    struct table table;
    struct list all; /* the scope that nobody asked about for longest first */
    size_t n;
};

/* NULL: there is no memory. */
struct overviews *overviews_new(struct hash_key key);
void overviews_free(struct overviews *os);
/* The memory that they take; 0 for NULL. */
size_t overviews_bytes(const struct overviews *os);

/* Counts a thing in a ranking, if its score is not 0. Among equal scores the first one stays. */
void ranking_add(struct ranking *r, enum overview_kind kind, struct str name, uint64_t score);

#endif
