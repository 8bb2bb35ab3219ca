/* SPDX-License-Identifier: MIT */
/*
 * Log lines on standard error, one JSON object each (or plain text). Fields are pairs of name and
 * value: log_info(l, "listening", "port", "2355"). Lines never wait for their reader; see
 * logwriter.h. Of lines with one message only some are taken; see lograte.h. So a message is a
 * constant. Only the loop's thread logs.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "server/lograte.h"
#include "server/logwriter.h"
#include "server/option.h"

struct log {
    const struct options *options; /* The log follows log_level and log_format. */
    struct logwriter *writer;      /* NULL: the loop writes lines itself. */
    struct lograte *rate;          /* NULL: the log takes any number of lines. */
    bool terminal;                 /* People read it: log_format `auto` means text. */
};

/* Starts the thread that writes. Without memory or a thread for that, the loop writes itself. */
void log_start(struct log *l);
/* Ends the log. Waits at most a second until the last lines are read. */
void log_stop(struct log *l);
/* The server calls it now and then. It logs how many lines were left out. */
void log_sweep(const struct log *l, int64_t mono_ms);

void log_line(const struct log *l, enum option_log_level level, const char *message, ...)
    __attribute__((sentinel));

#define log_info(l, ...)  log_line(l, LOG_LEVEL_INFO, __VA_ARGS__, NULL)
#define log_warn(l, ...)  log_line(l, LOG_LEVEL_WARN, __VA_ARGS__, NULL)
#define log_error(l, ...) log_line(l, LOG_LEVEL_ERROR, __VA_ARGS__, NULL)

struct log_field {
    const char *name;
    struct str text; /* ptr NULL: the number counts. Bytes that are no UTF-8 become `?`. */
    int64_t number;
};

/* Writes a line with fields that are texts or numbers. */
void log_fields(const struct log *l, enum option_log_level level, const char *message,
                const struct log_field *fields, size_t n);

/* As log_fields, for lines whose number the caller limits. Each of them is taken. */
void log_each(const struct log *l, enum option_log_level level, const char *message,
              const struct log_field *fields, size_t n);

/* A number as a field's value of log_line, which has no quotes in JSON. The text lasts as long as
 * the caller's block. Its first byte tells the log that it is a number. */
#define LOG_NUMBER 24
#define LOG_INT(v) log_number((int64_t)(v), (char[LOG_NUMBER]){ 0 })
const char *log_number(int64_t v, char buf[LOG_NUMBER]);

#endif
