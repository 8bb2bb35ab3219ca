/* SPDX-License-Identifier: MIT */
/* Runs: what was written is found again by key, in order, merged, and never wrong when damaged. */
#include "support/runs.h"

#include <pthread.h>

static void everything_written_is_read_in_order(void **state)
{
    struct fixture *x = *state;
    static const size_t blocks[] = { 0, 64, 300, 5000 };
    for (unsigned round = 0; round < 4; round++) {
        struct model m = { 0 };
        fill_model(&m, 2000, round, round);
        struct run *r = write_run(x->s, "r/a", &m, blocks[round], NULL);
        expect_all(r, &m);
        assert_int_equal(run_about(r)->entries, m.n);
        drop_run(x->s, "r/a", r);
        model_fini(&m);
    }
}

static void run_of_one_entry(void **state)
{
    struct fixture *x = *state;
    struct model m = { 0 };
    model_put(&m, STR("k"), 7, false, STR("value"));
    struct run *r = write_run(x->s, "r/a", &m, 0, NULL);
    expect_all(r, &m);
    expect_seeks(r, &m);
    assert_int_equal(run_about(r)->place.elements, 3);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static void seeks_find_every_key_and_what_is_between(void **state)
{
    struct fixture *x = *state;
    static const size_t blocks[] = { 0, 64, 300 };
    for (unsigned round = 0; round < 3; round++) {
        struct model m = { 0 };
        fill_model(&m, 600, 10 + round, 0);
        struct run *r = write_run(x->s, "r/a", &m, blocks[round], NULL);
        expect_seeks(r, &m);
        drop_run(x->s, "r/a", r);
        model_fini(&m);
    }
}

static void values_may_be_much_larger_than_blocks(void **state)
{
    struct fixture *x = *state;
    static const size_t sizes[] = {
        0, 1, RUN_BLOCK - 60, RUN_BLOCK, 40 << 10, 1 << 20, 3, 5 << 20
    };
    char *bytes = malloc(5 << 20);
    struct model m = { 0 };
    for (size_t i = 0; i < 5 << 20; i++)
        bytes[i] = (char)(i * 7 + i / 1000);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char key[2] = { (char)('a' + i), 0 };
        model_put(&m, str_of(key), (uint32_t)i, false, (struct str){ bytes, sizes[i] });
    }
    struct run *r = write_run(x->s, "r/a", &m, 0, NULL);
    expect_all(r, &m);
    expect_seeks(r, &m);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
    free(bytes);
}

