/* SPDX-License-Identifier: MIT */
/* What goes into and comes out of the engine: plain data, slices borrowed unless said otherwise. */
#ifndef ENGINE_TYPES_H
#define ENGINE_TYPES_H

#include <stdint.h>

#include "base/hist.h"
#include "base/id.h"
#include "base/str.h"

#define NAME_MAX_BYTES    128
#define QUEUE_MAX_BYTES   (2 * NAME_MAX_BYTES + 1) /* tenant@queue */
#define SCOPE_SEP         '@'
#define HIDDEN_MARK       '~'
#define TENANT_DEFAULT    "default"
#define TENANT_ALL        "*"
#define KEY_MAX_BYTES     512 /* of an ordering key, too */
#define BACKOFF_MAX_BYTES 200
#define ERROR_MAX_BYTES   1024  /* of an error text or note; longer ones are cut */
#define RESULT_MAX_BYTES  65536 /* of a result; larger is an error */
#define TAGS_MAX          16
#define METAS_MAX         32
#define META_MAX_BYTES    1024 /* of a value */
#define AFTER_MAX         64   /* jobs that one may wait for, */
#define LISTENERS_MAX     1000 /* and that may wait for one */
#define QUIET_MAX_BYTES   200
#define TZ_MAX_BYTES      128
#define SPREAD_MAX_MS     INT64_C(86400000)
#define URL_MAX_BYTES     2000 /* of a URL that jobs are pushed to */
#define HEADERS_MAX_BYTES 4096 /* of what is sent along, */
#define HEADERS_MAX       32   /* and how many they are */
#define SECRETS_MAX_BYTES 200
#define PUSH_TIMEOUT_MAX  INT64_C(3600000)
#define PUSH_RUNNING_MAX  1000
#define PUSH_MARGIN_MS    15000 /* what a lease for a push has beyond its timeout */
#define LEASE_COUNT_MAX   1000
#define LEASE_BYTES_MAX   (4u << 20) /* payload in one LEASE answer, though at least one job */
#define LEASE_GRACE_MS    10000
#define LEASE_MAX_MS      INT64_C(604800000) /* a week */
#define LEASE_QUEUES_MAX  64
#define HISTORY_ENTRIES   10 /* attempts remembered per job */
#define POISON_STALLS     10 /* stalls in a row that end a job whatever its attempts allow */

/* A job's life. The names are what users see. */
#define JOB_STATES(X)         \
    X(SCHEDULED, "scheduled") \
    X(READY, "ready")         \
    X(LEASED, "leased")       \
    X(DONE, "done")           \
    X(DEAD, "dead")           \
    X(CANCELLED, "cancelled") \
    X(EXPIRED, "expired")     \
    X(WAITING, "waiting") /* for other jobs: by what it waits for, not by a state of its own */

enum job_state {
#define JOB_STATE_ENUM(name, text) JOB_##name,
    JOB_STATES(JOB_STATE_ENUM)
#undef JOB_STATE_ENUM
        JOB_STATE_COUNT
};

const char *job_state_name(enum job_state s);

/* Names of queues and tenants: 1-128 of A-Z a-z 0-9 . _ - : / */
bool name_valid(struct str name);

/* Everywhere below a queue is named in full: `queue` if it is the default tenant's, `tenant@queue`
 * if it is another's. In a lease_request `*@queue` stands for that of all tenants. */
bool queue_name_valid(struct str full);
/* The same, or one of the engine's own queues: their names begin with ~, so that no user's do. */
bool stored_name_valid(struct str full);
void scope_split(struct str full, struct str *ret_tenant, struct str *ret_queue);

/* What becomes of a job if one that it waits for ends otherwise than done. */
enum after_fail { AFTERFAIL_CANCEL, AFTERFAIL_RUN };

enum if_exists { IFEXISTS_KEEP, IFEXISTS_REPLACE, IFEXISTS_REJECT };

struct meta {
    struct str name;
    struct str value;
};

