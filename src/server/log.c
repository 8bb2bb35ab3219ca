/* SPDX-License-Identifier: MIT */
#include "server/log.h"

#include <unistd.h>

#include "base/time.h"

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static void put_json_text(struct buf *b, const char *text)
{
    buf_text(b, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(b, "\\%c", *p);
        else if (*p < 0x20)
            buf_printf(b, "\\u%04x", *p);
        else
            buf_append(b, p, 1);
    }
    buf_text(b, "\"");
}

static void put_pair(struct buf *b, enum option_log_format format, const char *name,
                     const char *value)
{
    if (format == LOG_FORMAT_TEXT) {
        buf_printf(b, " %s=%s", name, value);
        return;
    }
    buf_text(b, b->len > 1 ? "," : "");
    put_json_text(b, name);
    buf_text(b, ":");
    put_json_text(b, value);
}

const char *log_number(int64_t v, char buf[LOG_NUMBER])
{
    snprintf(buf, LOG_NUMBER, "%lld", (long long)v);
    return buf;
}

void log_line(const struct log *l, enum option_log_level level, const char *message, ...)
{
    struct buf b = { 0 };
    char now[TIME_TEXT];
    const char *name;
    va_list args;

    if (level < l->level)
        return;
    time_format_moment(time_wall_ms(), now);
    if (l->format == LOG_FORMAT_TEXT) {
        buf_printf(&b, "%s %-5s %s", now, level_names[level], message);
    } else {
        buf_text(&b, "{");
        put_pair(&b, l->format, "time", now);
        put_pair(&b, l->format, "level", level_names[level]);
        put_pair(&b, l->format, "message", message);
    }
    va_start(args, message);
    while ((name = va_arg(args, const char *)))
        put_pair(&b, l->format, name, va_arg(args, const char *));
    va_end(args);
    buf_text(&b, l->format == LOG_FORMAT_TEXT ? "\n" : "}\n");
    if (!b.failed && write(STDERR_FILENO, b.ptr, b.len) < 0) {
        /* There is nobody left to tell. */
    }
    buf_fini(&b);
}
