/* SPDX-License-Identifier: MIT */
#include "support/filestore.h"

#include "support/tempdir.h"

void open_store(struct fixture *x)
{
    int r = store_open(x->dir, &x->options, &x->s);
    if (r < 0)
        fail_msg("%d: %s", r, store_detail());
}

void reopen_store(struct fixture *x)
{
    store_close(x->s);
    x->s = NULL;
    open_store(x);
}

int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    if (tempdir_make(x->dir, sizeof x->dir, "file") < 0)
        return -1;
    x->options = (struct store_options){ .log_bytes = 4096, .reserve = 1 };
    open_store(x);
    *state = x;
    return 0;
}

int teardown(void **state)
{
    struct fixture *x = *state;
    store_close(x->s);
    tempdir_remove(x->dir);
    free(x);
    return 0;
}

int append(struct store *s, const char *log, uint64_t seq, struct str element, bool durable)
{
    struct store_append a = { .log = str_of(log),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = element,
                              .durable = durable,
                              .reserved = durable };
    return s->ops->append(s, &a);
}

struct str element_of(uint64_t i, char buf[64])
{
    size_t len = (size_t)(i % 50) + 1;
    memset(buf, 'a' + (int)(i % 26), len);
    return (struct str){ buf, len };
}

void append_range(struct store *s, const char *log, uint64_t from, uint64_t to, bool durable)
{
    char buf[64];
    for (uint64_t i = from; i < to; i++)
        assert_int_equal(append(s, log, i, element_of(i, buf), durable), 0);
}

int check_element(void *arg, uint64_t seq, struct str element)
{
    uint64_t *next = arg;
    char buf[64];
    assert_int_equal(seq, *next);
    assert_true(str_eq(element, element_of(seq, buf)));
    ++*next;
    return 0;
}

int read_all(struct store *s, const char *log, uint64_t *ret_count, struct store_tail *ret)
{
    *ret_count = 0;
    return s->ops->read(s, str_of(log), 0, 0, check_element, ret_count, ret);
}

void expect_clean(struct store *s, const char *log, uint64_t elements)
{
    uint64_t count;
    struct store_tail tail;
    int r = read_all(s, log, &count, &tail);
    if (r < 0)
        fail_msg("%d: %s", r, store_detail());
    assert_int_equal(count, elements);
    assert_int_equal(tail.elements, elements);
    assert_int_equal(tail.torn_bytes, 0);
}

void log_path(const struct fixture *x, const char *log, char ret[512])
{
    snprintf(ret, 512, "%s/logs/%s.log", x->dir, log);
}

struct buf load_file(const char *path)
{
    struct buf b = { 0 };
    struct stat st;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    assert_true(buf_reserve(&b, (size_t)st.st_size + 1));
    b.len = fread(b.ptr, 1, (size_t)st.st_size, f);
    fclose(f);
    return b;
}

void save_file(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

size_t offset_of(uint64_t seq)
{
    uint64_t offset = LOG_START;
    for (uint64_t i = 0; i < seq; i++)
        offset += element_span(i % 50 + 1);
    return (size_t)offset;
}
