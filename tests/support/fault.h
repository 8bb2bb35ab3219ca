/* SPDX-License-Identifier: MIT */
/*
 * A store that fails on demand, around a memory store: for the simulator.
 *
 * At each fault point of a call the wrapper asks `decide`. FAULT_CRASH kills it there. That call
 * and all later calls answer IO and do nothing until fault_revive. A random part of the writes that
 * were not durable is lost, as in a loss of power. FAULT_FAIL makes the call answer what the point
 * stands for. What `decide` does besides (let virtual time pass, say) is its own business. The
 * memory store is the disk: it stays as it was left, for the next caller that opens the store.
 *
 * Points of an append are offered in the order below, and only if the append would succeed: a
 * write that the store would refuse anyway cannot tear.
 */
#ifndef SUPPORT_FAULT_H
#define SUPPORT_FAULT_H

#include "store/store.h"

/* Name, text, what FAULT_FAIL answers there (0: a point of crashes only). */
/* clang-format off */
#define FAULT_POINTS(X)                                                                           \
    X(APPEND_BEFORE,          "append.before",          0)                                        \
    X(APPEND_FULL,            "append.full",            BELFRY_FULL)    /* nothing written */     \
    X(APPEND_FENCED,          "append.fenced",          BELFRY_FENCED)                            \
    X(APPEND_INDOUBT_LOST,    "append.indoubt_lost",    BELFRY_INDOUBT)                           \
    X(APPEND_FAIL,            "append.fail",            BELFRY_IO) /* nothing, part, all of it */ \
    X(APPEND_TORN,            "append.torn",            0)         /* part of it is written */    \
    X(APPEND_INDOUBT_APPLIED, "append.indoubt_applied", BELFRY_INDOUBT)                           \
    X(APPEND_AFTER,           "append.after",           0)                                        \
    X(SYNC_BEFORE,            "sync.before",            0)                                        \
    X(SYNC_FAIL,              "sync.fail",              BELFRY_IO)                                \
    X(SYNC_AFTER,             "sync.after",             0)                                        \
    X(READ_BEFORE,            "read.before",            0)                                        \
    X(READ_FAIL,              "read.fail",              BELFRY_IO)                                \
    X(READ_AFTER,             "read.after",             0)                                        \
    X(LIST_BEFORE,            "list.before",            0)                                        \
    X(LIST_FAIL,              "list.fail",              BELFRY_IO)                                \
    X(LIST_AFTER,             "list.after",             0)                                        \
    X(REMOVE_BEFORE,          "remove.before",          0)                                        \
    X(REMOVE_FAIL,            "remove.fail",            BELFRY_IO)                                \
    X(REMOVE_AFTER,           "remove.after",           0)                                        \
    X(SCAN_BEFORE,            "scan.before",            0)                                        \
    X(SCAN_FAIL,              "scan.fail",              BELFRY_IO)                                \
    X(SCAN_AFTER,             "scan.after",             0)                                        \
    X(CAS_BEFORE,             "cas.before",             0)                                        \
    X(CAS_INDOUBT_LOST,       "cas.indoubt_lost",       BELFRY_INDOUBT)                           \
    X(CAS_FAIL,               "cas.fail",               BELFRY_IO)                                \
    X(CAS_INDOUBT_APPLIED,    "cas.indoubt_applied",    BELFRY_INDOUBT)                           \
    X(CAS_AFTER,              "cas.after",              0)
/* clang-format on */

enum fault_point {
#define FAULT_POINT_ENUM(name, text, answer) FAULT_##name,
    FAULT_POINTS(FAULT_POINT_ENUM)
#undef FAULT_POINT_ENUM
        FAULT_POINT_COUNT
};

enum fault_action {
    FAULT_GO,
    FAULT_FAIL, /* taken for FAULT_GO at a point of crashes only */
    FAULT_CRASH,
};

typedef enum fault_action fault_decide_fn(void *arg, enum fault_point point);

/* `inner` is a memory store and stays the caller's: store_close on the wrapper leaves it open. The
 * seed chooses how much is torn or lost. NOMEM. */
int fault_new(struct store *inner, uint64_t seed, fault_decide_fn *decide, void *arg,
              struct store **ret);

/* After a crash: calls work again, as for a process that was started anew. */
void fault_revive(struct store *s);
bool fault_dead(const struct store *s);
/* Dies now, between two calls. */
void fault_crash(struct store *s);

/* How often a point was offered, and how often decide made use of it. */
uint64_t fault_offered(const struct store *s, enum fault_point point);
uint64_t fault_hits(const struct store *s, enum fault_point point);
const char *fault_name(enum fault_point point);
/* True if FAULT_FAIL means something there. */
bool fault_can_fail(enum fault_point point);

#endif
