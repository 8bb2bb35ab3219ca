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
 * the rows below (field.h). A body may be longer than its reader knows: the rest is from a newer
 * version, and the reader ignores it. Decoded slices borrow from the commit.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/wire.h"
#include "record/image.h"
#include "record/settings.h"

/* All records: name, number on disk, name of the codec, name of emit and apply, struct, meaning. */
#define RECORDS(X)                                                                                \
    X(BEGIN, 1, begin, begin, struct begin_record, "first in a segment; tells the oldest one")    \
    X(PUT, 2, job, put, struct job_image, "the whole of a job, new or as it is now")              \
    X(LEASE, 3, lease, lease, struct lease_record, "an attempt begins")                           \
    X(EXTEND, 4, extend, extend, struct extend_record, "a heartbeat")                             \
    X(BACK, 5, back, back, struct back_record, "an attempt ended and the job is scheduled again") \
    X(END, 6, end, end, struct end_record, "the job is terminal")                                 \
    X(MOVE, 7, move, move, struct move_record, "rescheduled, or deferred")                        \
    X(MARK, 8, mark, mark, struct mark_record,                                                    \
      "a leased job is to be cancelled or replaced when its attempt ends")                        \
    X(QUEUE, 9, queue, queue, struct queue_record, "a queue's settings")                          \
    X(FED, 10, fed, fed, struct fed_record, "jobs went from memory to new runs")                  \
    X(MERGED, 11, merged, merged, struct merged_record,                                           \
      "runs were replaced by others, or no longer count")                                         \
    X(LOADED, 12, loaded, loaded, struct loaded_record, "jobs came from runs to memory")          \
    X(TAKEN, 13, taken, taken, struct taken_record,                                               \
      "one job came from a run to memory, by a request")                                          \
    X(RUN, 14, run, run, struct str, "copied forward: a run")                                     \
    X(GRAVE, 15, grave, grave, struct grave_record, "copied forward: the former place of a job")  \
    X(TALLY, 16, tally, tally, struct tally_record,                                               \
      "copied forward: a queue's counts and floors on disk")                                      \
    X(COLD, 17, cold, cold, struct cold_record, "copied forward: where the frontier is")          \
    X(TENANT, 18, tenant, tenant, struct tenant_record, "a tenant's settings")                    \
    X(TOLD, 19, told, told, struct told_record, "those who listen have been told of a job's end") \
    X(LISTEN, 20, listen, listen, struct listen_record, "one more listens")                       \
    X(RELEASED, 21, released, released, struct released_record, "a job waits for one less")       \
    X(REVISED, 22, revised, revised, struct revised_record,                                       \
      "a recurrence went on: the end of its payload is another")                                  \
    X(TOKEN, 24, token, token, struct token_record, "a token, or that it is no more")             \
    X(SECRET, 25, secret, secret, struct secret_record, "by which names in runs are made")        \
    X(SERIES, 26, series, series, struct series_record, "figures of a step of time")

enum record_type {
#define RECORD_ENUM(NAME, number, codec, kind, type, what) RECORD_##NAME = (number),
    RECORDS(RECORD_ENUM)
#undef RECORD_ENUM
};

#define COMMIT_VERSION 1

#define BEGIN_FIELDS(F)                                            \
    F(NUMBER, previous, "elements in the segment before this one") \
    F(NUMBER, next_seq, "of the next job")                         \
    F(LATER_COUNT, oldest, "the segment that the journal begins with; 0: it does not say")
FIELD_STRUCT(begin_record, BEGIN_FIELDS);

#define LEASE_FIELDS(F)                              \
    F(NUMBER, seq, "of the job")                     \
    F(NUMBER, token, "of the lease")                 \
    F(MOMENT, start_ms, "when the attempt began")    \
    F(SINCE_START, until_ms, "the end of the lease") \
    F(MOMENT, lease_ms, "its length")                \
    F(SIGNED, late_ms, "how late the attempt began") \
    F(COUNT, attempt, "its number")                  \
    F(BYTES, worker, "who has it")                   \
    F(LATER_BYTES, rated, "the queue, if a rate counts the attempt")
FIELD_STRUCT(lease_record, LEASE_FIELDS);

#define EXTEND_FIELDS(F)                            \
    F(NUMBER, seq, "of the job")                    \
    F(MOMENT, until_ms, "the new end of the lease") \
    F(MOMENT, lease_ms, "its new length")           \
    F(SIGNED, progress, "-1: unchanged")            \
    F(FLAG, has_note, "the note is a new one")      \
    F(BYTES, note, "what the worker says")
FIELD_STRUCT(extend_record, EXTEND_FIELDS);

#define OUTCOME_NONE 255u /* the job was not leased */

#define BACK_FIELDS(F)                       \
    F(NUMBER, seq, "of the job")             \
    F(MOMENT, due_ms, "nominal")             \
    F(MOMENT, at_ms, "when it runs again")   \
    F(COUNT, attempt, "attempts that count") \
    F(COUNT, stalls, "in a row")             \
    F(BYTE, outcome, "enum attempt_outcome") \
    F(SIGNED, end_ms, "of the attempt")      \
    F(BYTES, error, "of the attempt")        \
    F(LATER_COUNT, kept, "attempts that the job remembers; 0: as older versions did")
FIELD_STRUCT(back_record, BACK_FIELDS);

#define END_FIELDS(F)                                              \
    F(NUMBER, seq, "of the job")                                   \
    F(BYTE, state, "enum job_state")                               \
    F(SIGNED, ended_ms, "when it ended")                           \
    F(MOMENT, keep_ms, "it is kept until then")                    \
    F(MOMENT, hold_ms, "its key is held until then; 0: it is not") \
    F(BYTE, outcome, "enum attempt_outcome, or OUTCOME_NONE")      \
    F(COUNT, stalls, "in a row")                                   \
    F(BYTES, error, "of the attempt")                              \
    F(BYTES, result, "of the job")                                 \
    F(LATER_COUNT, kept, "attempts that the job remembers; 0: as older versions did")