struct job_spec {
    struct str queue;
    struct str payload;
    int64_t due_ms; /* -1: now */
    struct str key; /* empty: none; likewise order, the ordering key */
    struct str order;
    enum if_exists if_exists;
    int priority;       /* 1-5 */
    int64_t attempts;   /* 0: for ever; -1: the queue's */
    struct str backoff; /* empty: the queue's */
    int64_t lease_ms;   /* -1: the queue's */
    int64_t retain_ms;  /* how long it is kept once done; -1: the queue's */
    int64_t expire_ms;  /* after it is due, if it was not started by then; -1 or 0: never */
    const struct str *tags;
    size_t tag_count;
    const struct meta *meta;
    size_t meta_count;
    bool notify;                /* quiet hours defer it */
    bool passing;               /* but neither they nor maintenance hold it */
    const struct job_id *after; /* jobs that it waits for */
    size_t after_count;
    enum after_fail after_fail;
    struct str push; /* URL that it is pushed to; empty: the queue's, if it has one */
};

enum schedule_outcome { SCHEDULE_CREATED, SCHEDULE_KEPT, SCHEDULE_REPLACED };

struct schedule_result {
    struct job_id id;
    enum schedule_outcome outcome;
};

struct lease_request {
    const struct str *queues;
    size_t queue_count; /* 1 .. LEASE_QUEUES_MAX */
    size_t count;       /* 1 .. LEASE_COUNT_MAX */
    int64_t for_ms;     /* -1: the job's, else the queue's */
    struct str worker;  /* may be empty */
};

struct fail_result {
    enum job_state state; /* scheduled, dead or cancelled */
    int64_t at_ms;        /* when it runs again, if scheduled */
};

struct extend_spec {
    int64_t for_ms;   /* -1: as long as the lease was given for */
    int64_t progress; /* 0-100; -1: unchanged */
    struct str note;  /* ptr NULL: unchanged */
};

struct extend_result {
    int64_t until_ms;
    bool cancelled; /* somebody asked for it: stop, it will not be retried */
};

#define CANCEL_OUTCOMES(X)    \
    X(CANCELLED, "cancelled") \
    X(RUNNING, "running")     \
    X(NOTFOUND, "notfound")

enum cancel_outcome {
#define CANCEL_OUTCOME_ENUM(name, text) CANCEL_##name,
    CANCEL_OUTCOMES(CANCEL_OUTCOME_ENUM)
#undef CANCEL_OUTCOME_ENUM
};

/* How an attempt ended. The numbers are on disk. */
#define ATTEMPT_OUTCOMES(X)    \
    X(DONE, 0, "done")         \
    X(FAILED, 1, "failed")     \
    X(STALLED, 2, "stalled")   \
    X(RELEASED, 3, "released") \
    X(AGAIN, 4, "again")

enum attempt_outcome {
#define ATTEMPT_OUTCOME_ENUM(name, number, text) ATTEMPT_##name = (number),
    ATTEMPT_OUTCOMES(ATTEMPT_OUTCOME_ENUM)
#undef ATTEMPT_OUTCOME_ENUM
};

const char *attempt_outcome_name(unsigned outcome);

struct attempt {
    uint32_t number;
    int64_t start_ms;
    int64_t end_ms;
    int64_t late_ms; /* start - the moment it was to run */
    unsigned outcome;
    struct str worker;
    struct str error;
};

