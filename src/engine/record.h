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
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include "base/wire.h"
#include "engine/types.h"

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

/* Set in trail_image.flags. */
#define TRAIL_CANCELLING 1u
#define TRAIL_REPLACING  2u
#define TRAIL_TELLING    4u  /* ended, and those who listen are to be told */
#define TRAIL_HOLDING    8u  /* leased or deferred at its present due time: it keeps its lane */
#define TRAIL_GRACED     16u /* leased, and a start has given it its grace */

/* What happened to a job since it was first leased. */
struct trail_image {
    uint64_t token;
    int64_t start_ms;
    int64_t until_ms;
    int64_t lease_ms;
    int64_t late_ms;
    int64_t ended_ms;
    int64_t keep_ms;
    int64_t hold_ms; /* the key stays taken until then; 0: not held */
    unsigned flags;
    int64_t progress;
    struct str worker;
    struct str note;
    struct str result;
    struct str error;
    struct str history; /* encoded attempts, oldest first */
    int64_t pending_due_ms;
    struct str pending; /* payload of a replacement */
    int64_t deferred_ms;
    uint32_t deferrals;
};

struct job_image {
    uint64_t seq;
    int64_t born_ms; /* due at creation: part of the id */
    unsigned state;  /* never JOB_READY: that follows from time */
    unsigned priority;
    int64_t due_ms;
    int64_t at_ms;
    uint32_t attempt;
    uint32_t stalls;
    struct str tenant; /* empty: default */
    struct str queue;
    struct str opts; /* see struct job in internal.h */
    struct str payload;
    bool has_trail;
    struct trail_image trail;
};

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

struct fed_record {
    int64_t frontier_at;
    uint64_t frontier_seq;
    uint64_t graves;    /* those up to this serial number are in the runs */
    uint64_t serial;    /* of the grave of the first stale one; the others follow */
    struct str runs;    /* run_desc_put */
    struct str seqs;    /* of the jobs: zigzag differences */
    struct str tallies; /* tally_put */
    struct str stale;   /* jobs that changed meanwhile, whose entries do not count: seq, key, queue,
                           slot, gone_ms */
};

struct merged_record {
    struct str drops; /* files, varints */
    struct str runs;
    struct str tallies;
};

struct loaded_record {
    struct str queue; /* empty: by due time; else of the class */
    unsigned class;
    uint32_t number; /* of the youngest run that was read */
    int64_t upto_at; /* everything up to here has been loaded */
    uint64_t upto_seq;
    uint64_t count;
    struct str images; /* bodies of PUT records, each with its length */
    uint64_t lane;     /* CLASS_ASIDE only: which, */
    uint64_t serial;   /* and of the first one's grave; the others follow */
};

struct taken_record {
    uint64_t serial; /* of its grave */
    struct str key;
    struct str image;
};

struct grave_record {
    uint64_t serial;
    int64_t gone_ms; /* there could be something at its place until then; 0: see the frontier */
    struct str key;
};

struct tally_record {
    struct str queue;
    struct str counts; /* zigzag, one for each slot */
    struct str floors; /* class, number, at, seq; with TALLY_FROM set: class.from; CLASS_ASIDE:
                          lane, and the point behind which its jobs are */
};

#define TALLY_FROM 0x80u

struct cold_record {
    int64_t frontier_at;
    uint64_t frontier_seq;
    uint64_t next_file;
    uint64_t next_grave;
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
void record_put_fed(struct buf *out, const struct fed_record *r);
void record_put_merged(struct buf *out, const struct merged_record *r);
void record_put_loaded(struct buf *out, const struct loaded_record *r);
void record_put_taken(struct buf *out, const struct taken_record *r);
void record_put_run(struct buf *out, const struct str *desc);
void record_put_grave(struct buf *out, const struct grave_record *r);
void record_put_tally(struct buf *out, const struct tally_record *r);
void record_put_cold(struct buf *out, const struct cold_record *r);
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
bool record_get_fed(struct str body, struct fed_record *ret);
bool record_get_merged(struct str body, struct merged_record *ret);
bool record_get_loaded(struct str body, struct loaded_record *ret);
bool record_get_taken(struct str body, struct taken_record *ret);
bool record_get_run(struct str body, struct str *ret);
bool record_get_grave(struct str body, struct grave_record *ret);
bool record_get_tally(struct str body, struct tally_record *ret);
bool record_get_cold(struct str body, struct cold_record *ret);

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
