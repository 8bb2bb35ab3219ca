/* SPDX-License-Identifier: MIT */
/*
 * Log lines on standard error, one JSON object each (or plain text). Fields are name-value pairs
 * ending in NULL: log_line(l, LOG_LEVEL_INFO, "listening", "port", "2355", NULL).
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "server/option.h"

struct log {
    enum option_log_level level;
    enum option_log_format format;
};

void log_line(const struct log *l, enum option_log_level level, const char *message, ...)
    __attribute__((sentinel));

struct log_field {
    const char *name;
    struct str text; /* ptr NULL: the number; bytes that are no UTF-8 become question marks */
    int64_t number;
};

/* The same with fields that are texts or numbers. */
void log_fields(const struct log *l, enum option_log_level level, const char *message,
                const struct log_field *fields, size_t n);

/* A number as a field's value of log_line; the text lasts as long as the caller's block. */
#define LOG_NUMBER 24
#define LOG_INT(v) log_number((int64_t)(v), (char[LOG_NUMBER]){ 0 })
const char *log_number(int64_t v, char buf[LOG_NUMBER]);

#endif
