/* SPDX-License-Identifier: MIT */
/* The options of a job: tagged bytes in front of its payload. They are zigzag(created - born), then
 * one after another of enum job_opt. */
#ifndef RECORD_OPTS_H
#define RECORD_OPTS_H

#include "base/buf.h"
#include "base/id.h"
#include "base/wire.h"
#include "record/jobstate.h"

enum job_opt {
    OPT_KEY = 1,
    OPT_ATTEMPTS = 2,
    OPT_BACKOFF = 3,
    OPT_LEASE = 4,
    OPT_RETAIN = 5,
    OPT_EXPIRE = 6,
    OPT_TAG = 7,  /* there may be several of it, */
    OPT_META = 8, /* and of it */
    OPT_ORDER = 9,
    OPT_NOTIFY = 10,
    OPT_GATES = 11,
    OPT_AFTER = 12,     /* a job that it waits for; several */
    OPT_AFTERFAIL = 13, /* enum after_fail */
    OPT_LISTENER = 14,  /* a job that is told when it has ended; several */
    OPT_NOMINAL = 15,   /* it is an occurrence: of when, and of which recurrence */
    OPT_PUSH = 16,      /* its own URL */
};

/* One of them, as it stands in a job's tail. */
struct opt {
    enum job_opt type;
    struct str
        bytes; /* KEY, BACKOFF, ORDER, TAG, PUSH; META: its name; NOMINAL: the recurrence's */
    struct str value; /* META */
    int64_t number;   /* the others; AFTER, LISTENER: the id's due time */
    uint64_t seq;     /* AFTER, LISTENER */
};

struct job_opts {
    int64_t created_ms;
    struct str key;
    int64_t attempts; /* -1: not given; likewise below */
    struct str backoff;
    int64_t lease_ms;
    int64_t retain_ms;
    int64_t expire_ms;
    bool notify;
    bool passing;
    enum after_fail after_fail;
    size_t afters;
    size_t listeners;
    struct str order;
    struct str push;
};

/* There is nothing in them but when the job was made, as in most: a varint. */
static inline bool opts_are_bare(struct str opts)
{
    size_t n = 1;

    while (n < opts.len && (uint8_t)opts.ptr[n - 1] >= 0x80)
        n++;
    return n >= opts.len;
}

void job_opts_put(struct buf *out, const struct job_opts *o, int64_t born_ms);
void job_opts_read(struct str opts, int64_t born_ms, struct job_opts *ret);
/* The next option; false at the end, or where a newer version's begin. */
bool job_opt_next(struct wire_reader *r, struct opt *ret);
void opts_put_id(struct buf *out, enum job_opt type, struct job_id id);
/* A job's key and ordering key, of its options as an image has them; empty if it has none. */
void cold_keys_of(struct str opts, struct str *ret_key, struct str *ret_order);

#endif
