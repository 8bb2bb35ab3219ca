/* SPDX-License-Identifier: MIT */
/* Helpers for tests of runs: a store, a plain model of what a run holds, and runs made of it. */
#ifndef TESTS_RUNS_H
#define TESTS_RUNS_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/run.h"

struct fixture {
    char dir[256];
    struct store *s;
};

int setup_memory(void **state);
int setup_file(void **state);
int teardown(void **state);

/* Entries with memory of their own, sorted by model_sort. */
struct model {
    struct run_entry *entries;
    size_t n;
    size_t cap;
};

void model_put(struct model *m, struct str key, uint32_t version, bool grave, struct str value);
void model_fini(struct model *m);

/* Written again here, byte by byte: the model shares no code with what it judges. */
int key_order(struct str a, struct str b);

/* By key; of equal keys the highest version stays. */
void model_sort(struct model *m);
void model_merge(struct model *into, const struct model *from);

/* About n entries. Versions of different seeds differ, so that no two with the same key are equal.
 */
void fill_model(struct model *m, size_t n, unsigned number, unsigned narrow);
bool entry_is(const struct run_entry *e, const struct run_entry *want);
void expect_entry(const struct run_entry *e, const struct run_entry *want);
struct run *write_run(struct store *s, const char *log, const struct model *m, size_t block_bytes,
                      struct run_info *ret);
void drop_run(struct store *s, const char *log, struct run *r);
void expect_all(struct run *r, const struct model *m);

/* Behind each key, and behind what is just before and just after it. */
void expect_seeks(struct run *r, const struct model *m);

#endif
