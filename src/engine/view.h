/* SPDX-License-Identifier: MIT */
/* What comes out of the engine: plain data, slices borrowed unless said otherwise. */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include "base/hist.h"
#include "base/id.h"
#include "record/jobstate.h"
#include "record/name.h"
#include "record/settings.h"

struct meta {
    struct str name;
    struct str value;
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
    uint32_t walk;  /* its number; shifted by 12 bits, where its last round began, for what went
                       to disk behind it; shifted by 24, how many rounds there were */
    uint32_t since; /* the newest run when it began: later rounds show what was fed after that */
    uint64_t epoch; /* of the engine that gave it: another one knows nothing of its walks */
    uint16_t key_len;
    char key[QUEUE_MAX_BYTES + 28]; /* on disk: jobs up to this key of a run have been given; what
                                      was loaded: what to look at then */
};

enum list_phase { LIST_MEMORY, LIST_DISK, LIST_LOADED };

#endif
