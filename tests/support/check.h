/* SPDX-License-Identifier: MIT */
/* Helpers for tests of `belfry check` and `belfry repair`: a data directory, the commands run on it
 * with what they print, and damage to its files. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "partition/partition.h"
#include "store/element.h"

#define NOW INT64_C(4000000000000) /* far ahead: the commands go by the real clock */

struct fixture {
    char dir[64];
    char out[80];      /* the file that takes the output of a command */
    char text[16384];  /* the output of the last command */
    unsigned segments; /* how many segments the whole journal had */
};

static inline struct fixture *fixture_new(void)
{
    struct fixture *x = calloc(1, sizeof(*x));

    snprintf(x->dir, sizeof(x->dir), "/tmp/belfry-check-XXXXXX");
    assert_non_null(mkdtemp(x->dir));
    snprintf(x->out, sizeof(x->out), "%s.out", x->dir);
    return x;
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int teardown(void **state)
{
    struct fixture *x = *state;

    nftw(x->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    unlink(x->out);
    free(x);
    return 0;
}

typedef int command_fn(struct cli *cli, int argc, char **argv);

/* Runs a command with the directory and one more argument; its output is in x->text. */
static inline int run(struct fixture *x, command_fn *command, const char *flag)
{
    struct cli cli = { 0 };
    char option[32];
    char *argv[] = { x->dir, option, NULL };
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), code;
    int fd = open(x->out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;

    snprintf(option, sizeof(option), "%s", flag ? flag : "");
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    code = command(&cli, flag ? 2 : 1, argv);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    n = pread(fd, x->text, sizeof(x->text) - 1, 0);
    x->text[n > 0 ? n : 0] = '\0';
    close(fd);
    return code;
}

static inline void expect_text(const struct fixture *x, const char *part)
{
    if (!strstr(x->text, part))
        fail_msg("no '%s' in: %s", part, x->text);
}

static inline void expect_run(struct fixture *x, command_fn *command, const char *flag, int code)
{
    int answer = run(x, command, flag);

    if (answer != code)
        fail_msg("%d, not %d: %s", answer, code, x->text);
}

static inline void commit_all(struct partition *p)
{
    assert_int_equal(partition_flush(p), 0);
}

static inline void log_path(const struct fixture *x, const char *log, char ret[256])
{
    snprintf(ret, 256, "%s/logs/%s.log", x->dir, log);
}

#define LAST UINT64_MAX

struct spot {
    uint64_t seq;
    uint64_t offset;
    uint64_t span;
    unsigned char kind; /* the first byte of the body */
};

/* Where an element stands in a log's file; seq may be LAST. */
static inline struct spot spot_of(const struct fixture *x, const char *log, uint64_t seq)
{
    struct element e = { .offset = LOG_START };
    char path[256], header[LOG_HEADER];
    struct log_key key;
    struct window w;
    struct spot s;
    int fd;

    log_path(x, log, path);
    fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
    assert_null(log_header_decode(header, str_of(log), &key));
    assert_int_equal(window_init(&w, fd), 0);
    assert_int_equal(element_at(&w, &key, e.offset, e.seq, &e), ELEMENT_WHOLE);
    for (;;) {
        struct element next;

        s = (struct spot){ e.seq, e.offset, e.span, (unsigned char)e.body.ptr[0] };
        if (e.seq == seq ||
            element_at(&w, &key, e.offset + e.span, e.seq + 1, &next) != ELEMENT_WHOLE)
            break;
        e = next;
    }
    assert_true(seq == LAST || s.seq == seq);
    window_fini(&w);
    close(fd);
    return s;
}

static inline void smash_log(const struct fixture *x, const char *log, uint64_t offset,
                             size_t bytes)
{
    static const char junk[8192] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    char path[256];
    int fd;

    log_path(x, log, path);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, junk, bytes, (off_t)offset), bytes);
    close(fd);
}

#endif
