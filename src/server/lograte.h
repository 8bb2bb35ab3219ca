/* SPDX-License-Identifier: MIT */
/*
 * How many lines of each kind the log has had. Lines with one message are of one kind. A kind has
 * `rate` lines in a second, and those of ten seconds at once. Further lines are left out and
 * counted, so that a client which causes them can neither fill a disk nor hide other lines.
 */
#ifndef SERVER_LOGRATE_H
#define SERVER_LOGRATE_H

#include <stdbool.h>
#include <stdint.h>

#define LOGRATE_KINDS   64 /* the last one is for all messages that find no other place */
#define LOGRATE_BURST_S 10
#define LOGRATE_TELL_MS 10000 /* the log hears of left out lines of a kind as often */

struct lograte {
    struct lograte_kind {
        const char *message; /* NULL: this kind and all further ones are free */
        int64_t credit;      /* lines that are left, in thousandths */
        int64_t filled_ms;   /* monotonic: when credit was added last */
        uint64_t untold;     /* lines that were left out, and of which the log has not heard */
        int64_t tell_ms;     /* monotonic: the log hears of them no earlier */
    } kinds[LOGRATE_KINDS];
    uint64_t left_out; /* lines, since the start */
};

/* Whether the log takes another line with this message, which must be a constant. A rate of 0 is
 * any number. A line that is not taken is counted. */
bool lograte_takes(struct lograte *r, const char *message, int64_t rate, int64_t mono_ms);
/* A kind of which lines were left out and the log may hear now, and their number; NULL: there is
 * none. The log hears of them once. */
const char *lograte_untold(struct lograte *r, int64_t mono_ms, uint64_t *ret);

#endif
