/* SPDX-License-Identifier: MIT */
#include "cli/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/quantity.h"
#include "base/time.h"
#include "cli/text.h"
#include "verbs/shape.h"

static bool ends_with(struct str name, struct str end)
{
    return name.len > end.len && memcmp(name.ptr + name.len - end.len, end.ptr, end.len) == 0;
}

/* Only names with these ends are looked up: lists have many numbers of other names. */
bool field_is_moment(struct str name)
{
    return (ends_with(name, STR("_ms")) || ends_with(name, STR("_until"))) && shape_is_moment(name);
}

struct str field_title(struct str name)
{
    return ends_with(name, STR("_ms")) ? (struct str){ name.ptr, name.len - 3 } : name;
}

/* "in 3m", "2s ago", "now" */
static void put_relative(struct buf *out, int64_t ms, int64_t now_ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
    int64_t distance = ms > now_ms ? ms - now_ms : now_ms - ms;
    size_t i = 0;

    if (distance == 0) {
        buf_text(out, "now");
        return;
    }
    while (distance < units[i].ms)
        i++;
    if (ms > now_ms)
        buf_text(out, "in ");
    buf_int(out, distance / units[i].ms);
    buf_text(out, units[i].name);
    /* One more unit where the first says little: "in 1d2h". */
    if (i + 2 < 5 && distance / units[i].ms < 10 && distance % units[i].ms >= units[i + 1].ms) {
        buf_int(out, distance % units[i].ms / units[i + 1].ms);
        buf_text(out, units[i + 1].name);
    }
    if (ms < now_ms)
        buf_text(out, " ago");
}

/* Local time: RFC 3339 with offset; milliseconds only if there are any. */
static void put_moment(struct buf *out, int64_t ms)
{
    int64_t whole = ms / 1000 - (ms % 1000 < 0);
    time_t seconds = (time_t)whole;
    struct tm tm;
    char text[40];
    long offset;

    if (!localtime_r(&seconds, &tm)) {
        buf_int(out, ms);
        return;
    }
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    buf_text(out, text);
    if (ms != whole * 1000)
        buf_printf(out, ".%03d", (int)(ms - whole * 1000));
    offset = labs(tm.tm_gmtoff) / 60;
    buf_printf(out, "%c%02ld:%02ld", tm.tm_gmtoff < 0 ? '-' : '+', offset / 60, offset % 60);
}

static void put_int(struct buf *out, struct str name, int64_t v, int64_t now_ms,
                    enum field_style style)
{
    char text[TIME_TEXT];

    if (field_is_moment(name) && v > 0) {
        if (style == FIELD_BRIEF) {
            put_relative(out, v, now_ms);
            return;
        }
        put_moment(out, v);
        buf_text(out, " (");
        put_relative(out, v, now_ms);
        buf_text(out, ")");
    } else if (ends_with(name, STR("_ms")) && v >= 0) {
        buf_append(out, text, time_format_duration(v, text));
    } else if (ends_with(name, STR("_bytes")) && v >= 0) {
        buf_text(out, quantity_bytes(v).text);
    } else {
        buf_int(out, v);
    }
}

void field_put(struct buf *out, struct str name, const struct resp_value *v, int64_t now_ms,
               enum field_style style, size_t most)
{
    switch (v->type) {
    case RESP_INT: put_int(out, name, v->number, now_ms, style); break;
    case RESP_BOOL: buf_text(out, v->number ? "yes" : "no"); break;
    case RESP_NULL: buf_text(out, "-"); break;
    case RESP_ARRAY:
    case RESP_MAP:
        if (v->children == 0)
            buf_text(out, "-");
        else
            buf_printf(out, "(%u)", v->type == RESP_MAP ? v->children / 2 : v->children);
        break;
    default: text_put(out, v->text, most); break;
    }
}