FIELD_STRUCT(end_record, END_FIELDS);

#define MOVE_FIELDS(F)           \
    F(NUMBER, seq, "of the job") \
    F(MOMENT, due_ms, "nominal") \
    F(AT, at_ms, "when it runs") \
    F(IF_SET, deferred, "by quiet hours, not by a request")
FIELD_STRUCT(move_record, MOVE_FIELDS);

#define MARK_FIELDS(F)                                       \
    F(NUMBER, seq, "of the job")                             \
    F(BITS, flags, "of its trail")                           \
    F(MOMENT, pending_due_ms, "due time of the replacement") \
    F(BYTES, pending, "payload of the replacement")
FIELD_STRUCT(mark_record, MARK_FIELDS);

#define TOLD_FIELDS(F) F(NUMBER, seq, "of the job that ended")
FIELD_STRUCT(told_record, TOLD_FIELDS);

#define LISTEN_FIELDS(F)                            \
    F(NUMBER, seq, "of the job that is waited for") \
    F(MOMENT, due_ms, "of the listener's id")       \
    F(NUMBER, listener, "of the listener's id: its sequence number")
FIELD_STRUCT(listen_record, LISTEN_FIELDS);

#define RELEASED_FIELDS(F)                                                 \
    F(NUMBER, seq, "of the job that waited")                               \
    F(NUMBER, parent, "the sequence number of the job that it waited for") \
    F(AT, at_ms, "when it runs, if it waits for no other")
FIELD_STRUCT(released_record, RELEASED_FIELDS);

#define REVISED_FIELDS(F)                               \
    F(NUMBER, seq, "of the recurrence's job")           \
    F(MOMENT, due_ms, "its next nominal time")          \
    F(AT, at_ms, "when it is looked at next")           \
    F(COUNT, keep, "so many bytes of its payload stay") \
    F(BYTES, rest, "the bytes behind them, in place of the old ones")
FIELD_STRUCT(revised_record, REVISED_FIELDS);

/* Records whose body is its rows: name, codec, rows, and a condition on the decoded `ret`. */
#define ROW_RECORDS(X)                                                                  \
    X(BEGIN, begin, BEGIN_FIELDS, true)                                                 \
    X(LEASE, lease, LEASE_FIELDS, true)                                                 \
    X(EXTEND, extend, EXTEND_FIELDS, true)                                              \
    X(BACK, back, BACK_FIELDS, true)                                                    \
    X(END, end, END_FIELDS, ret->state < JOB_STATE_COUNT && state_is_ended(ret->state)) \
    X(MOVE, move, MOVE_FIELDS, true)                                                    \
    X(MARK, mark, MARK_FIELDS, true)                                                    \
    X(TOLD, told, TOLD_FIELDS, true)                                                    \
    X(LISTEN, listen, LISTEN_FIELDS, true)                                              \
    X(RELEASED, released, RELEASED_FIELDS, true)                                        \
    X(REVISED, revised, REVISED_FIELDS, true)                                           \
    X(SERIES, series, SERIES_FIELDS, ret->kind < SERIES_KINDS)

#define TOKEN_FIELDS(F)            \
    F(BYTES, name, "of the token") \
    F(BYTE, gone, "1: it was revoked, and its body ends here; else 0")
#define TOKEN_LIVE_FIELDS(F)                          \
    F(BYTE, role, "enum role")                        \
    F(BYTES, tenant, "whose jobs it may see; *: any") \
    F(SIGNED, created_ms, "when it was made")         \
    F(SIGNED, expires_ms, "when it ends; 0: never")   \
    F(BYTES, hash, "of its secret")

struct token_record {
    TOKEN_FIELDS(FIELD_MEMBER)
    TOKEN_LIVE_FIELDS(FIELD_MEMBER)
};

/* Writes the head of a commit. */
void record_head(struct buf *out, uint64_t epoch, int64_t wall_ms);

/* The body of a record is written between the two calls: open returns a mark for close. */
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

struct series_record; /* in series.h */
/* These are in record_cold.h. */
struct fed_record;
struct merged_record;
struct loaded_record;
struct taken_record;
struct grave_record;
struct tally_record;
struct cold_record;
struct secret_record;

/* The encoder and the decoder of each record. The decoder answers false if the body is malformed or
 * out of range. */
#define RECORD_CODEC(NAME, number, codec, kind, type, what)  \
    void record_put_##codec(struct buf *out, const type *r); \
    bool record_get_##codec(struct str body, type *ret);
RECORDS(RECORD_CODEC)
#undef RECORD_CODEC

/* Reads three fields of an image, and nothing behind them. */
bool record_peek_job(struct str body, unsigned *ret_state, int64_t *ret_at_ms,
                     struct str *ret_queue);
/* The body of a PUT record alone. */
void record_put_image(struct buf *out, const struct job_image *from);

struct commit_head {
    uint64_t epoch;
    int64_t wall_ms;
};

/* Calls fn for each record of a commit. The first answer other than 0 stops the walk and is
 * returned. CORRUPT if the commit is malformed. ret_head may be NULL. */
int record_walk(struct str commit, struct commit_head *ret_head,
                int (*fn)(void *arg, enum record_type type, struct str body), void *arg);

/* One remembered attempt: see attempts.h. */
void record_put_attempt(struct buf *out, const struct attempt *from);
bool record_get_attempt(struct wire_reader *r, struct attempt *ret);

#endif
