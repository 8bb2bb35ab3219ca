/* SPDX-License-Identifier: MIT */
/* The options of a job: tagged bytes in front of its payload. They begin with zigzag(created -
 * born); then each option has its number and its value. */
#ifndef RECORD_OPTS_H
#define RECORD_OPTS_H

#include "base/buf.h"
#include "base/id.h"
#include "base/wire.h"
#include "record/jobstate.h"

/* Options of which a job has one at most, in the order of writing: name, number on disk, kind,
 * member of struct job_opts. */
#define JOB_OPTS(X)                   \
    X(KEY, 1, BYTES, key)             \
    X(ATTEMPTS, 2, NUMBER, attempts)  \
    X(BACKOFF, 3, BYTES, backoff)     \
    X(LEASE, 4, NUMBER, lease_ms)     \
    X(RETAIN, 5, NUMBER, retain_ms)   \
    X(EXPIRE, 6, POSITIVE, expire_ms) \
    X(ORDER, 9, BYTES, order)         \
    X(PUSH, 16, BYTES, push)          \
    X(NOTIFY, 10, FLAG, notify)       \
    X(GATES, 11, FLAG, passing)       \
    X(KEY_HOLD, 18, POSITIVE, key_hold_ms)

#define OPT_TYPE_BYTES    struct str /* empty: not given */
#define OPT_TYPE_NUMBER   int64_t    /* -1: not given */
#define OPT_TYPE_POSITIVE int64_t    /* 0: not given */
#define OPT_TYPE_FLAG     bool

enum job_opt {
#define OPT_ENUM(name, number, kind, member) OPT_##name = (number),
    JOB_OPTS(OPT_ENUM)
#undef OPT_ENUM
        OPT_TAG = 7,    /* there may be several */
    OPT_META = 8,       /* there may be several */
    OPT_AFTER = 12,     /* a job that this job waits for; there may be several */
    OPT_AFTERFAIL = 13, /* enum after_fail */
    OPT_LISTENER = 14,  /* a job that is told of the end of this job; there may be several */
    OPT_TOLD = 17,      /* an AFTER whose job has ended: this job no longer waits for it */
    OPT_NOMINAL = 15,   /* of an occurrence: its nominal time, and its recurrence's name */
};

/* One option, as it stands in the tail of a job. */
struct opt {
    enum job_opt type;
    struct str bytes; /* KEY, BACKOFF, ORDER, TAG, PUSH; META: name; NOMINAL: the recurrence's */
    struct str value; /* META */
    int64_t number;   /* all other options; AFTER, TOLD, LISTENER: due time of the id */
    uint64_t seq;     /* AFTER, TOLD, LISTENER */
};

struct job_opts {
    int64_t created_ms;
#define OPT_MEMBER(name, number, kind, member) OPT_TYPE_##kind member;
    JOB_OPTS(OPT_MEMBER)
#undef OPT_MEMBER
    enum after_fail after_fail;
    size_t afters;
    size_t listeners;
};

/* Most options have nothing but the varint in front. */
static inline bool opts_are_bare(struct str opts)
{
    size_t n = 1;

    while (n < opts.len && (uint8_t)opts.ptr[n - 1] >= 0x80)
        n++;
    return n >= opts.len;
}

void job_opts_put(struct buf *out, const struct job_opts *o, int64_t born_ms);
void job_opts_read(struct str opts, int64_t born_ms, struct job_opts *ret);
/* As job_opts_read, of options without the moment that stands first. */
void job_opts_read_rest(struct wire_reader r, struct job_opts *ret);
/* The next option; false at the end, and where options of a newer version begin. */
bool job_opt_next(struct wire_reader *r, struct opt *ret);
void opts_put_id(struct buf *out, enum job_opt type, struct job_id id);
/* The key and the ordering key in the options of an image; empty if there is none. */
void cold_keys_of(struct str opts, struct str *ret_key, struct str *ret_order);

#endif
