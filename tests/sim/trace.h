/* SPDX-License-Identifier: MIT */
/* The last operations of a run, and the end of a run that failed. One per process. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts a run; `again` is the command that repeats it. Fatal signals fail the run from now on. */
void trace_begin(const char *again, bool verbose);

/* Notes an operation. */
void trace_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints what went wrong, the last operations and the command to repeat them; exits with 1. */
_Noreturn void trace_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* trace_fail unless it holds. */
#define CHECK(condition, ...)        \
    do {                             \
        if (!(condition))            \
            trace_fail(__VA_ARGS__); \
    } while (0)

#endif
