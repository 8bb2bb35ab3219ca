/* SPDX-License-Identifier: MIT */
/* What the suites of the store contract share: a store of each kind, and texts of what it holds. */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/fault.h"
#include "store/memory.h"
#include "store/store.h"

enum kind { MEMORY, FILES, FAULTY };

struct fixture {
    enum kind kind;
    char dir[256];
    struct store *inner; /* under the fault wrapper */
    struct store *s;
};

void open_store(struct fixture *x);
int setup_memory(void **state);
int setup_file(void **state);
int setup_faulty(void **state);
int teardown(void **state);
int append(struct store *s, const char *log, uint64_t seq, const char *text);
int put(struct store *s, const char *name, uint64_t expect, uint64_t next, const char *value,
        int64_t expires_ms);

/* Collects what callbacks give as "seq=element;" or "name;". */
struct text {
    char text[8192];
    size_t len;
    int stop_after; /* < 0: never */
};

#define STOPPED 77

int add_element(void *arg, uint64_t seq, struct str element);
int add_name(void *arg, struct str name);
int add_record(void *arg, const struct store_cell *r);
void expect_read(struct store *s, const char *log, uint64_t from, const char *expected,
                 uint64_t elements);
void expect_list(struct store *s, const char *prefix, const char *expected);
void expect_scan(struct store *s, const char *prefix, const char *expected);

/* Each row of a table of tests, for each kind of store. */
#define ON_MEMORY(test) { "memory: " #test, test, setup_memory, teardown, NULL },
#define ON_FILE(test)   { "file: " #test, test, setup_file, teardown, NULL },
#define ON_FAULTY(test) { "fault: " #test, test, setup_faulty, teardown, NULL },

#endif
