/* SPDX-License-Identifier: MIT */
/*
 * What a store must have: a naive model of its contract, by the answers that it gave. A shelf is
 * copied with `=`, so that a state of the disk and what was promised then can be held together.
 */
#ifndef POWER_SHELF_H
#define POWER_SHELF_H

#include "store/store.h"

#define SHELF_LOGS     10
#define SHELF_RECORDS  3
#define SHELF_ELEMENTS 64

struct shelf_log {
    char name[24];
    unsigned life;               /* how often the log was made: each has other elements */
    uint64_t count;              /* elements that were acknowledged; 0: there is no log */
    uint64_t durable;            /* of them, those that survive a loss of power */
    uint64_t maybe;              /* one more (1) is perhaps there */
    bool clean;                  /* all of it is durable, and nothing is written behind it */
    bool ghost;                  /* one that failed may be back after a loss of power */
    bool leaving;                /* it is perhaps removed */
    bool doubtful;               /* an earlier process may have left a torn end */
    bool busy;                   /* a thread is at it */
    uint64_t at[SHELF_ELEMENTS]; /* positions; 0: not known */
};

struct shelf_record {
    char name[24];
    uint64_t version; /* 0: absent. Its value is made from it */
    uint64_t maybe;   /* 0, or the version that it perhaps has */
};

struct shelf {
    struct shelf_log logs[SHELF_LOGS];
    struct shelf_record records[SHELF_RECORDS];
    unsigned mutant;
};

void shelf_init(struct shelf *s);

/* Element `seq` of a log, in a buffer of SHELF_BYTES. */
#define SHELF_BYTES 24000
struct str shelf_element(const struct shelf_log *l, uint64_t seq, char *buf);
struct str shelf_value(const struct shelf_record *r, uint64_t version, char buf[64]);

/* How the process that kept the shelf ended. */
enum end {
    END_NONE,  /* it lives: everything acknowledged is there */
    END_KILL,  /* everything acknowledged, and perhaps what was under way */
    END_POWER, /* everything durable */
};

/* Looks at everything. False with a text in `why` if something is missing, wrong or too much. What
 * was found is in the shelf afterwards. A log of this index is damaged; -1: none is. */
bool shelf_judge(struct shelf *s, struct store *store, enum end end, int damaged, char why[512]);
/* The same for one of them. */
bool shelf_judge_log(struct shelf_log *l, struct store *store, enum end end, char why[512]);
bool shelf_judge_record(struct shelf_record *m, struct store *store, char why[512]);
/* Elements that shelf_judge has looked up so far. */
extern uint64_t shelf_looked;

#endif
