/* SPDX-License-Identifier: MIT */
#include "support/runs.h"

#include "run/reader.h"
#include "support/tempdir.h"

static int setup(void **state, bool memory)
{
    struct fixture *x = calloc(1, sizeof(*x));
    struct store_options o = { .log_bytes = 4096, .reserve = 1 };
    if (tempdir_make(x->dir, sizeof x->dir, "run") < 0)
        return -1;
    *state = x;
    return store_open(memory ? "memory:" : x->dir, &o, &x->s);
}

int setup_memory(void **state)
{
    return setup(state, true);
}

int setup_file(void **state)
{
    return setup(state, false);
}

int teardown(void **state)
{
    struct fixture *x = *state;
    store_close(x->s);
    tempdir_remove(x->dir);
    free(x);
    return 0;
}

static struct str copy_of(struct str s)
{
    char *p = malloc(s.len + 1);
    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    return (struct str){ p, s.len };
}

void model_put(struct model *m, struct str key, uint32_t version, bool grave, struct str value)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 64;
        m->entries = realloc(m->entries, m->cap * sizeof(*m->entries));
    }
    m->entries[m->n++] = (struct run_entry){ copy_of(key), version, grave,
                                             copy_of(grave ? (struct str){ 0 } : value) };
}

static void free_entry(const struct run_entry *e)
{
    void *p;
    memcpy(&p, &e->key.ptr, sizeof p); /* slices are of const */
    free(p);
    memcpy(&p, &e->value.ptr, sizeof p);
    free(p);
}

void model_fini(struct model *m)
{
    for (size_t i = 0; i < m->n; i++)
        free_entry(&m->entries[i]);
    free(m->entries);
    *m = (struct model){ 0 };
}

int key_order(struct str a, struct str b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        if (a.ptr[i] != b.ptr[i])
            return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[i] ? -1 : 1;
    }
    return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

static int entry_order(const void *a, const void *b)
{
    const struct run_entry *x = a;
    const struct run_entry *y = b;
    int order = key_order(x->key, y->key);
    return order != 0 ? order : (x->version < y->version) - (x->version > y->version);
}

void model_sort(struct model *m)
{
    size_t kept = 0;
    if (m->n > 0)
        qsort(m->entries, m->n, sizeof(*m->entries), entry_order);
    for (size_t i = 0; i < m->n; i++) {
        if (kept > 0 && key_order(m->entries[kept - 1].key, m->entries[i].key) == 0)
            free_entry(&m->entries[i]);
        else
            m->entries[kept++] = m->entries[i];
    }
    m->n = kept;
}

void model_merge(struct model *into, const struct model *from)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct run_entry *e = &from->entries[i];
        model_put(into, e->key, e->version, e->grave, e->value);
    }
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Some keys are of few letters, some share long beginnings, some are any bytes. With `narrow` most
 * are the same for every seed. */
static struct str random_key(uint64_t *seed, unsigned narrow, char key[256])
{
    size_t len = 0;
    unsigned kind = narrow ? 0 : next_random(seed) % 3;
    if (kind == 1)
        len = (size_t)snprintf(key, 256, "a-long-beginning/of-keys/%u/", next_random(seed) % 4);
    size_t more = 1 + next_random(seed) % (kind == 0 ? 4 : 60);
    for (size_t i = 0; i < more; i++)
        key[len++] = kind == 0 ? (char)('a' + next_random(seed) % 5) : (char)next_random(seed);
    return (struct str){ key, len };
}

void fill_model(struct model *m, size_t n, unsigned number, unsigned narrow)
{
    uint64_t seed = number + 1;
    char value[700];
    for (size_t i = 0; i < n; i++) {
        char key[256];
        size_t len = next_random(&seed) % (next_random(&seed) % 8 == 0 ? sizeof value : 100);
        for (size_t k = 0; k < len; k++)
            value[k] = (char)next_random(&seed);
        uint32_t version = next_random(&seed) % 1000 * 1000 + number;
        bool grave = next_random(&seed) % 5 == 0;
        model_put(m, random_key(&seed, narrow, key), version, grave, (struct str){ value, len });
    }
    model_sort(m);
}

bool entry_is(const struct run_entry *e, const struct run_entry *want)
{
    return str_eq(e->key, want->key) && e->version == want->version && e->grave == want->grave &&
           str_eq(e->value, want->value);
}

void expect_entry(const struct run_entry *e, const struct run_entry *want)
{
    assert_int_equal(e->key.len, want->key.len);
    assert_memory_equal(e->key.ptr, want->key.ptr, want->key.len);
    assert_int_equal(e->version, want->version);
    assert_int_equal(e->grave, want->grave);
    assert_true(str_eq(e->value, want->value));
}

/* The bytes that an open run takes. */
static size_t run_memory(const struct run *r)
{
    return sizeof(*r) + r->root.keys.cap + (size_t)r->root.index * sizeof(*r->root.names) +
           ((size_t)r->root.filters + 1) * sizeof(*r->root.filter_at);
}

struct run *write_run(struct store *s, const char *log, const struct model *m, size_t block_bytes,
                      struct run_info *ret)
{
    struct run_options o = {
        .store = s, .log = str_of(log), .fence = STR("owner"), .block_bytes = block_bytes
    };
    struct run_info info;
    struct run_writer *w;
    struct run *r = NULL;
    assert_int_equal(run_writer_new(&o, &w), 0);
    for (size_t i = 0; i < m->n; i++)
        assert_int_equal(run_writer_add(w, &m->entries[i]), 0);
    assert_int_equal(run_writer_end(w, &info), 0);
    assert_int_equal(run_writer_bytes(w), info.bytes);
    run_writer_free(w);
    assert_int_equal(run_open(s, o.log, &info.place, &r), 0);
    assert_memory_equal(run_about(r), &info, sizeof info);
    assert_true(run_memory(r) > 0);
    if (ret)
        *ret = info;
    return r;
}

void drop_run(struct store *s, const char *log, struct run *r)
{
    run_close(r);
    assert_int_equal(s->ops->remove(s, str_of(log)), 0);
}

static void expect_from(struct run_cursor *c, const struct model *m, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        assert_false(c->at_end);
        expect_entry(&c->entry, &m->entries[i]);
        assert_int_equal(run_next(c), 0);
    }
    assert_int_equal(c->at_end, to == m->n);
}

void expect_all(struct run *r, const struct model *m)
{
    struct run_cursor c = { 0 };
    assert_int_equal(run_seek(&c, r, STR("")), 0);
    expect_from(&c, m, 0, m->n);
    assert_int_equal(run_next(&c), 0);
    assert_true(c.at_end);
    run_cursor_fini(&c);
}

void expect_seeks(struct run *r, const struct model *m)
{
    struct run_cursor c = { 0 };
    for (size_t i = 0; i < m->n; i++) {
        char key[RUN_KEY_MAX + 1];
        size_t len = m->entries[i].key.len;
        memcpy(key, m->entries[i].key.ptr, len);
        for (int change = 0; change < 4; change++) {
            struct str after = { key, len };
            if (change == 1)
                after.len = len - 1;
            if (change == 2)
                key[len] = '\0', after.len = len + 1;
            if (change == 3)
                key[len - 1]++;
            size_t want = 0;
            while (want < m->n && key_order(m->entries[want].key, after) <= 0)
                want++;
            assert_int_equal(run_seek(&c, r, after), 0);
            expect_from(&c, m, want, want + 3 < m->n ? want + 3 : m->n);
        }
    }
    run_cursor_fini(&c);
}
