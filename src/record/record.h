/* SPDX-License-Identifier: MIT */
/*
 * Records: the facts that a journal holds. A commit is
 *
 *     +------+----------------+----------------+--------+--------+---
 *     | 0x01 | epoch (varint) | wall ms (zigzag)| record | record | ...
 *     +------+----------------+----------------+--------+--------+---
 *
 * and a record
 *
 *     +---------+--------------------+------+
 *     | type u8 | length of body u32 | body |
 *     +---------+--------------------+------+
 *
 * Bodies are made of varints, zigzag varints (moments) and length-prefixed bytes, in the order of
 * the members below. A body may be longer than its reader knows: what follows the known part is
 * from a newer version and is ignored. Decoded slices borrow from the commit.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/wire.h"
#include "record/image.h"
#include "record/settings.h"

/* The numbers are on disk. */
enum record_type {
    RECORD_BEGIN = 1,   /* first in a segment, and before the oldest one is removed */
    RECORD_PUT = 2,     /* the whole of a job, new or as it is now */
    RECORD_LEASE = 3,   /* an attempt begins */
    RECORD_EXTEND = 4,  /* a heartbeat */
    RECORD_BACK = 5,    /* an attempt ended and the job is scheduled again */
    RECORD_END = 6,     /* the job is terminal */
    RECORD_MOVE = 7,    /* rescheduled, or deferred */
    RECORD_MARK = 8,    /* a leased job is to be cancelled or replaced when its attempt ends */
    RECORD_QUEUE = 9,   /* a queue's settings */
    RECORD_FED = 10,    /* jobs went from memory to new runs */
    RECORD_MERGED = 11, /* runs were replaced by others, or no longer count */
    RECORD_LOADED = 12, /* jobs came from runs to memory */
    RECORD_TAKEN = 13,  /* one job did, by a request */
    RECORD_RUN = 14,    /* copied forward: a run, */
    RECORD_GRAVE = 15,  /* the place that a job was taken from, */
    RECORD_TALLY = 16,  /* a queue's counts and floors on disk, */
    RECORD_COLD = 17,   /* and where the frontier is */
    RECORD_TENANT = 18, /* a tenant's settings */
    RECORD_TOLD = 19,   /* those who listen have been told of a job's end */
    RECORD_LISTEN = 20, /* one more listens */
    RECORD_TOKEN = 24,  /* a token, or that it is no more */
};

#define COMMIT_VERSION 1

struct begin_record {
    uint64_t previous; /* elements in the segment before this one */
    uint64_t next_seq;
    uint32_t oldest; /* the segment that the journal begins with; 0: it does not say */
};

struct lease_record {
    uint64_t seq;
    uint64_t token;
    int64_t start_ms;
    int64_t until_ms;
    int64_t lease_ms;
    int64_t late_ms;
    uint32_t attempt;
    struct str worker;
};

struct extend_record {
    uint64_t seq;
    int64_t until_ms;
    int64_t lease_ms;
    int64_t progress; /* -1: unchanged */
    bool has_note;
    struct str note;
};

#define OUTCOME_NONE 255u /* the job was not leased */

struct back_record {
    uint64_t seq;
    int64_t due_ms;
    int64_t at_ms;
    uint32_t attempt;
    uint32_t stalls;
    unsigned outcome;
    int64_t end_ms;
    struct str error;
};

struct end_record {
    uint64_t seq;
    unsigned state;
    int64_t ended_ms;
    int64_t keep_ms;
    int64_t hold_ms;
    unsigned outcome;
    uint32_t stalls;
    struct str error;
    struct str result;
};

struct move_record {
    uint64_t seq;
    int64_t due_ms;
    int64_t at_ms;
    bool deferred; /* by quiet hours, not by a request */
};

struct mark_record {
    uint64_t seq;
    unsigned flags;
    int64_t pending_due_ms;
    struct str pending;
};

struct queue_record {
    struct str tenant;
    struct str queue;
    struct queue_settings settings;
};

struct tenant_record {
    struct str name;
    struct tenant_settings settings;
};

struct told_record {
    uint64_t seq;
};

struct listen_record {
    uint64_t seq;
    int64_t due_ms; /* of the listener's id, */
    uint64_t listener;
};

struct token_record {
    struct str name;
    bool gone; /* revoked: what follows is not there */
    unsigned role;
    struct str tenant;
    int64_t created_ms;
    int64_t expires_ms;
    struct str hash;
};

/* Writes the head of a commit. */
void record_head(struct buf *out, uint64_t epoch, int64_t wall_ms);

/* A record's body is written between the two: open returns a mark for close. */
static inline size_t record_open(struct buf *out, enum record_type type)
{
    wire_put_u8(out, (uint8_t)type);
    wire_put_u32(out, 0);
    return out->len;
}

static inline void record_close(struct buf *out, size_t mark)
{
    uint32_t len = (uint32_t)(out->len - mark);
    if (!out->failed)
        memcpy(out->ptr + mark - 4, &len, 4);
}

void record_put_begin(struct buf *out, const struct begin_record *r);
void record_put_job(struct buf *out, const struct job_image *r);
void record_put_lease(struct buf *out, const struct lease_record *r);
void record_put_extend(struct buf *out, const struct extend_record *r);
void record_put_back(struct buf *out, const struct back_record *r);
void record_put_end(struct buf *out, const struct end_record *r);
void record_put_move(struct buf *out, const struct move_record *r);
void record_put_mark(struct buf *out, const struct mark_record *r);
void record_put_queue(struct buf *out, const struct queue_record *r);
void record_put_tenant(struct buf *out, const struct tenant_record *r);
void record_put_told(struct buf *out, const struct told_record *r);
void record_put_listen(struct buf *out, const struct listen_record *r);
void record_put_token(struct buf *out, const struct token_record *r);
/* Of an image only these. */
bool record_peek_job(struct str body, unsigned *ret_state, int64_t *ret_at_ms,
                     struct str *ret_queue);
/* The body of a PUT record alone. */
void record_put_image(struct buf *out, const struct job_image *r);

/* Decoders: false if malformed or out of range. */
bool record_get_begin(struct str body, struct begin_record *ret);
bool record_get_job(struct str body, struct job_image *ret);
bool record_get_lease(struct str body, struct lease_record *ret);
bool record_get_extend(struct str body, struct extend_record *ret);
bool record_get_back(struct str body, struct back_record *ret);
bool record_get_end(struct str body, struct end_record *ret);
bool record_get_move(struct str body, struct move_record *ret);
bool record_get_mark(struct str body, struct mark_record *ret);
bool record_get_queue(struct str body, struct queue_record *ret);
bool record_get_tenant(struct str body, struct tenant_record *ret);
bool record_get_told(struct str body, struct told_record *ret);
bool record_get_listen(struct str body, struct listen_record *ret);
bool record_get_token(struct str body, struct token_record *ret);
struct commit_head {
    uint64_t epoch;
    int64_t wall_ms;
};

/* Walks a commit: fn for each record until it returns other than 0, which is then returned.
 * CORRUPT if the commit is malformed. ret_head may be NULL. */
int record_walk(struct str commit, struct commit_head *ret_head,
                int (*fn)(void *arg, enum record_type type, struct str body), void *arg);

/* One remembered attempt, in trail_image.history. */
void record_put_attempt(struct buf *out, const struct attempt *a);
bool record_get_attempt(struct wire_reader *r, struct attempt *ret);

#endif