/* A job as it is. Slices point into the engine and last until its next call. */
struct job_view {
    struct job_id id;
    enum job_state state;
    struct str tenant;
    struct str queue; /* without the tenant */
    struct str payload;
    struct str key;
    struct str order;
    int priority;
    int64_t created_ms;
    int64_t due_ms;      /* nominal */
    int64_t at_ms;       /* when it becomes or became ready: due_ms, or the moment of the request
                            if that was later, or of the retry */
    uint32_t attempt;    /* deliveries so far that count */
    int64_t attempts;    /* allowed; 0: for ever */
    uint32_t stalls;     /* in a row */
    uint32_t deferrals;  /* how many times quiet hours put it off; */
    int64_t deferred_ms; /* they have it wait until then; -1: they do not */
    uint64_t token;      /* leased, or of the last lease; 0: never leased */
    int64_t lease_ms;    /* leased: length; */
    int64_t until_ms;    /* and end */
    struct str worker;
    int64_t progress; /* -1: none told */
    struct str note;
    bool cancelling;    /* leased and asked to stop */
    int64_t expires_ms; /* -1: never */
    struct str tags[TAGS_MAX];
    size_t tag_count;
    struct meta meta[METAS_MAX];
    size_t meta_count;
    struct job_id after[AFTER_MAX]; /* jobs that it still waits for */
    size_t after_count;
    struct str recurrence; /* whose occurrence it is; empty: of none; */
    int64_t nominal_ms;    /* and which one */
    bool notify;
    bool passing;
    bool replacing;   /* leased and to run again with another payload */
    int64_t ended_ms; /* terminal */
    int64_t keep_ms;  /* terminal: forgotten then */
    struct str result;
    struct str push;                         /* its own URL; empty: none */
    struct str error;                        /* of the last attempt that failed */
    struct attempt history[HISTORY_ENTRIES]; /* oldest first */
    size_t history_count;
};

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
    char quiet[QUIET_MAX_BYTES + 1]; /* quiet hours, see engine_options.quiet_until; empty: none */
    char tz[TZ_MAX_BYTES + 1];       /* empty: UTC */
    int64_t spread_ms; /* what they deferred is delivered within this after their end */
};

extern const struct tenant_settings tenant_defaults;

struct tenant_view {
    struct str name;
    const struct tenant_settings *settings;
    uint64_t pending; /* jobs that have not ended */
    uint64_t running;
    uint64_t queues;
    int64_t quiet_until_ms; /* -1: it is not quiet */
};

/* What keeps a queue from giving out its ready jobs. */
#define HOLDS(X)                                                                                   \
    X(NONE, "")                                                                                    \
    X(PAUSED, "the queue is paused")                                                               \
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
    X(TENANT_PUSHES, "the tenant has as many pushes under way as one tenant may")

enum hold {
#define HOLD_ENUM(name, text) HOLD_##name,
    HOLDS(HOLD_ENUM)
#undef HOLD_ENUM
};

const char *hold_text(enum hold h);

/* Counted since the engine was made. */
#define ENGINE_COUNTERS(X)                                      \
    X(scheduled, "jobs accepted")                               \
    X(kept, "SCHEDULE answered by a job that had the key")      \
    X(replaced, "jobs replaced by key")                         \
    X(picked, "leases given")                                   \
    X(succeeded, "attempts completed")                          \
    X(failed, "attempts failed")                                \
    X(stalled, "leases that ended without a word")              \
    X(released, "leases given back")                            \
    X(retried, "jobs scheduled again after a failure or stall") \
    X(dead, "jobs that ended dead")                             \
    X(cancelled, "jobs cancelled")                              \
    X(expired, "jobs that were not started in time")            \
    X(deferred, "jobs that quiet hours put off")                \
    X(history_dropped, "ended jobs forgotten before their time, for want of room")

struct counters {
#define ENGINE_COUNTER_MEMBER(name, help) uint64_t name;
    ENGINE_COUNTERS(ENGINE_COUNTER_MEMBER)
#undef ENGINE_COUNTER_MEMBER
};

struct queue_view {
    struct str name; /* in full */
    const struct queue_settings *settings;
    uint64_t jobs[JOB_STATE_COUNT]; /* per state */
    size_t waiters;
    const struct counters *counters;
    const struct hist *lateness; /* ms: delivery - the moment it was to run */
    const struct hist *runtime;  /* ms: end of attempt - its start */
    const struct hist *wait;     /* ms: how long a LEASE waited until it got jobs */
    enum hold hold;
};

