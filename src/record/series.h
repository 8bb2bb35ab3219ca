/* SPDX-License-Identifier: MIT */
/*
 * The figures of a step of time, as a text of bytes: a row for each queue and tenant of which
 * something happened, and one for the server.
 *
 *     step  | rows left out (varint) | row | row | ...
 *     row   | shared u8 | rest of the name, with its length | body, with its length |
 *
 * Rows are in the order of their names. A name shares its first bytes with that of the row before.
 * The server's name is empty, a tenant's is `tenant@*`, and a queue's is its full name. The body
 * begins with a varint whose bits say which figures follow, each as a varint. Then come the latest
 * delivery, and the histogram of lateness: pairs of a bucket, less the one before, and its count.
 */
#ifndef RECORD_SERIES_H
#define RECORD_SERIES_H

#include "base/hist.h"
#include "base/wire.h"
#include "record/field.h"
#include "record/limits.h"

/* What a step counts, by the names of the engine's counters. Their order is on disk. */
#define SERIES_COUNTS(X) \
    X(scheduled)         \
    X(picked)            \
    X(succeeded)         \
    X(failed)            \
    X(stalled)           \
    X(released)          \
    X(retried)           \
    X(dead)              \
    X(cancelled)         \
    X(expired)           \
    X(deferred)

enum series_count {
#define SERIES_ENUM(name) SERIES_##name,
    SERIES_COUNTS(SERIES_ENUM)
#undef SERIES_ENUM
        SERIES_COUNT_TOTAL
};

#define SERIES_MINUTE_MS INT64_C(60000)
#define SERIES_HOUR_MS   INT64_C(3600000)
#define SERIES_ROWS      500 /* rows of a step, at most */

/* Lateness: buckets of a histogram (base/hist.h), above the first 16 four in one. */
#define SERIES_BUCKETS (HIST_GROUP + (HIST_BUCKETS - HIST_GROUP) / 4)

/* What a record says of the figures that it has. */
enum series_kind {
    SERIES_ADDS,   /* they are added to their minute and to its hour */
    SERIES_MINUTE, /* copied forward: the whole of a minute */
    SERIES_HOUR,   /* copied forward: the whole of an hour */
    SERIES_KINDS
};

#define SERIES_FIELDS(F)                          \
    F(MOMENT, at_ms, "when the step begins")      \
    F(BYTE, kind, "enum series_kind")             \
    F(NUMBER, most, "bytes that a step may take") \
    F(BYTES, step, "the figures: record/series.h")
FIELD_STRUCT(series_record, SERIES_FIELDS);

struct series_row {
    uint64_t counts[SERIES_COUNT_TOTAL];
    uint64_t ready, running; /* jobs at the end of the step */
    uint64_t waited_ms; /* age of the oldest ready job, plus 1; 0: none was ready, or no queue */
    uint64_t late_max_ms;
    uint64_t lateness[SERIES_BUCKETS];
};

/* Counts all of a histogram. */
void series_add_hist(struct series_row *row, const struct hist *h);
/* The lateness of a row as a whole histogram, without its sum. */
void series_hist_of(const struct series_row *row, struct hist *ret);

void series_put_row(struct buf *out, const struct series_row *row);
bool series_get_row(struct str body, struct series_row *ret);
/* Adds the counts of a later row. Its figures of the end of the step count. */
void series_row_add(struct series_row *row, const struct series_row *later);

struct series_reader {
    struct wire_reader r;
    char name[QUEUE_MAX_BYTES];
    size_t name_len;
    struct str body;
    uint64_t left_out;
};

struct series_writer {
    struct buf *out;
    char name[QUEUE_MAX_BYTES];
    size_t name_len;
};

/* Reads a step row by row; a damaged step ends early. */
struct series_reader series_reader_of(struct str step);
bool series_next(struct series_reader *r);
static inline struct str series_name(const struct series_reader *r)
{
    return (struct str){ r->name, r->name_len };
}
/* Whether the step is whole and in order. */
bool series_valid(struct str step);
/* Finds a row. False: there is none. *ret_left_out: the step left rows out. */
bool series_find(struct str step, struct str name, struct series_row *ret, bool *ret_left_out);

/* Writes a step: rows in the order of their names. */
struct series_writer series_writer_of(struct buf *out, uint64_t left_out);
void series_write(struct series_writer *w, struct str name, struct str body);

/* Writes the sum of two steps, of which `b` is the later. Rows of one name become one. */
void series_merge(struct buf *out, struct str a, struct str b);
/* Writes a step without the rows that have no place in `most` bytes and SERIES_ROWS rows. The
 * server's row stays. Each tenant has a place for its sum and its busiest queue, before any has one
 * for its second queue. Among equals the busier stays. False: there is no memory. */
bool series_trim(struct buf *out, struct str step, size_t most);

#endif
