/* SPDX-License-Identifier: MIT */
/* Helpers for tests of the file store: a directory of its own, and its log file as bytes. */
#ifndef TESTS_FILESTORE_H
#define TESTS_FILESTORE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/element.h"
#include "store/file.h"
#include "store/store.h"

struct fixture {
    char dir[256];
    struct store_options options;
    struct store *s;
};

void open_store(struct fixture *x);
void reopen_store(struct fixture *x);
int setup(void **state);
int teardown(void **state);
int append(struct store *s, const char *log, uint64_t seq, struct str element, bool durable);

/* Element i of the logs that these tests write: i % 50 + 1 bytes of 'a' + i % 26. */
struct str element_of(uint64_t i, char buf[64]);
void append_range(struct store *s, const char *log, uint64_t from, uint64_t to, bool durable);
int check_element(void *arg, uint64_t seq, struct str element);

/* The read's answer; *ret_count is the number of elements seen, all of which were right. */
int read_all(struct store *s, const char *log, uint64_t *ret_count, struct store_tail *ret);
void expect_clean(struct store *s, const char *log, uint64_t elements);
void log_path(const struct fixture *x, const char *log, char ret[512]);
struct buf load_file(const char *path);
void save_file(const char *path, const char *bytes, size_t len);

/* Offset of element `seq` in a log written by append_range. */
size_t offset_of(uint64_t seq);

#endif
