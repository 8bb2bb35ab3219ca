/* SPDX-License-Identifier: MIT */
#include "support/contract.h"

#include "support/tempdir.h"

static enum fault_action never(void *arg, enum fault_point point)
{
    (void)arg;
    (void)point;
    return FAULT_GO;
}

void open_store(struct fixture *x)
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

static int setup(void **state, enum kind kind)
{
    struct fixture *x = calloc(1, sizeof(*x));
    x->kind = kind;
    if (tempdir_make(x->dir, sizeof x->dir, "store") < 0)
        return -1;
    open_store(x);
    *state = x;
    return 0;
}

int setup_memory(void **state)
{
    return setup(state, MEMORY);
}

int setup_file(void **state)
{
    return setup(state, FILES);
}

int setup_faulty(void **state)
{
    return setup(state, FAULTY);
}

int teardown(void **state)
{
    struct fixture *x = *state;
    store_close(x->s);
    store_close(x->inner);
    tempdir_remove(x->dir);
    free(x);
    return 0;
}

int append(struct store *s, const char *log, uint64_t seq, const char *text)
{
    struct store_append a = { .log = str_of(log),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = str_of(text),
                              .durable = true };
    return s->ops->append(s, &a);
}

int put(struct store *s, const char *name, uint64_t expect, uint64_t next, const char *value,
        int64_t expires_ms)
{
    struct store_cas c = { str_of(name), expect, next, str_of(value), expires_ms };
    return s->ops->cas(s, &c);
}

int add_element(void *arg, uint64_t seq, struct str element)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%llu=%.*s;",
                               (unsigned long long)seq, STR_ARG(element));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

int add_name(void *arg, struct str name)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%.*s;", STR_ARG(name));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

int add_record(void *arg, const struct store_cell *r)
{
    struct text *t = arg;
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%.*s@%llu=%.*s;",
                               STR_ARG(r->name), (unsigned long long)r->version, STR_ARG(r->value));
    return t->stop_after >= 0 && --t->stop_after < 0 ? STOPPED : 0;
}

void expect_read(struct store *s, const char *log, uint64_t from, const char *expected,
                 uint64_t elements)
{
    struct text t = { .stop_after = -1 };
    struct store_tail tail = { 0 };
    assert_int_equal(s->ops->read(s, str_of(log), from, 0, add_element, &t, &tail), 0);
    assert_string_equal(t.text, expected);
    assert_int_equal(tail.elements, elements);
    assert_int_equal(tail.torn_bytes, 0);
}

void expect_list(struct store *s, const char *prefix, const char *expected)
{
    struct text t = { .stop_after = -1 };
    assert_int_equal(s->ops->list(s, str_of(prefix), add_name, &t), 0);
    assert_string_equal(t.text, expected);
}

void expect_scan(struct store *s, const char *prefix, const char *expected)
{
    struct text t = { .stop_after = -1 };
    assert_int_equal(s->ops->scan(s, str_of(prefix), add_record, &t), 0);
    assert_string_equal(t.text, expected);
}
