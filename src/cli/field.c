/* SPDX-License-Identifier: MIT */
#include "cli/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/quantity.h"
#include "cli/text.h"

static bool ends_with(struct str name, struct str end)
{
    return name.len > end.len && memcmp(name.ptr + name.len - end.len, end.ptr, end.len) == 0;
}

struct str field_title(struct str name)
{
    return ends_with(name, STR("_ms")) ? (struct str){ name.ptr, name.len - 3 } : name;
}

bool field_is_named(struct str name, struct str given)
{
    return str_eq(name, given) || str_eq(field_title(name), given);
}

/* A number with up to two decimals, without zeros at their end: "1.99", "2", "2.5". */
static void put_decimal(struct buf *out, int64_t thousandths)
{
    int64_t hundredths = (thousandths + 5) / 10;

    buf_int(out, hundredths / 100);
    if (hundredths % 100)
        buf_printf(out, hundredths % 10 ? ".%02d" : ".%d",
                   (int)(hundredths % 10 ? hundredths % 100 : hundredths % 100 / 10));
}

void field_put_duration(struct buf *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" } };
    const char *blank = "";

    if (ms < 0) {
        buf_text(out, "-");
        ms = ms == INT64_MIN ? INT64_MAX : -ms;
    }
    if (ms < 1000) {
        buf_int(out, ms);
        buf_text(out, "ms");
    } else if (ms < 59995) { /* more would be rounded to 60s */
        put_decimal(out, ms);
        buf_text(out, "s");
    } else {
        ms = ms < 60000 ? 60000 : ms;
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
            if (ms >= units[i].ms) {
                buf_printf(out, "%s%lld%s", blank, (long long)(ms / units[i].ms), units[i].name);
                blank = " ";
            }
            ms %= units[i].ms;
        }
    }
}

struct field_text field_duration(int64_t ms)
{
    struct field_text text = { "" };
    struct buf out = { 0 };

    field_put_duration(&out, ms);
    if (out.len < sizeof(text.text))
        memcpy(text.text, out.ptr, out.len);
    buf_fini(&out);
    return text;
}

static void put_micros(struct buf *out, int64_t us)
{
    if (us < 0 || us >= 1000000) {
        field_put_duration(out, us / 1000);
    } else if (us >= 1000) {
        put_decimal(out, us);
        buf_text(out, "ms");
    } else {
        buf_int(out, us);
        buf_text(out, "µs");
    }
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
    /* One more unit where the first says little: "in 1d 2h". */
    if (i + 2 < 5 && distance / units[i].ms < 10 && distance % units[i].ms >= units[i + 1].ms) {
        buf_text(out, " ");
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

static void put_time(struct buf *out, int64_t ms, int64_t now_ms, enum field_style style)
{
    if (style != FIELD_BRIEF)
        put_moment(out, ms);
    if (style == FIELD_FULL)
        buf_text(out, " (");
    if (style != FIELD_DATE)
        put_relative(out, ms, now_ms);
    if (style == FIELD_FULL)
        buf_text(out, ")");
}

static void put_int(struct buf *out, enum shape_type type, int64_t v, int64_t now_ms,
                    enum field_style style)
{
    if (type == SHAPE_MOMENT && v > 0)
        put_time(out, v, now_ms, style);
    else if (type == SHAPE_DURATION)
        field_put_duration(out, v);
    else if (type == SHAPE_MICROS)
        put_micros(out, v);
    else if (type == SHAPE_SIZE && v >= 0)
        buf_text(out, quantity_bytes(v).text);
    else
        buf_int(out, v);
}

void field_put(struct buf *out, enum shape_type type, const struct resp_value *v, int64_t now_ms,
               enum field_style style, size_t most)
{
    switch (v->type) {
    case RESP_INT: put_int(out, type, v->number, now_ms, style); break;
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