struct engine_stats {
    uint64_t jobs[JOB_STATE_COUNT];
    uint64_t queues;
    uint64_t tenants;
    uint64_t waiters;
    uint64_t memory_bytes; /* by the engine's account */
    uint64_t hot_jobs;     /* in memory, of any state */
    uint64_t cold_jobs;    /* on disk only */
    uint64_t runs;
    uint64_t run_bytes;
    uint64_t live_bytes;
    uint64_t untold; /* ended jobs that others have not been told of yet */
    struct counters counters;
    const struct hist *lateness;
    const struct hist *runtime;
    const struct hist *wait;
};

/* The same of one tenant, summed up over its queues. */
struct tenant_stats {
    uint64_t jobs[JOB_STATE_COUNT];
    uint64_t queues;
    uint64_t waiters; /* at its queues: those of all tenants are not among them */
    struct counters counters;
    struct hist lateness;
    struct hist runtime;
    struct hist wait;
};

/* Why a job has not run. */
#define REASONS(X)                    \
    X(SCHEDULED, "scheduled")         \
    X(PARENT, "parent")               \
    X(BACKOFF, "backoff")             \
    X(PAUSED, "paused")               \
    X(MAINTENANCE, "maintenance")     \
    X(RUNNING_LIMIT, "running_limit") \
    X(RATE_LIMIT, "rate_limit")       \
    X(NO_WORKER, "no_worker")         \
    X(ON_DISK, "on_disk")             \
    X(BEHIND, "behind")               \
    X(RUNNING, "running")             \
    X(ENDED, "ended")                 \
    X(QUIET_HOURS, "quiet_hours")     \
    X(SLOW_START, "slow_start")       \
    X(ORDERING_KEY, "ordering_key")   \
    X(ENDPOINT, "endpoint")

enum reason {
#define REASON_ENUM(name, text) REASON_##name,
    REASONS(REASON_ENUM)
#undef REASON_ENUM
};

const char *reason_name(enum reason r);

struct explanation {
    enum job_state state;
    enum reason reason;
    int64_t until_ms;    /* -1: not known */
    uint64_t ready;      /* jobs of its queue that are */
    int64_t deferred_ms; /* see job_view */
    uint32_t deferrals;
    char why[200];
};

struct list_filter {
    struct str tenant; /* empty or `*`: all */
    struct str queue;  /* in full; empty: all */
    int state;         /* -1: all */
    int64_t from_ms;   /* due; inclusive */
    int64_t to_ms;     /* due; exclusive; INT64_MAX: no end */
    struct str tag;    /* empty: any */
    size_t limit;      /* 1 .. 1000 */
    unsigned states;   /* bits 1 << enum job_state, in place of `state`; 0: that counts */
    uint64_t below;    /* only jobs with a smaller sequence number; 0: all */
    size_t stripe;     /* jobs in memory to look at in one call, about; 0: some thousand */
    uint64_t *looked;  /* jobs that were looked at are added here; may be NULL */
    bool once;         /* no second round, see list_cursor.walk: the caller begins anew */
};

/* Where the next page starts. All zero: at the beginning. A walk looks at what is in memory, then
 * at what is on disk, then at what came from there to memory meanwhile. */
struct list_cursor {
    bool more;     /* out: there may be another page */
    uint8_t phase; /* enum list_phase */
    uint8_t stripes_log2;
    uint64_t stripe;
    int64_t due_ms; /* jobs up to (due_ms, seq) of the stripe have been given */
    uint64_t seq;
    uint32_t walk;  /* which one it is; and shifted by 12 bits where its last round began, for what
                       went back to disk behind it */
    uint32_t since; /* the newest run when it began: later rounds show what was fed after that */
    uint64_t epoch; /* of the engine that gave it: another one knows nothing of its walks */
    uint16_t key_len;
    char key[QUEUE_MAX_BYTES + 28]; /* on disk: jobs up to this key of a run have been given; what
                                      was loaded: what to look at then */
};

enum list_phase { LIST_MEMORY, LIST_DISK, LIST_LOADED };

#endif
