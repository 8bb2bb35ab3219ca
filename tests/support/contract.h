/* SPDX-License-Identifier: MIT */
/* What the suites of the store contract share: a store of each kind, and texts of what it holds. */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/memory.h"
#include "store/store.h"

enum kind { MEMORY, FILES, FAULTY };

struct fixture {
    enum kind kind;
    char dir[256];
    struct store *inner; /* under the fault wrapper */
    struct store *s;
};

static enum fault_action never(void *arg, enum fault_point point)
{
    (void)arg;
    (void)point;
    return FAULT_GO;
}

static inline void open_store(struct fixture *x)
{
    struct store_options o = { .log_bytes = 4096, .reserve = 1 };
    if (x->kind == FILES) {
        assert_int_equal(store_open(x->dir, &o, &x->s), 0);
        return;
    }
    assert_int_equal(store_open("memory:", &o, x->kind == FAULTY ? &x->inner : &x->s), 0);
    if (x->kind == FAULTY)
        assert_int_equal(fault_new(x->inner, 1, never, NULL, &x->s), 0);
}

static inline int setup(void **state, enum kind kind)
{
    struct fixture *x = calloc(1, sizeof(*x));
    const char *tmp = getenv("TMPDIR");
    x->kind = kind;
    snprintf(x->dir, sizeof x->dir, "%s/belfry-store-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(x->dir))
        return -1;
    open_store(x);
    *state = x;
    return 0;
}

static inline int setup_memory(void **state)
{
    return setup(state, MEMORY);
}

static inline int setup_file(void **state)
{
    return setup(state, FILES);
}

static inline int setup_faulty(void **state)
{
    return setup(state, FAULTY);
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
    store_close(x->s);
    store_close(x->inner);
    nftw(x->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(x);
    return 0;
}

static inline int append(struct store *s, const char *log, uint64_t seq, const char *text)
{
    struct store_append a = { .log = str_of(log),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = str_of(text),
                              .durable = true };
    return s->ops->append(s, &a);
}

static inline int put(struct store *s, const char *name, uint64_t expect, uint64_t next,
                      const char *value, int64_t expires_ms)
{
    struct store_cas c = { str_of(name), expect, next, str_of(value), expires_ms };
    return s->ops->cas(s, &c);
}

/* Collects what callbacks give as "seq=element;" or "name;". */
struct text {
    char text[8192];
    size_t len;
    int stop_after; /* < 0: never */
};

#define STOPPED 77

static inline int add_element(void *arg, uint64_t seq, struct str element)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%llu=%.*s;",
                               (unsigned long long)seq, STR_ARG(element));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

static inline int add_name(void *arg, struct str name)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%.*s;", STR_ARG(name));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

static inline int add_record(void *arg, const struct store_record *r)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%.*s@%llu=%.*s;",
                               STR_ARG(r->name), (unsigned long long)r->version, STR_ARG(r->value));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

static inline void expect_read(struct store *s, const char *log, uint64_t from,
                               const char *expected, uint64_t elements)
{
    struct text t = { .stop_after = -1 };
    struct store_tail tail = { 0 };
    assert_int_equal(s->ops->read(s, str_of(log), from, 0, add_element, &t, &tail), 0);
    assert_string_equal(t.text, expected);
    assert_int_equal(tail.elements, elements);
    assert_int_equal(tail.torn_bytes, 0);
}

static inline void expect_list(struct store *s, const char *prefix, const char *expected)
{
    struct text t = { .stop_after = -1 };
    assert_int_equal(s->ops->list(s, str_of(prefix), add_name, &t), 0);
    assert_string_equal(t.text, expected);
}

static inline void expect_scan(struct store *s, const char *prefix, const char *expected)
{
    struct text t = { .stop_after = -1 };
    assert_int_equal(s->ops->scan(s, str_of(prefix), add_record, &t), 0);
    assert_string_equal(t.text, expected);
}

/* Each row of a table of tests, for each kind of store. */
#define ON_MEMORY(test) { "memory: " #test, test, setup_memory, teardown, NULL },
#define ON_FILE(test)   { "file: " #test, test, setup_file, teardown, NULL },
#define ON_FAULTY(test) { "fault: " #test, test, setup_faulty, teardown, NULL },

#endif
