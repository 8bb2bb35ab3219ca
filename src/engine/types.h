/* SPDX-License-Identifier: MIT */
/* Requests to the engine: plain data, borrowed slices unless noted. Answers are in view.h. */
#ifndef ENGINE_TYPES_H
#define ENGINE_TYPES_H

#include "base/id.h"
#include "engine/explanation.h"
#include "engine/view.h"

enum if_exists { IFEXISTS_KEEP, IFEXISTS_REPLACE, IFEXISTS_REJECT };

struct job_spec {
    struct str queue;
    struct str payload;
    int64_t due_ms; /* -1: now */
    struct str key; /* empty: none */
    struct str order;
    enum if_exists if_exists;
    int priority;        /* 1-5 */
    int64_t attempts;    /* 0: for ever; -1: the queue's */
    struct str backoff;  /* empty: the queue's */
    int64_t lease_ms;    /* -1: the queue's */
    int64_t retain_ms;   /* how long the job is kept once it is done; -1: the queue's */
    int64_t key_hold_ms; /* how long the key stays taken after the job is done, dead or cancelled;
                            -1 or 0: see the queue's */
    int64_t expire_ms;   /* how long after its due time the job expires if it was not started; -1 or
                            0: it never does */
    const struct str *tags;
    size_t tag_count;
    const struct meta *meta;
    size_t meta_count;
    bool notify;                /* quiet hours defer the job */
    bool passing;               /* neither quiet hours nor maintenance hold the job */
    const struct job_id *after; /* jobs that it waits for */
    size_t after_count;
    enum after_fail after_fail;
    struct str push; /* the URL of the job's own; empty: the queue's, if it has one */
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
    int64_t at_ms;        /* when a scheduled job runs again */
    int64_t attempt;      /* number of the attempt that failed */
    int64_t attempts;     /* how many the job has; 0: any number */
};

struct extend_spec {
    int64_t for_ms;   /* -1: as long as the lease was given for */
    int64_t progress; /* 0-100; -1: unchanged */
    struct str note;  /* ptr NULL: unchanged */
};

struct extend_result {
    int64_t until_ms;
    bool cancelled; /* a client cancelled the job: the worker should stop, no retry follows */
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
