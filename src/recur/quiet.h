/* SPDX-License-Identifier: MIT */
/*
 * Quiet hours: windows of the week by the clock on the wall.
 *
 *     22:00-07:00;sat,sun 00:00-24:00;mon-fri 12:30-13:30
 *
 * Each window has two times, and the days on which it begins (every day if none is named). A window
 * whose end is not after its start ends on the next day. Windows that touch or overlap are one.
 *
 * It is quiet whenever the clock on the wall shows a time of a window:
 *
 *     clock set forward   a window that ends in the gap is over at the end of the gap
 *     clock set back      a time that is shown twice is quiet both times; if the clock shows a
 *                         window twice, it ends with the second showing
 *
 * All of this is arithmetic: the amount of work does not depend on the moment.
 */
#ifndef RECUR_QUIET_H
#define RECUR_QUIET_H

#include "recur/rule.h"
#include "recur/zone.h"

#define QUIET_TEXT_MAX 200
#define QUIET_SPANS    64

/* Minutes of the week, from Monday's midnight on; `to` may be in the next one. */
struct quiet_span {
    uint16_t from, to;
};

/* In order; none touches another. */
struct quiet {
    size_t n;
    struct quiet_span spans[QUIET_SPANS];
};

/* 0, or INVALID with *ret_error filled in. Windows that leave no minute of the week are refused:
 * nothing would ever be delivered. */
int quiet_parse(struct str text, struct quiet *ret, struct rule_error *ret_error);

/* The moment at which it is no longer quiet, all windows taken together; -1: it is not quiet. */
int64_t quiet_until(const struct quiet *q, const struct zone *z, int64_t moment_ms);

#endif
