/* SPDX-License-Identifier: MIT */
/* The settings of queues and tenants, as they are stored. */
#ifndef RECORD_SETTINGS_H
#define RECORD_SETTINGS_H

#include <stdint.h>

#include "base/str.h"
#include "record/limits.h"

/* At most `count` in any period; count 0: any number. See ratelog.h. */
struct rate {
    int64_t count;
    int64_t per_ms;
    int64_t burst; /* at once; 0: all of them. It divides the count */
};

#define RATE_COUNT_MAX 1000000
#define RATE_PER_MAX   INT64_C(86400000)

/* The jobs that a rate has counted: see ratelog.h. */
#define RATE_PARTS 64

struct rate_log {
    int64_t total; /* of the counts of all parts */
    uint32_t parts;
    struct rate_part {
        int64_t last_ms;
        uint32_t length_ms; /* from its first job to its last */
        uint32_t count;
    } part[RATE_PARTS]; /* the oldest first */
};

/* The settings of a queue, in the order in which its record has them: name, kind of field, member.
 * Records of older versions end before the later ones. */
#define QUEUE_FIRST_FIELDS(X)              \
    X(PAUSED, FLAG, paused)                \
    X(LEASE, SIGNED, lease_ms)             \
    X(ATTEMPTS, SIGNED, attempts)          \
    X(BACKOFF, TEXT, backoff)              \
    X(RETAIN, MOMENT, retain_ms)           \
    X(RETAIN_DEAD, MOMENT, retain_dead_ms) \
    X(KEY_HOLD, MOMENT, key_hold_ms)       \
    X(PAST_GRACE, SIGNED, past_grace_ms)
#define QUEUE_LATER_FIELDS(X)           \
    X(MAX_RUNNING, SIGNED, max_running) \
    X(RATE, RATE, rate)
/* Only the record of a queue that has one has this. */
#define QUEUE_BURST_FIELDS(X) X(BURST, PLAIN, rate.burst)
/* Only the record of a queue that is pushed has these. */
#define QUEUE_PUSH_FIELDS(X)                \
    X(PUSH_URL, BYTES, push.url)            \
    X(PUSH_HEADERS, BYTES, push.headers)    \
    X(PUSH_SECRET, BYTES, push.secrets)     \
    X(PUSH_TIMEOUT, PLAIN, push.timeout_ms) \
    X(PUSH_CONCURRENCY, PLAIN, push.concurrency)
#define QUEUE_FIELDS(X)   \
    QUEUE_FIRST_FIELDS(X) \
    QUEUE_LATER_FIELDS(X) \
    QUEUE_BURST_FIELDS(X) \
    QUEUE_PUSH_FIELDS(X)

/* How a queue's jobs are pushed: see push.h. */
struct push_settings {
    struct str url;     /* empty: workers lease the jobs; `job`: each job has its own */
    struct str headers; /* of each request: lines of `Name: value` */
    struct str secrets; /* for signatures: one, or two with a blank between; empty: none */
    int64_t timeout_ms;
    int64_t concurrency; /* pushes at a time */
};

enum queue_field {
#define QUEUE_FIELD_ENUM(name, kind, member) QUEUE_##name,
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
    struct push_settings push; /* the texts of a queue in memory are its own */
};

extern const struct queue_settings queue_defaults;
bool queue_settings_equal(const struct queue_settings *a, const struct queue_settings *b);
/* Whether these are queue_defaults. */
bool queue_settings_are_usual(const struct queue_settings *s);

/* The settings of a tenant, in the order in which its record has them, as those of a queue. */
#define TENANT_FIRST_FIELDS(X)          \
    X(WEIGHT, SIGNED, weight)           \
    X(MAINTENANCE, FLAG, maintenance)   \
    X(MAX_PENDING, SIGNED, max_pending) \
    X(MAX_RUNNING, SIGNED, max_running) \
    X(RATE, RATE, rate)
#define TENANT_LATER_FIELDS(X) \
    X(QUIET, TEXT, quiet)      \
    X(TZ, TEXT, tz)            \
    X(SPREAD, MOMENT, spread_ms)
/* A record of an older version may end before any of these; then the default holds. The list is
 * closed: the counts of the rate stand behind it, so a later setting goes behind those. */
#define TENANT_LIMIT_FIELDS(X)                 \
    X(MAX_QUEUES, LIMIT, max_queues)           \
    X(MAX_RECURRENCES, LIMIT, max_recurrences) \
    X(MAX_CONNECTIONS, LIMIT, max_connections) \
    X(REQUESTS, LIMIT, requests)               \
    X(MAX_BYTES, LIMIT, max_bytes)             \
    X(MAX_STREAMS, LIMIT, max_streams)         \
    X(MAX_LEASED, LIMIT, max_leased)           \
    X(BURST, LIMIT, rate.burst)                \
    X(UNTIL, LIMIT, maintenance_until_ms)
/* Behind the counts of the rate. */
#define TENANT_STOP_FIELDS(X) X(PAUSED, FLAG, paused)
#define TENANT_FIELDS(X) \
    TENANT_FIRST_FIELDS(X) TENANT_LATER_FIELDS(X) TENANT_LIMIT_FIELDS(X) TENANT_STOP_FIELDS(X)

enum tenant_field {
#define TENANT_FIELD_ENUM(name, kind, member) TENANT_##name,
    TENANT_FIELDS(TENANT_FIELD_ENUM)
#undef TENANT_FIELD_ENUM
};

#define WEIGHT_MAX 1000

struct tenant_settings {
    int64_t weight;               /* jobs that the tenant gives in its turn */
    bool paused;                  /* no job is given */
    bool maintenance;             /* only jobs that pass all gates are given */
    int64_t maintenance_until_ms; /* it ends by itself at this moment; 0: it does not */
    int64_t max_pending; /* SCHEDULE is refused beyond so many jobs that have not ended; 0: any */
    int64_t max_running;
    struct rate rate;
    char quiet[QUIET_MAX_BYTES + 1]; /* quiet hours, see recur/quiet.h; empty: none */
    char tz[TZ_MAX_BYTES + 1];       /* empty: UTC */
    int64_t spread_ms;  /* deferred jobs are delivered within this time after the quiet hours */
    int64_t max_queues; /* queues with jobs or settings; and others where workers wait; 0: any */
    int64_t max_recurrences; /* RECUR makes no further one beyond these; 0: any number */
    int64_t max_connections; /* of clients with its tokens; 0: as many as are free */
    int64_t requests;        /* in a second; 0: any number */
    int64_t max_bytes;       /* kept of its jobs; 0: as engine_options.tenant_bytes says */
    int64_t max_streams;     /* of events at a time; 0: half of all streams, which is the most */
    int64_t max_leased;      /* bytes of its leased jobs; 0: its share, which is the most */
};

extern const struct tenant_settings tenant_defaults;
bool tenant_settings_equal(const struct tenant_settings *a, const struct tenant_settings *b);

/* The records of settings. A record has what the rate had counted, by the wall clock. */
struct queue_record {
    struct str tenant;
    struct str queue;
    struct queue_settings settings;
    struct rate_log taken;
};

struct tenant_record {
    struct str name;
    struct tenant_settings settings;
    struct rate_log taken;
};

#endif
