/* SPDX-License-Identifier: MIT */
/*
 * Durations and moments as people write them. Both are integer milliseconds.
 *
 * Duration: "250ms", "10s", "5m", "1h30m", "2d" or "1w". Units come in falling order, each at most
 * once. The last number may have a fraction ("1.5s"). A bare integer is milliseconds.
 *
 * Moment: RFC 3339 with zone, or integer milliseconds since 1970. It is between 1970 and the end of
 * the year 9999.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stdint.h>

#include "base/str.h"

#define TIME_MOMENT_MAX   INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */
#define TIME_DURATION_MAX TIME_MOMENT_MAX

#define TIME_TEXT 32 /* room for either, terminated */

/* 0, or INVALID with *why set to a static sentence that names the expected text. */
int time_parse_duration(struct str text, int64_t *ret_ms, const char **why);
int time_parse_moment(struct str text, int64_t *ret_ms, const char **why);

/* "1h30m", "250ms", "0ms": parses back to ms. Returns the length. */
size_t time_format_duration(int64_t ms, char ret[TIME_TEXT]);
/* "2026-11-15T20:43:00.000Z" */
size_t time_format_moment(int64_t ms, char ret[TIME_TEXT]);

/* The clocks, for hosts only: the engine never reads them. */
int64_t time_wall_ms(void);
int64_t time_wall_us(void);
int64_t time_mono_us(void);

static inline int64_t time_mono_ms(void)
{
    return time_mono_us() / 1000;
}

/* Both clocks in milliseconds that change at equal moments. So a span that begins at a millisecond
 * of one clock, and is measured by the other, ends at a whole millisecond of the first. It never
 * ends a millisecond early.
 */
struct clocks {
    int64_t apart_us;   /* the wall clock less the monotonic one; 0: not read yet */
    int64_t stalled_ms; /* how long the monotonic clock has stood still: see clocks_stall */
    int64_t mono_us;    /* CLOCK_MONOTONIC, as it was read last */
};

void clocks_read(struct clocks *c, int64_t *ret_wall_ms, int64_t *ret_mono_ms);
/* As clocks_read, from two readings. If they are further apart, the wall clock was set. */
void clocks_join(struct clocks *c, int64_t wall_us, int64_t mono_us, int64_t *ret_wall_ms,
                 int64_t *ret_mono_ms);
/* Sets the monotonic clock back by `ms`. A reader that ignores smaller values than before sees a
 * clock that stands still until it has caught up. */
void clocks_stall(struct clocks *c, int64_t ms);
/* The time of CLOCK_MONOTONIC at which *ret_mono_ms becomes mono_ms. */
int64_t clocks_mono_us(const struct clocks *c, int64_t mono_ms);

#endif
