/* SPDX-License-Identifier: MIT */
#include "sim/trace.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 80
#define WIDTH 220

static struct {
    char lines[LINES][WIDTH];
    uint64_t count;
    char again[WIDTH];
    bool verbose;
} trace;

static void print_all(void)
{
    uint64_t from = trace.count > LINES ? trace.count - LINES : 0;
    for (uint64_t i = from; i < trace.count && !trace.verbose; i++)
        printf("%6llu  %s\n", (unsigned long long)i, trace.lines[i % LINES]);
}

static void print_end(void)
{
    printf("again: %s\n", trace.again);
    fflush(stdout);
}

/* Not async-signal-safe, which is fine: the process is lost anyway and this mostly works. */
static void on_signal(int number)
{
    signal(number, SIG_DFL);
    print_all();
    printf("FAILED: signal %d (%s)\n", number, strsignal(number));
    print_end();
    _exit(1);
}

void trace_begin(const char *again, bool verbose)
{
    static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    trace.count = 0;
    trace.verbose = verbose;
    snprintf(trace.again, sizeof(trace.again), "%s", again);
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        signal(fatal[i], on_signal);
}

void trace_note(const char *format, ...)
{
    va_list args;
    char *line = trace.lines[trace.count % LINES];
    va_start(args, format);
    vsnprintf(line, WIDTH, format, args);
    va_end(args);
    if (trace.verbose)
        printf("%6llu  %s\n", (unsigned long long)trace.count, line);
    trace.count++;
}

void trace_fail(const char *format, ...)
{
    va_list args;
    print_all();
    printf("FAILED: ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    print_end();
    exit(1);
}
