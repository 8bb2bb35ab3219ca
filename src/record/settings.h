/* SPDX-License-Identifier: MIT */
/* The settings of queues and tenants, as they are stored. */
#ifndef RECORD_SETTINGS_H
#define RECORD_SETTINGS_H

#include <stdint.h>

#include "base/str.h"
#include "record/limits.h"

/* So many in each period; count 0: as many as there are. */
struct rate {
    int64_t count;
    int64_t per_ms;
};

#define RATE_COUNT_MAX 1000000
#define RATE_PER_MAX   INT64_C(86400000)

#define QUEUE_FIELDS(X)              \
    X(PAUSED, paused)                \
    X(LEASE, lease_ms)               \
    X(ATTEMPTS, attempts)            \
    X(BACKOFF, backoff)              \
    X(RETAIN, retain_ms)             \
    X(RETAIN_DEAD, retain_dead_ms)   \
    X(KEY_HOLD, key_hold_ms)         \
    X(PAST_GRACE, past_grace_ms)     \
    X(MAX_RUNNING, max_running)      \
    X(RATE, rate)                    \
    X(PUSH_URL, push.url)            \
    X(PUSH_HEADERS, push.headers)    \
    X(PUSH_SECRET, push.secrets)     \
    X(PUSH_TIMEOUT, push.timeout_ms) \
    X(PUSH_CONCURRENCY, push.concurrency)

/* How a queue's jobs are pushed: see push.h. */
struct push_settings {
    struct str url;     /* empty: they are not, workers lease them; `job`: each has its own */
    struct str headers; /* sent along: lines of `Name: value` */
    struct str secrets; /* that sign: one, or two with a blank between; empty: none */
    int64_t timeout_ms;
    int64_t concurrency; /* at a time */
};

enum queue_field {
#define QUEUE_FIELD_ENUM(name, member) QUEUE_##name,
    QUEUE_FIELDS(QUEUE_FIELD_ENUM)
#undef QUEUE_FIELD_ENUM
};

struct queue_settings {
    bool paused;
    int64_t lease_ms;
    int64_t attempts;
    char backoff[BACKOFF_MAX_BYTES + 1];
    int64_t retain_ms;
    int64_t retain_dead_ms;
    int64_t key_hold_ms;
    int64_t past_grace_ms;     /* -1: any past moment is accepted */
    int64_t max_running;       /* leased at a time; 0: any number */
    struct rate rate;          /* of leases */
    struct push_settings push; /* of a queue its texts are the queue's own */
};

extern const struct queue_settings queue_defaults;

#define TENANT_FIELDS(X)        \
    X(WEIGHT, weight)           \
    X(MAINTENANCE, maintenance) \
    X(MAX_PENDING, max_pending) \
    X(MAX_RUNNING, max_running) \
    X(RATE, rate)               \
    X(QUIET, quiet)             \
    X(TZ, tz)                   \
    X(SPREAD, spread_ms)

enum tenant_field {
#define TENANT_FIELD_ENUM(name, member) TENANT_##name,
    TENANT_FIELDS(TENANT_FIELD_ENUM)
#undef TENANT_FIELD_ENUM
};

#define WEIGHT_MAX 1000

struct tenant_settings {
    int64_t weight;   /* jobs that it gives in its turn */
    bool maintenance; /* gives none but those that pass */
    int64_t
        max_pending; /* jobs that have not ended, 0: any number; beyond it SCHEDULE is refused */
    int64_t max_running;
    struct rate rate;
    char quiet[QUIET_MAX_BYTES + 1]; /* quiet hours, see recur/quiet.h; empty: none */
    char tz[TZ_MAX_BYTES + 1];       /* empty: UTC */
    int64_t spread_ms; /* what they deferred is delivered within this after their end */
};

extern const struct tenant_settings tenant_defaults;

#endif
