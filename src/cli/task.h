/* SPDX-License-Identifier: MIT */
/* A command that runs for one job: a child in a process group of its own. The payload goes in, and
 * standard error comes out, and standard output if it is wanted. Nothing here blocks or knows a
 * server; the caller has a poll loop. */
#ifndef CLI_TASK_H
#define CLI_TASK_H

#include <stdint.h>
#include <poll.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/id.h"
#include "record/limits.h"

#define TASK_TAIL       ERROR_MAX_BYTES /* bytes of standard error that are kept */
#define TASK_TOKEN      24
#define TASK_RESULT_MAX 65536
#define TASK_GRACE_MS   5000 /* between SIGTERM and SIGKILL */
#define TASK_POLLS      3
#define TASK_LINE_MAX   65536 /* a longer line of output is cut in two */

/* Why a command was told to end. */
enum task_fate { TASK_WANTED, TASK_CANCELLED, TASK_LOST, TASK_STOPPED, TASK_TIMED_OUT };

/* Where the output of a command goes. */
enum task_output {
    TASK_PASSED,   /* to the output of this program, as it is */
    TASK_KEPT,     /* standard output is the result of the job */
    TASK_PREFIXED, /* to the output of this program, each line behind the id of the job */
};

struct task {
    pid_t pid;        /* 0: the slot is free */
    int in, out, err; /* our ends; -1: closed */
    char id[ID_TEXT + 1];
    char token[TASK_TOKEN];
    struct buf payload;
    size_t written;
    struct buf result; /* standard output, if captured */
    bool cut;          /* the result was longer than TASK_RESULT_MAX */
    enum task_output output;
    struct buf lines[2]; /* lines that have not ended yet, of standard output and standard error */
    char tail[TASK_TAIL];
    size_t tail_len;
    int64_t started_ms; /* monotonic, like all times here */
    int64_t every_ms;   /* how often its lease is extended */
    int64_t extend_ms;  /* when its lease is extended next */
    int64_t kill_ms;    /* when SIGKILL follows; INT64_MAX: never */
    int64_t limit_ms;   /* how long it may run; 0: any time */
    enum task_fate fate;
    int status; /* as of waitpid(), once it has ended */
};

#define TASK_METAS 32

struct task_meta {
    struct str name, value;
};

/* The facts that a command is told about its job. A row has the member, which is named like the
 * field in LEASE's answer, and the variable of the environment. A fact that is empty has no
 * variable. */
#define TASK_TEXTS(X)          \
    X(id, "BELFRY_ID")         \
    X(token, "BELFRY_TOKEN")   \
    X(tenant, "BELFRY_TENANT") \
    X(queue, "BELFRY_QUEUE")   \
    X(key, "BELFRY_KEY")       \
    X(order, "BELFRY_ORDER")   \
    X(recurrence, "BELFRY_RECURRENCE")
/* Numbers have a value, too, for an answer that lacks them. */
#define TASK_NUMBERS(X)               \
    X(attempt, "BELFRY_ATTEMPT", 1)   \
    X(due_ms, "BELFRY_DUE_MS", 0)     \
    X(priority, "BELFRY_PRIORITY", 3) \
    X(nominal_ms, "BELFRY_NOMINAL_MS", 0)

struct task_job {
#define TASK_TEXT(name, variable)              struct str name;
#define TASK_NUMBER(name, variable, otherwise) int64_t name;
    TASK_TEXTS(TASK_TEXT)
    TASK_NUMBERS(TASK_NUMBER)
#undef TASK_TEXT
#undef TASK_NUMBER
    struct str payload;
    struct task_meta metas[TASK_METAS];
    size_t meta_count;
};

/* Starts argv for the job. 0, or IO with errno. By then the caller ignores SIGPIPE and watches for
 * SIGCHLD. */
int task_start(struct task *t, const struct task_job *job, char *const *argv,
               enum task_output output, int64_t now_ms);

/* Fills up to TASK_POLLS entries; returns how many. */
size_t task_polls(const struct task *t, struct pollfd *ret);
/* Moves bytes, whichever side is ready. */
void task_move(struct task *t);

/* Sends SIGTERM to its group, and notes when SIGKILL follows. The first reason stays. */
void task_end(struct task *t, enum task_fate why, int64_t now_ms);
void task_kill(struct task *t);

/* True once the child has ended; by then its last output is read and its files are closed. */
bool task_reap(struct task *t);

/* Why it failed: "exit status 3", "killed by signal 9", "timed out after 5s". */
void task_why(const struct task *t, struct buf *out);
/* That, and the end of standard error: "exit status 3: no such host". */
void task_error(const struct task *t, struct buf *out);

/* Frees the slot. */
void task_clear(struct task *t);

#endif
