/* SPDX-License-Identifier: MIT */
#include "server/log.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/json_quote.h"
#include "base/time.h"
#include "base/utf8.h"

#define END_MS 1000 /* the time in which the last lines must be read */

static const char *const level_names[] = { "debug", "info", "warn", "error" };

#define NUMBER_MARK '\x01' /* the first byte of a number: see LOG_INT */

static bool is_text(const struct log *l)
{
    int64_t format = l->options->log.format;

    return format == LOG_FORMAT_TEXT || (format == LOG_FORMAT_AUTO && l->terminal);
}

static void put_name(struct buf *b, bool text, const char *name)
{
    buf_printf(b, text ? " %s=" : b->len > 1 ? ",\"%s\":" : "\"%s\":", name);
}

/* Whether a text can stand in a line for people as it is. */
static bool is_word(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || strchr("\"=\\\x7f", text.ptr[i]))
            return false;
    return text.len > 0;
}

/* Appends a text of any origin to a line for people. Quotes keep it from looking like other fields,
 * and no byte of it begins another line. */
static void put_quoted(struct buf *b, struct str text)
{
    bool plain = utf8_valid(text), word = is_word(text);

    if (!word)
        buf_text(b, "\"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c == '"' || c == '\\')
            buf_append(b, "\\", 1);
        if (c < ' ' || c == 0x7f || (c >= 0x80 && !plain))
            c = '?';
        buf_append(b, &c, 1);
    }
    if (!word)
        buf_text(b, "\"");
}

/* Appends a text of any origin as a JSON string. */
static void put_json(struct buf *b, struct str text)
{
    struct buf clean = { 0 };

    if (utf8_valid(text)) {
        json_quote(b, text);
        return;
    }
    buf_str(&clean, text);
    for (size_t i = 0; i < clean.len; i++)
        if ((unsigned char)clean.ptr[i] >= 0x80)
            clean.ptr[i] = '?';
    json_quote(b, buf_view(&clean));
    b->failed = b->failed || clean.failed;
    buf_fini(&clean);
}

static void put_field(struct buf *b, bool text, const char *name, struct str value)
{
    put_name(b, text, name);
    if (text)
        put_quoted(b, value);
    else
        put_json(b, value);
}

/* Whether it is a number of log_number, and not a text of another origin that begins like one. */
static bool is_number(const char *value)
{
    const char *digits = value + 1 + (value[0] && value[1] == '-');

    return value[0] == NUMBER_MARK && *digits && strspn(digits, "0123456789") == strlen(digits);
}

static void put_value(struct buf *b, bool text, const char *name, const char *value)
{
    if (!is_number(value)) {
        put_field(b, text, name, str_of(value));
        return;
    }
    put_name(b, text, name);
    buf_text(b, value + 1);
}

const char *log_number(int64_t v, char buf[LOG_NUMBER])
{
    snprintf(buf, LOG_NUMBER, "%c%lld", NUMBER_MARK, (long long)v);
    return buf;
}

static void line_begin(const struct log *l, enum option_log_level level, const char *message,
                       struct buf *b)
{
    char now[TIME_TEXT];

    time_format_moment(time_wall_ms(), now);
    if (is_text(l)) {
        buf_printf(b, "%s %-5s %s", now, level_names[level], message);
        return;
    }
    buf_text(b, "{");
    put_field(b, false, "time", str_of(now));
    put_field(b, false, "level", str_of(level_names[level]));
    put_field(b, false, "message", str_of(message));
}

static void line_close(const struct log *l, struct buf *b)
{
    buf_text(b, is_text(l) ? "\n" : "}\n");
}

/* Tells how many lines were lost, in front of the first line that has room again. False: there is
 * no room yet. */
static bool tell_lost(const struct log *l)
{
    struct buf b = { 0 };
    bool told;

    if (l->writer->told == l->writer->lost)
        return true;
    line_begin(l, LOG_LEVEL_WARN, "log lines were lost: nobody read them in time", &b);
    put_name(&b, is_text(l), "lines");
    buf_int(&b, (int64_t)(l->writer->lost - l->writer->told));
    line_close(l, &b);
    told = !b.failed && logwriter_put(l->writer, buf_view(&b));
    if (told)
        l->writer->told = l->writer->lost;
    buf_fini(&b);
    return told;
}

static void line_end(const struct log *l, struct buf *b)
{
    line_close(l, b);
    if (l->writer)
        l->writer->lost += b->failed || !tell_lost(l) || !logwriter_put(l->writer, buf_view(b));
    else if (!b->failed && write(STDERR_FILENO, b->ptr, b->len) < 0) {
        /* There is no other place for messages. */
    }
    buf_fini(b);
}

static bool log_takes(const struct log *l, enum option_log_level level, const char *message)
{
    return level >= l->options->log.level &&
           (!l->rate || lograte_takes(l->rate, message, l->options->log.rate, time_mono_ms()));
}

void log_line(const struct log *l, enum option_log_level level, const char *message, ...)
{
    struct buf b = { 0 };
    const char *name;
    va_list args;

    if (!log_takes(l, level, message))
        return;
    line_begin(l, level, message, &b);
    va_start(args, message);
    while ((name = va_arg(args, const char *)))
        put_value(&b, is_text(l), name, va_arg(args, const char *));
    va_end(args);
    line_end(l, &b);
}

void log_each(const struct log *l, enum option_log_level level, const char *message,
              const struct log_field *fields, size_t n)
{
    struct buf b = { 0 };

    if (level < l->options->log.level)
        return;
    line_begin(l, level, message, &b);
    for (size_t i = 0; i < n; i++) {
        if (fields[i].text.ptr) {
            put_field(&b, is_text(l), fields[i].name, fields[i].text);
        } else {
            put_name(&b, is_text(l), fields[i].name);
            buf_int(&b, fields[i].number);
        }
    }
    line_end(l, &b);
}

void log_fields(const struct log *l, enum option_log_level level, const char *message,
                const struct log_field *fields, size_t n)
{
    if (log_takes(l, level, message))
        log_each(l, level, message, fields, n);
}

void log_sweep(const struct log *l, int64_t mono_ms)
{
    struct log_field fields[] = { { .name = "like" }, { .name = "lines" } };
    const char *message;
    uint64_t lines;

    while (l->rate && (message = lograte_untold(l->rate, mono_ms, &lines))) {
        fields[0].text = str_of(message);
        fields[1].number = (int64_t)lines;
        log_each(l, LOG_LEVEL_WARN, "lines were left out: more than log_rate", fields, 2);
    }
}

void log_start(struct log *l)
{
    l->terminal = isatty(STDERR_FILENO);
    l->rate = calloc(1, sizeof(*l->rate));
    l->writer = logwriter_new(STDERR_FILENO, LOGWRITER_BYTES);
}

void log_stop(struct log *l)
{
    log_sweep(l, INT64_MAX);
    logwriter_free(l->writer, END_MS);
    free(l->rate);
    l->rate = NULL;
}
