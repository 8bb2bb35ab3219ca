/* SPDX-License-Identifier: MIT */
/* Answers of the engine: plain data, slices borrowed unless said otherwise. */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include "base/hist.h"
#include "base/id.h"
#include "base/wire.h"
#include "engine/hold.h"
#include "record/jobstate.h"
#include "record/name.h"
#include "record/settings.h"

struct meta {
    struct str name;
    struct str value;
};

/* Marks that the producer gave a job. */
struct job_labels {
    struct str tags[TAGS_MAX];
    size_t tag_count;
    struct meta meta[METAS_MAX];
    size_t meta_count;
};

/* Reads the labels among options, which begin behind the moment that stands first there. */
void job_labels_read(struct wire_reader opts, struct job_labels *ret);

/* A job. Slices point into the engine and last until its next call. */
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
    int64_t at_ms;       /* when it becomes or became ready, which may be after due_ms */
    uint32_t attempt;    /* deliveries that count */
    int64_t attempts;    /* allowed deliveries; 0: any number */
    uint32_t stalls;     /* in a row */
    uint32_t deferrals;  /* how many times quiet hours put the job off */
    int64_t deferred_ms; /* quiet hours have the job wait until then; -1: they do not */
    uint64_t token;      /* of the last lease; 0: the job was never leased */
    int64_t lease_ms;    /* the length of its lease */
    int64_t until_ms;    /* the end of its lease */
    struct str worker;
    int64_t progress; /* -1: the worker told none */
    struct str note;
    bool cancelling;    /* the job is leased, and its worker is asked to stop */
    int64_t expires_ms; /* -1: never */
    struct job_labels labels;
    struct job_id after[AFTER_MAX]; /* jobs that it still waits for */
    size_t after_count;
    struct str recurrence; /* the recurrence of which the job is an occurrence; empty: none */
    int64_t nominal_ms;    /* its nominal time, if it is an occurrence */
    bool notify;
    bool passing;
    bool replacing;   /* the job is leased, and runs again with another payload */
    int64_t ended_ms; /* when it ended, if it has */
    int64_t keep_ms;  /* until when it is kept, if it has ended */
    struct str result;
    struct str push;     /* its own URL; empty: none */
    struct str error;    /* of the last attempt that failed */
    struct str history;  /* its attempts: attempts_reader reads them */
    struct str log;      /* lines of its workers: joblog_reader reads them */
    uint64_t kept_bytes; /* the part of the job in its tenant's kept_bytes */
};

struct tenant_view {
    struct str name;
    const struct tenant_settings *settings;
    uint64_t pending; /* jobs that have not ended */
    uint64_t running;
    uint64_t leased_bytes; /* memory of its leased jobs */
    uint64_t queue_bytes;  /* memory of its queues, and of its requests that wait */
    uint64_t queue_share;  /* the limit of queue_bytes */
    uint64_t kept_bytes;   /* the bytes that max_bytes counts */
    uint64_t queues;
    uint64_t used_queues; /* the queues that max_queues counts */
    uint64_t recurrences;
    int64_t quiet_until_ms; /* -1: it is not quiet */
    bool shut;              /* by maintenance */
    int64_t shut_until_ms;  /* -1: it is not shut, or until a setting changes */
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
    X(deferred, "jobs that quiet hours or maintenance put off") \
    X(recurred, "occurrences of recurrences that were made")    \
    X(missed, "occurrences whose time had passed")              \
    X(skipped, "occurrences that overlap or a limit left out")  \
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
    int64_t oldest_ms;  /* since when the oldest job that is ready waits; -1: none is ready */
    int64_t asked_ms;   /* when a worker last asked for its jobs; -1: not since the start */
    int64_t success_ms; /* when a job last completed; 0: never since the engine was made */
};