static void keys_of_every_length_and_byte(void **state)
{
    struct fixture *x = *state;
    struct model m = { 0 };
    char key[RUN_KEY_MAX];
    for (int c = 0; c < 256; c++) {
        memset(key, c, sizeof key);
        for (size_t len = 1; len <= RUN_KEY_MAX; len = len * 2 + (size_t)(c & 1)) {
            uint32_t version = c & 2 ? UINT32_MAX - (uint32_t)len : (uint32_t)len;
            model_put(&m, (struct str){ key, len }, version, c % 5 == 0, STR(""));
        }
    }
    model_sort(&m);
    struct run *r = write_run(x->s, "r/a", &m, 2000, NULL);
    expect_all(r, &m);
    expect_seeks(r, &m);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static void run_is_found_without_the_position_of_its_root(void **state)
{
    struct fixture *x = *state;
    struct model m = { 0 };
    struct run_info info;
    fill_model(&m, 500, 3, 0);
    struct run *r = write_run(x->s, "r/a", &m, 300, &info);
    run_close(r);
    info.place.root_at = 0;
    assert_int_equal(run_open(x->s, STR("r/a"), &info.place, &r), 0);
    expect_all(r, &m);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static void wrong_places_are_refused(void **state)
{
    struct fixture *x = *state;
    struct model m = { 0 };
    struct run_info info;
    struct run *none = NULL;
    fill_model(&m, 500, 3, 0);
    struct run *r = write_run(x->s, "r/a", &m, 300, &info);
    struct run_place place = info.place;
    assert_int_equal(run_open(x->s, STR("r/b"), &place, &none), BELFRY_NOTFOUND);
    place.elements++;
    assert_int_equal(run_open(x->s, STR("r/a"), &place, &none), BELFRY_CORRUPT);
    place.root_at = 0;
    assert_int_equal(run_open(x->s, STR("r/a"), &place, &none), BELFRY_CORRUPT);
    place.elements = info.place.elements - 1; /* an index block */
    assert_int_equal(run_open(x->s, STR("r/a"), &place, &none), BELFRY_CORRUPT);
    assert_non_null(strstr(store_detail(), "r/a: element"));
    place.elements = 1;
    assert_int_equal(run_open(x->s, STR("r/a"), &place, &none), BELFRY_INVALID);
    assert_null(none);
    run_close(NULL);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static void writer_refuses_what_is_no_run(void **state)
{
    struct fixture *x = *state;
    struct run_options o = { .store = x->s, .log = STR("r/a"), .fence = STR("owner") };
    struct run_entry e = { .key = STR("b"), .version = 1 };
    struct run_info info;
    struct run_writer *w;
    char key[RUN_KEY_MAX + 1] = { 0 };
    assert_int_equal(run_writer_new(&o, &w), 0);
    assert_int_equal(run_writer_end(w, &info), BELFRY_INVALID);
    run_writer_free(w);
    assert_int_equal(run_writer_new(&o, &w), 0);
    assert_int_equal(run_writer_add(w, &e), 0);
    assert_int_equal(run_writer_add(w, &e), BELFRY_INVALID);
    e.key = STR("a");
    assert_int_equal(run_writer_add(w, &e), BELFRY_INVALID);
    e.key = STR("");
    assert_int_equal(run_writer_add(w, &e), BELFRY_INVALID);
    e.key = (struct str){ key, sizeof key };
    assert_int_equal(run_writer_add(w, &e), BELFRY_INVALID);
    e = (struct run_entry){ .key = STR("c"), .grave = true, .value = STR("x") };
    assert_int_equal(run_writer_add(w, &e), BELFRY_INVALID);
    e = (struct run_entry){ .key = STR("c"), .value = { key, STORE_ELEMENT_MAX } };
    assert_int_equal(run_writer_add(w, &e), BELFRY_TOOLARGE);
    run_writer_free(w);
    run_writer_free(NULL);
}

static void writer_tells_what_the_store_says(void **state)
{
    struct fixture *x = *state;
    struct run_options o = {
        .store = x->s, .log = STR("r/a"), .fence = STR("owner"), .epoch = 5, .block_bytes = 64
    };
    struct run_info info;
    struct run_writer *w;
    int r = 0;
    assert_int_equal(run_writer_new(&o, &w), 0);
    for (char c = 'a'; c < 'z' && r == 0; c++) {
        char key[50] = { c };
        struct run_entry e = { .key = { key, sizeof key } };
        r = run_writer_add(w, &e);
    }
    assert_int_equal(r, BELFRY_FENCED);
    assert_int_equal(run_writer_end(w, &info), BELFRY_FENCED);
    run_writer_free(w);
}

static void get_finds_what_is_there_and_nothing_else(void **state)
{
    struct fixture *x = *state;
    struct model m = { 0 };
    struct buf hold = { 0 };
    struct run_entry e;
    fill_model(&m, 800, 4, 0);
    struct run *r = write_run(x->s, "r/a", &m, 500, NULL);
    for (size_t i = 0; i < m.n; i++) {
        assert_int_equal(run_find(r, m.entries[i].key, &hold, &e), 0);
        expect_entry(&e, &m.entries[i]);
        char key[RUN_KEY_MAX + 1];
        memcpy(key, m.entries[i].key.ptr, m.entries[i].key.len);
        key[m.entries[i].key.len] = '\0';
        struct str longer = { key, m.entries[i].key.len + 1 };
        if (i + 1 == m.n || !str_eq(m.entries[i + 1].key, longer))
            assert_int_equal(run_find(r, longer, &hold, &e), BELFRY_NOTFOUND);
    }
    buf_fini(&hold);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static uint64_t hash_of(uint64_t i)
{
    return i * UINT64_C(0x9e3779b97f4a7c15) ^ (i * UINT64_C(0xc2b2ae3d27d4eb4f) >> 29);
}

/* False positives among so many others, in parts of a thousand. */
static uint64_t filter_errors(struct fixture *x, uint64_t items, uint64_t *ret_elements)
{
    struct run_options o = {
        .store = x->s, .log = STR("r/f"), .fence = STR("owner"), .filter_items = items
    };
    struct run_entry e = { .key = STR("k") };
    struct buf filter = { 0 };
    struct run_info info;
    struct run_writer *w;
    struct run *r = NULL;
    uint64_t wrong = 0;
    assert_int_equal(run_writer_new(&o, &w), 0);
    assert_int_equal(run_writer_add(w, &e), 0);
    for (uint64_t i = 0; i < items; i++)
        run_writer_filter(w, hash_of(i));
    assert_int_equal(run_writer_end(w, &info), 0);
    run_writer_free(w);
    assert_int_equal(run_open(x->s, STR("r/f"), &info.place, &r), 0);
    assert_int_equal(run_filter_load(r, &filter), 0);
    for (uint64_t i = 0; i < items; i++)
        assert_true(run_filter_has(buf_view(&filter), hash_of(i)));
    for (uint64_t i = 0; i < 100000; i++)
        wrong += run_filter_has(buf_view(&filter), hash_of(items + i));
    *ret_elements = info.place.elements;
    buf_fini(&filter);
    drop_run(x->s, "r/f", r);
    return wrong / 100;
}

static void filters_miss_nothing_and_are_seldom_wrong(void **state)
{
    uint64_t elements;
    assert_in_range(filter_errors(*state, 100, &elements), 0, 20);
    assert_in_range(filter_errors(*state, 50000, &elements), 1, 20);
    assert_int_equal(elements, 4);
    assert_in_range(filter_errors(*state, 2000000, &elements), 1, 20);
    assert_int_equal(elements, 6); /* 2.5 MB in pieces of one MiB */
}

static void run_without_filter_may_have_anything(void **state)
{
    struct fixture *x = *state;
    struct buf filter = { 0 };
    struct model m = { 0 };
    fill_model(&m, 10, 4, 0);
    struct run *r = write_run(x->s, "r/a", &m, 0, NULL);
    assert_int_equal(run_filter_load(r, &filter), 0);
    assert_int_equal(filter.len, 0);
    assert_true(run_filter_has(buf_view(&filter), 1));
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

/* Runs with keys in common, and the model of them as one. */
static void merge_of(struct fixture *x, size_t n, size_t each, struct str after)
{
    struct run **runs = calloc(n, sizeof(struct run *));
    struct model all = { 0 };
    struct run_merge merge;
    size_t i = 0;
    for (size_t k = 0; k < n; k++) {
        struct model m = { 0 };
        char log[32];
        snprintf(log, sizeof log, "r/%zu", k);
        fill_model(&m, each, 100 + (unsigned)k, 1);
        runs[k] = write_run(x->s, log, &m, 200 + 100 * k, NULL);
        model_merge(&all, &m);
        model_fini(&m);
    }
    model_sort(&all);
    while (i < all.n && str_compare(all.entries[i].key, after) <= 0)
        i++;
    assert_int_equal(run_merge_init(&merge, runs, n, after, false), 0);
    for (; merge.now; i++) {
        assert_true(i < all.n);
        expect_entry(&merge.now->entry, &all.entries[i]);
        assert_int_equal(run_merge_next(&merge), 0);
    }
    assert_int_equal(i, all.n);
    assert_int_equal(run_merge_next(&merge), 0);
    assert_null(merge.now);
    run_merge_fini(&merge);
    for (size_t k = 0; k < n; k++) {
        char log[32];
        snprintf(log, sizeof log, "r/%zu", k);
        drop_run(x->s, log, runs[k]);
    }
    model_fini(&all);
    free(runs);
}

static void merge_gives_the_highest_version_of_each_key(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 3, 5, 16, 120 };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        merge_of(*state, counts[i], 300, STR(""));
    merge_of(*state, 7, 300, STR("b"));
    merge_of(*state, 7, 300, STR("\xff\xff\xff"));
}

static void merge_may_begin_at_another_place_in_each_run(void **state)
{
    struct fixture *x = *state;
    static const struct str afters[3] = { { "b", 1 }, { "", 0 }, { "dd", 2 } };
    struct model all = { 0 };
    struct run *runs[3];
    struct run_merge merge;
    size_t i = 0;
    for (unsigned k = 0; k < 3; k++) {
        struct model m = { 0 };
        char log[32];
        snprintf(log, sizeof log, "r/%u", k);
        fill_model(&m, 300, 200 + k, 1);
        runs[k] = write_run(x->s, log, &m, 300, NULL);
        for (size_t e = 0; e < m.n; e++) {
            if (key_order(m.entries[e].key, afters[k]) > 0)
                model_put(&all, m.entries[e].key, m.entries[e].version, m.entries[e].grave,
                          m.entries[e].value);
        }
        model_fini(&m);
    }
    model_sort(&all);
    assert_int_equal(run_merge_init_each(&merge, runs, 3, afters, false), 0);
    for (; merge.now; i++) {
        assert_true(i < all.n);
        expect_entry(&merge.now->entry, &all.entries[i]);
        assert_int_equal(run_merge_next(&merge), 0);
    }
    assert_int_equal(i, all.n);
    run_merge_fini(&merge);
    for (unsigned k = 0; k < 3; k++)
        run_close(runs[k]);
    model_fini(&all);
}

struct reader {
    struct run *run;
    const struct model *m;
    unsigned number;
    int failures;
};

/* cmocka's asserts are for the main thread only. */
static void *read_much(void *arg)
{
    struct reader *t = arg;
    struct run_cursor c = { 0 };
    struct buf hold = { 0 };
    struct run_entry e;
    size_t n = 0;
    int r = run_seek(&c, t->run, STR(""));
    while (r == 0 && !c.at_end) {
        t->failures += n >= t->m->n || !entry_is(&c.entry, &t->m->entries[n]);
        n++;
        r = run_next(&c);
    }
    t->failures += r != 0 || n != t->m->n;
    for (size_t i = t->number; i < t->m->n; i += 7) {
        const struct run_entry *want = &t->m->entries[i];
        r = run_find(t->run, want->key, &hold, &e);
        t->failures += r != 0 || !entry_is(&e, want);
        r = run_seek(&c, t->run, want->key);
        t->failures += r != 0 || c.at_end != (i + 1 == t->m->n);
    }
    run_cursor_fini(&c);
    buf_fini(&hold);
    return NULL;
}

static void run_is_read_by_threads_at_once(void **state)
{
    struct fixture *x = *state;
    struct reader readers[4];
    pthread_t threads[4];
    struct model m = { 0 };
    fill_model(&m, 1500, 5, 0);
    struct run *r = write_run(x->s, "r/a", &m, 1000, NULL);
    for (unsigned i = 0; i < 4; i++) {
        readers[i] = (struct reader){ r, &m, i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, read_much, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 20; i++) /* others are written and removed meanwhile */
        drop_run(x->s, "r/b", write_run(x->s, "r/b", &m, 5000, NULL));
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failures, 0);
    }
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

/* Reads until its run is gone. */
static void *read_until_removed(void *arg)
{
    struct reader *t = arg;
    struct buf hold = { 0 };
    struct run_entry e;
    int r = 0;
    for (size_t i = t->number; r == 0; i = (i + 7) % t->m->n) {
        r = run_find(t->run, t->m->entries[i].key, &hold, &e);
        t->failures += r == 0 && !entry_is(&e, &t->m->entries[i]);
    }
    t->failures += r != BELFRY_NOTFOUND;
    buf_fini(&hold);
    return NULL;
}

static void run_that_is_removed_while_it_is_read_is_not_found(void **state)
{
    struct fixture *x = *state;
    for (int round = 0; round < 10; round++) {
        struct reader readers[2];
        pthread_t threads[2];
        struct model m = { 0 };
        fill_model(&m, 200, 6, 0);
        struct run *r = write_run(x->s, "r/a", &m, 400, NULL);
        for (unsigned i = 0; i < 2; i++) {
            readers[i] = (struct reader){ r, &m, i, 0 };
            assert_int_equal(pthread_create(&threads[i], NULL, read_until_removed, &readers[i]), 0);
        }
        usleep(2000);
        assert_int_equal(x->s->ops->remove(x->s, STR("r/a")), 0);
        for (unsigned i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(readers[i].failures, 0);
        }
        run_close(r);
        model_fini(&m);
    }
}

#define TESTS(X)                                     \
    X(everything_written_is_read_in_order)           \
    X(run_of_one_entry)                              \
    X(seeks_find_every_key_and_what_is_between)      \
    X(values_may_be_much_larger_than_blocks)         \
    X(keys_of_every_length_and_byte)                 \
    X(run_is_found_without_the_position_of_its_root) \
    X(wrong_places_are_refused)                      \
    X(writer_refuses_what_is_no_run)                 \
    X(writer_tells_what_the_store_says)              \
    X(get_finds_what_is_there_and_nothing_else)      \
    X(filters_miss_nothing_and_are_seldom_wrong)     \
    X(run_without_filter_may_have_anything)          \
    X(merge_gives_the_highest_version_of_each_key)   \
    X(merge_may_begin_at_another_place_in_each_run)  \
    X(run_is_read_by_threads_at_once)                \
    X(run_that_is_removed_while_it_is_read_is_not_found)

#define ON_MEMORY(test) { "memory: " #test, test, setup_memory, teardown, NULL },
#define ON_FILE(test)   { "file: " #test, test, setup_file, teardown, NULL },

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS(ON_MEMORY) TESTS(ON_FILE) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
