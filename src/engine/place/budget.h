/* SPDX-License-Identifier: MIT */
/* The memory budget and its shares. */
#ifndef ENGINE_BUDGET_H
#define ENGINE_BUDGET_H

#include "engine/engine_data.h"

/* A share: its name, its parts, of how many parts, and its purpose. */
#define SHARES(X)                                                                            \
    X(KEPT, 1, 4, "what the pool keeps when jobs leave it")                                  \
    X(HOT, 3, 8, "what hot and leased jobs may take")                                        \
    X(CROWDED, 1, 4, "beyond this, hot and leased jobs crowd the memory")                    \
    X(CLASS, 1, 64, "what a class may take though there is no room")                         \
    X(CLASSES, 1, 16, "what all classes may take then, if they are many")                    \
    X(TENANT, 1, 64, "what hot jobs of a tenant may take though there is no room")           \
    X(ASKED, 3, 4, "what hot jobs of a tenant may take for the sake of workers that ask")    \
    X(OWNERS, 1, 8, "what jobs may take that own their lanes without being leased")          \
    X(LEASED, 1, 2, "what tenants share for leased jobs: each as much as it leaves")         \
    X(LEASED_ALL, 9, 16, "what leased jobs may take, of all tenants together")               \
    X(LEASED_LEAST, 1, 1024, "what a tenant's leased jobs may take though nothing is left")  \
    X(STANDING, 3, 4, "what tenants share for queues and LEASEs that wait")                  \
    X(STANDING_LEAST, 1, 1024, "what those of a tenant may take though nothing is left")     \
    X(SERIES, 1, 16, "figures over time")                                                    \
    X(ASIDES, 1, 32, "what is known of lanes that have jobs aside")                          \
    X(BACK, 1, 16, "jobs that are aside again and stay in memory")                           \
    X(FULL, 7, 16, "when so much is used, jobs go to disk")                                  \
    X(WORTHY, 1, 8, "so many bytes of one kind of jobs are worth a batch")                   \
    X(TAILS, 1, 16, "so many bytes of tails join a batch")                                   \
    X(PAST, 1, 16, "so many bytes of ended jobs join a batch")                               \
    X(PAST_FULL, 1, 4, "while ended jobs take more, and can go to disk, nothing is loaded")  \
    X(LATER, 1, 64, "so many bytes of jobs beyond the frontier join a batch")                \
    X(BATCH, 1, 5, "jobs of one batch")                                                      \
    X(SOON, 1, 4, "while tails are smaller, what is due soon stays in memory")               \
    X(GRAVES, 1, 16, "so many graves make a batch due")                                      \
    X(GRAVES_FULL, 1, 2, "so many graves are too many: on a full disk they cannot go there") \
    X(LOAD, 1, 16, "what is loaded at one time")                                             \
    X(UNLOAD, 1, 2, "while tails are larger, nothing is loaded by due time")

/* Bytes of queues, tenants and waiters that the account leaves out: what idle queues may take. */
#define KNOWN_FREE (4u << 20)

enum share {
#define SHARE_ENUM(name, parts, of, what) SHARE_##name,
    SHARES(SHARE_ENUM)
#undef SHARE_ENUM
};

static inline uint64_t budget_share(const struct engine *e, enum share s)
{
    switch (s) {
#define SHARE_BYTES(name, parts, of, what) \
    case SHARE_##name: return e->o.memory_bytes / (of) * (parts);
        SHARES(SHARE_BYTES)
#undef SHARE_BYTES
    }
    return 0;
}

#endif
