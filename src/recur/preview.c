/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "recur/civil.h"
#include "recur/recur.h"

size_t recur_preview(const struct recur *r, int64_t from_ms, size_t n, struct recur_occurrence *ret)
{
    struct recur_state state = { 0 };
    int64_t after_ms = from_ms > INT64_MIN ? from_ms - 1 : from_ms;
    size_t i = 0;
    while (i < n && recur_next(r, after_ms, &state, &ret[i]) > 0)
        after_ms = ret[i++].at_ms;
    return i;
}

size_t recur_format(const struct recur_occurrence *o, char ret[RECUR_TEXT])
{
    int64_t local_ms = o->at_ms + o->offset_s * INT64_C(1000);
    int64_t days = civil_div(local_ms, CIVIL_DAY * 1000);
    int of_day = (int)(local_ms - days * CIVIL_DAY * 1000);
    struct civil_date d = civil_date(days);
    int offset = abs(o->offset_s);
    int n = snprintf(ret, RECUR_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%c%02d:%02d", (int)d.year,
                     d.month, d.day, of_day / 3600000, of_day / 60000 % 60, of_day / 1000 % 60,
                     of_day % 1000, o->offset_s < 0 ? '-' : '+', offset / 3600, offset / 60 % 60);
    if (offset % 60) /* local mean time, before zones */
        n += snprintf(ret + n, RECUR_TEXT - (size_t)n, ":%02d", offset % 60);
    return (size_t)n;
}

const char *recur_note_text(enum recur_note note)
{
    static const char *const texts[] = {
        [RECUR_PLAIN] = "",
        [RECUR_MOVED] = "moved to the end of the gap",
        [RECUR_FIRST] = "the first of two",
        [RECUR_SECOND] = "the second of two",
    };
    return texts[note];
}