struct engine_stats {
    uint64_t jobs[JOB_STATE_COUNT];
    uint64_t queues, tenants, waiters;
    uint64_t awaits;       /* requests that wait for the end of a job */
    uint64_t memory_bytes; /* by the engine's own count */
    uint64_t hot_jobs;     /* in memory, of any state */
    uint64_t cold_jobs;    /* on disk only */
    uint64_t runs, run_bytes;
    uint64_t live_bytes, kept_bytes; /* bytes of jobs in memory; bytes kept of all tenants */
    uint64_t kept_refusals;          /* requests that max_bytes or tenant_bytes refused */
    uint64_t leased_bytes;           /* memory of leased jobs */
    uint64_t laden;        /* tenants that get no further job, as leased jobs take their share */
    uint64_t leased_holds; /* how many times a tenant reached that share, with more jobs to give */
    uint64_t untold;       /* ended jobs of which others have not been told yet */
    uint64_t queues_forgotten, tenants_forgotten; /* since the start */
    uint64_t audit_entries;                       /* of the audit log */
    uint64_t audit_dropped; /* entries that went before their time, for audit_max */
    struct counters counters;
    const struct hist *lateness;
    const struct hist *runtime;
    const struct hist *wait;
};

/* The figures of a tenant's queues. Counters and histograms include queues that were forgotten. */
struct tenant_stats {
    uint64_t jobs[JOB_STATE_COUNT];
    uint64_t queues;
    uint64_t waiters; /* at its queues; workers that wait for all tenants are not among them */
    uint64_t kept_bytes;
    struct counters counters;
    const struct hist *lateness;
    const struct hist *runtime;
    const struct hist *wait;
};

struct list_filter {
    struct str tenant;      /* empty or `*`: all */
    struct str queue;       /* in full; empty: all */
    int state;              /* -1: all */
    int64_t from_ms;        /* due; inclusive */
    int64_t to_ms;          /* due; exclusive; INT64_MAX: no end */
    struct str tag;         /* empty: any */
    struct str recurrence;  /* its occurrences; empty: any job */
    struct str key_prefix;  /* the beginning of the key; empty: any */
    struct str order;       /* empty: any */
    struct str worker;      /* of the present lease, or of a remembered attempt; empty: any */
    struct str error;       /* a part of the last error; empty: any */
    struct str error_group; /* the pattern of the last error: record/errorgroup.h; empty: any */
    int64_t ended_from_ms;  /* ended; inclusive; 0: any */
    int64_t ended_to_ms;    /* ended; exclusive; 0: any */
    size_t limit;           /* 1 .. 1000 */
    unsigned states;        /* bits 1 << enum job_state, instead of `state`; 0: `state` counts */
    uint64_t below;         /* only jobs with a smaller sequence number; 0: all jobs */
    size_t stripe;    /* about so many jobs in memory are looked at in one call; 0: some thousand */
    uint64_t *looked; /* the number of jobs that were looked at is added here; may be NULL */
    bool once;        /* there is no second round, see list_cursor.walk: the caller begins anew */
};

/* Where the next page starts. All zero: at the beginning. A walk looks at jobs in memory, then at
 * those on disk, then at those that came from disk to memory meanwhile. */
struct list_cursor {
    bool more;     /* output: there may be another page */
    uint8_t phase; /* enum list_phase */
    uint8_t stripes_log2;
    uint64_t stripe;
    int64_t due_ms; /* jobs up to (due_ms, seq) of the stripe have been given */
    uint64_t seq;
    /* The number of the walk. Shifted by 12 bits: where its last round began, which visits jobs
     * that went to disk behind the walk. Shifted by 24 bits: how many rounds there were. */
    uint32_t walk;
    uint32_t since; /* the newest run when the walk began: rounds show jobs that were fed later */
    uint64_t epoch; /* of the engine that gave the cursor: others know nothing of its walks */
    uint16_t key_len;
    char key[QUEUE_MAX_BYTES + 28]; /* LIST_DISK: the last key of a run; LIST_LOADED: the next */
};

enum list_phase { LIST_MEMORY, LIST_DISK, LIST_LOADED, LIST_SORTED /* see sorted.h */ };

#endif
