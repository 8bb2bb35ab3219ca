/* SPDX-License-Identifier: MIT */
/* Reasons why a queue gives no job. */
#ifndef ENGINE_HOLD_H
#define ENGINE_HOLD_H

/* What keeps a queue from giving out its ready jobs. */
#define HOLDS(X)                                                                                   \
    X(NONE, "")                                                                                    \
    X(PAUSED, "the queue is paused")                                                               \
    X(TENANT_PAUSED, "the tenant is paused")                                                       \
    X(MAINTENANCE, "the tenant is in maintenance")                                                 \
    X(QUEUE_RUNNING, "the queue has as many running as it may")                                    \
    X(TENANT_RUNNING, "the tenant has as many running as it may")                                  \
    X(QUEUE_RATE, "the queue has given as many as its rate allows")                                \
    X(TENANT_RATE, "the tenant has given as many as its rate allows")                              \
    X(SERVER_RUNNING, "the server has as many running as it may")                                  \
    X(SLOW_START, "the server started a short while ago and has as many running as it may by now") \
    X(LANES, "too many jobs that did not succeed keep their ordering keys: others wait for them")  \
    X(ENDPOINT,                                                                                    \
      "the endpoint that it pushes to failed again and again: it is left alone for a while")       \
    X(TENANT_PUSHES, "the tenant has as many pushes under way as one tenant may")                  \
    X(TENANT_LEASED, "leased jobs of the tenant take as much memory as one tenant may")            \
    X(TENANT_MAX_LEASED, "leased jobs of the tenant take as much memory as its max_leased allows") \
    X(SERVER_LEASED, "leased jobs of all tenants take as much memory as they may")

enum hold {
#define HOLD_ENUM(name, text) HOLD_##name,
    HOLDS(HOLD_ENUM)
#undef HOLD_ENUM
};

#endif
