/* SPDX-License-Identifier: MIT */
#include "server/log.h"

#include <unistd.h>

#include "base/time.h"
#include "base/utf8.h"

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static void put_json_text(struct buf *b, struct str text)
{
    buf_text(b, "\"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c < 0x20)
            buf_printf(b, "\\u%04x", c);
        else
            buf_append(b, &c, 1);
    }
    buf_text(b, "\"");
}

static void put_name(struct buf *b, int64_t format, const char *name)
{
    buf_printf(b, format == LOG_FORMAT_TEXT ? " %s=" : b->len > 1 ? ",\"%s\":" : "\"%s\":", name);
}

static void put_pair(struct buf *b, int64_t format, const char *name, const char *value)
{
    put_name(b, format, name);
    if (format == LOG_FORMAT_TEXT)
        buf_text(b, value);
    else
        put_json_text(b, str_of(value));
}

const char *log_number(int64_t v, char buf[LOG_NUMBER])
{
    snprintf(buf, LOG_NUMBER, "%lld", (long long)v);
    return buf;
}

static void line_begin(const struct log *l, enum option_log_level level, const char *message,
                       struct buf *b)
{
    char now[TIME_TEXT];

    time_format_moment(time_wall_ms(), now);
    if (l->options->log_format == LOG_FORMAT_TEXT) {
        buf_printf(b, "%s %-5s %s", now, level_names[level], message);
        return;
    }
    buf_text(b, "{");
    put_pair(b, l->options->log_format, "time", now);
    put_pair(b, l->options->log_format, "level", level_names[level]);
    put_pair(b, l->options->log_format, "message", message);
}

static void line_end(const struct log *l, struct buf *b)
{
    buf_text(b, l->options->log_format == LOG_FORMAT_TEXT ? "\n" : "}\n");
    if (!b->failed && write(STDERR_FILENO, b->ptr, b->len) < 0) {
        /* There is no other place for messages. */
    }
    buf_fini(b);
}

void log_line(const struct log *l, enum option_log_level level, const char *message, ...)
{
    struct buf b = { 0 };
    const char *name;
    va_list args;

    if (level < l->options->log_level)
        return;
    line_begin(l, level, message, &b);
    va_start(args, message);
    while ((name = va_arg(args, const char *)))
        put_pair(&b, l->options->log_format, name, va_arg(args, const char *));
    va_end(args);
    line_end(l, &b);
}

/* Appends a text of any origin. In a line for people nothing of it may look like another line. */
static void put_field(struct buf *b, int64_t format, struct str text)
{
    size_t start = b->len;
    bool plain = utf8_valid(text);

    if (format == LOG_FORMAT_JSON)
        put_json_text(b, text);
    else
        buf_str(b, text);
    for (size_t i = start; i < b->len && !b->failed; i++)
        if (((unsigned char)b->ptr[i] >= 0x80 && !plain) || (unsigned char)b->ptr[i] < 0x20)
            b->ptr[i] = '?';
}

void log_fields(const struct log *l, enum option_log_level level, const char *message,
                const struct log_field *fields, size_t n)
{
    struct buf b = { 0 };

    if (level < l->options->log_level)
        return;
    line_begin(l, level, message, &b);
    for (size_t i = 0; i < n; i++) {
        put_name(&b, l->options->log_format, fields[i].name);
        if (fields[i].text.ptr)
            put_field(&b, l->options->log_format, fields[i].text);
        else
            buf_int(&b, fields[i].number);
    }
    line_end(l, &b);
}
