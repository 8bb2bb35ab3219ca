/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "recur/civil.h"
#include "recur/recur.h"

int recur_preview(const struct recur *r, int64_t from_ms, size_t n, struct recur_occurrence *ret,
                  int *ret_found)
{
    struct recur_state state = { .most = RECUR_COST_MAX };
    int64_t after_ms = from_ms > INT64_MIN ? from_ms - 1 : from_ms;
    int i = 0, found = 1;
    while ((size_t)i < n && found > 0) {
        found = recur_next(r, after_ms, &state, &ret[i]);
        if (found > 0)
            after_ms = ret[i++].at_ms;
    }
    if (ret_found)
        *ret_found = i;
    return found < 0 ? found : i;
}

/* Local milliseconds, taken apart. */
struct shown {
    struct civil_date date;
    int hour, minute, second, ms;
};

static struct shown shown_of(int64_t local_ms)
{
    int64_t days = civil_div(local_ms, CIVIL_DAY * 1000);
    int of_day = (int)(local_ms - days * CIVIL_DAY * 1000);
    return (struct shown){ civil_date(days), of_day / 3600000, of_day / 60000 % 60,
                           of_day / 1000 % 60, of_day % 1000 };
}

size_t recur_format(const struct recur_occurrence *o, char ret[RECUR_TEXT])
{
    struct shown t = shown_of(o->at_ms + o->offset_s * INT64_C(1000));
    int offset = abs(o->offset_s);
    int n = snprintf(ret, RECUR_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", (int)t.date.year,
                     t.date.month, t.date.day, t.hour, t.minute, t.second);
    if (t.ms)
        n += snprintf(ret + n, RECUR_TEXT - (size_t)n, ".%03d", t.ms);
    n += snprintf(ret + n, RECUR_TEXT - (size_t)n, "%c%02d:%02d", o->offset_s < 0 ? '-' : '+',
                  offset / 3600, offset / 60 % 60);
    if (offset % 60) /* local mean time, before zones */
        n += snprintf(ret + n, RECUR_TEXT - (size_t)n, ":%02d", offset % 60);
    return (size_t)n;
}

size_t recur_note(const struct recur_occurrence *o, char ret[RECUR_NOTE])
{
    static const char *const texts[] = {
        [RECUR_PLAIN] = "",
        [RECUR_MOVED] = "does not exist on this day: runs at the end of the gap",
        [RECUR_FIRST] = "exists twice on this day: this is the first",
        [RECUR_SECOND] = "exists twice on this day: this is the second",
    };
    struct shown t = shown_of(o->nominal_ms);
    int n = 0;
    ret[0] = '\0';
    if (o->note == RECUR_PLAIN)
        return 0;
    if (t.date.day !=
        shown_of(o->at_ms + o->offset_s * INT64_C(1000)).date.day) /* of another day */
        return (size_t)snprintf(
            ret, RECUR_NOTE, "%04d-%02d-%02d %02d:%02d does not exist: runs at the end of the gap",
            (int)t.date.year, t.date.month, t.date.day, t.hour, t.minute);
    n = snprintf(ret, RECUR_NOTE, "%02d:%02d", t.hour, t.minute);
    if (t.second)
        n += snprintf(ret + n, RECUR_NOTE - (size_t)n, ":%02d", t.second);
    n += snprintf(ret + n, RECUR_NOTE - (size_t)n, " %s", texts[o->note]);
    return (size_t)n;
}
