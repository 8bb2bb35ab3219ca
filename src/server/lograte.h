/* SPDX-License-Identifier: MIT */
/*
 * The rates of log lines. Lines with one message are of one kind. A kind may have `rate` lines in a
 * second, and the lines of ten seconds at once. Further lines are left out and counted. So a client
 * that causes lines can neither fill a disk nor hide other lines.
 */
#ifndef SERVER_LOGRATE_H
#define SERVER_LOGRATE_H

#include <stdbool.h>
#include <stdint.h>

#define LOGRATE_KINDS   64 /* the last one is for all messages that find no other place */
#define LOGRATE_BURST_S 10
#define LOGRATE_TELL_MS 10000 /* the time between two lines about left out lines of a kind */

struct lograte {
    struct lograte_kind {
        const char *message; /* NULL: this kind and all further ones are free */
        int64_t credit;      /* lines that are left, in thousandths */
        int64_t filled_ms;   /* monotonic: when credit was added last */
        uint64_t untold;     /* left out lines that the log has not mentioned yet */
        int64_t tell_ms;     /* monotonic: the log mentions left out lines no earlier */
    } kinds[LOGRATE_KINDS];
    uint64_t left_out; /* left out lines since the start */
};

/* Whether the log takes another line with this message, which must be a constant. A rate of 0 is
 * any number. A line that is not taken is counted. */
bool lograte_takes(struct lograte *r, const char *message, int64_t rate, int64_t mono_ms);
/* The message of a kind whose left out lines the log may mention now; *ret is their number. NULL:
 * there is no such kind. Each left out line is told once. */
const char *lograte_untold(struct lograte *r, int64_t mono_ms, uint64_t *ret);

#endif
