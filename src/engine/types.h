/* SPDX-License-Identifier: MIT */
/* What goes into the engine: plain data, slices borrowed unless said otherwise. What comes out is
 * in view.h. */
#ifndef ENGINE_TYPES_H
#define ENGINE_TYPES_H

#include "base/id.h"
#include "engine/view.h"

enum if_exists { IFEXISTS_KEEP, IFEXISTS_REPLACE, IFEXISTS_REJECT };

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

#endif
