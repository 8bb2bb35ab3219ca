/* SPDX-License-Identifier: MIT */
#include "support/filestore.h"

#include <limits.h>

#include "store/salvage.h"

struct found {
    uint64_t elements;
    uint64_t sum; /* of their numbers */
    uint64_t damages;
    uint64_t damaged_bytes;
    uint64_t first_offset;
    struct salvage *copy; /* may be NULL */
};

static int whole(void *arg, uint64_t seq, struct str element)
{
    struct found *f = arg;
    char buf[64];
    assert_true(str_eq(element, element_of(seq, buf)));
    f->elements++;
    f->sum += seq;
    return f->copy ? salvage_put(f->copy, element) : 0;
}

static int damaged(void *arg, uint64_t offset, uint64_t bytes, const char *what)
{
    struct found *f = arg;
    assert_non_null(what);
    if (f->damages++ == 0)
        f->first_offset = offset;
    f->damaged_bytes += bytes;
    return 0;
}

static struct buf make_log(struct fixture *x, uint64_t count, char path[512])
{
    append_range(x->s, "p/log", 0, count, true);
    store_close(x->s);
    x->s = NULL;
    log_path(x, "p/log", path);
    return load_file(path);
}

static void everything_but_the_damaged_stretches_is_given(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct found f = { 0 };
    struct buf b = make_log(x, 40, path);
    assert_int_equal(store_salvage(x->dir, STR("p/log"), whole, damaged, &f), 0);
    assert_int_equal(f.elements, 40);
    assert_int_equal(f.damages, 0);
    b.ptr[offset_of(7) + 20] ^= 1;                                   /* a bit of 7 */
    memset(b.ptr + offset_of(20), 0, offset_of(23) - offset_of(20)); /* 20, 21, 22 */
    b.ptr[offset_of(39) + 3] ^= 1;                                   /* the last */
    save_file(path, b.ptr, b.len);
    f = (struct found){ 0 };
    assert_int_equal(store_salvage(x->dir, STR("p/log"), whole, damaged, &f), 0);
    assert_int_equal(f.elements, 40 - 5);
    assert_int_equal(f.sum, 40 * 39 / 2 - 7 - 20 - 21 - 22 - 39);
    assert_int_equal(f.damages, 3);
    assert_int_equal(f.first_offset, offset_of(7));
    buf_fini(&b);
}

static void copy_of_the_header_saves_the_log(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct found f = { 0 };
    struct buf b = make_log(x, 10, path);
    memset(b.ptr, 0, 4096);
    save_file(path, b.ptr, b.len);
    assert_int_equal(store_salvage(x->dir, STR("p/log"), whole, damaged, &f), 0);
    assert_int_equal(f.elements, 10);
    assert_int_equal(f.damages, 1);
    memset(b.ptr, 0, 4200);
    save_file(path, b.ptr, b.len);
    f = (struct found){ 0 };
    assert_int_equal(store_salvage(x->dir, STR("p/log"), whole, damaged, &f), BELFRY_CORRUPT);
    assert_int_equal(f.elements, 0);
    assert_int_equal(f.damages, 1);
    assert_int_equal(store_salvage(x->dir, STR("none"), whole, damaged, &f), BELFRY_NOTFOUND);
    buf_fini(&b);
}

/* Counts the elements of a repaired log, whose numbers start anew at 0 and have no gap. */
static int count_any(void *arg, uint64_t seq, struct str element)
{
    (void)element;
    assert_int_equal(seq, *(uint64_t *)arg);
    ++*(uint64_t *)arg;
    return 0;
}

static void repaired_log_takes_the_place_and_the_damaged_one_is_kept(void **state)
{
    struct fixture *x = *state;
    char path[512];
    char kept[PATH_MAX];
    struct buf b = make_log(x, 30, path);
    b.ptr[offset_of(11) + 20] ^= 1;
    save_file(path, b.ptr, b.len);
    for (int round = 1; round <= 2; round++) {
        struct found f = { 0 };
        assert_int_equal(salvage_new(x->dir, STR("p/log"), &f.copy), 0);
        struct store *s;
        assert_int_equal(store_open(x->dir, &x->options, &s), BELFRY_LOCKED);
        if (round == 1)
            assert_int_equal(store_salvage(x->dir, STR("p/log"), whole, damaged, &f), 0);
        assert_int_equal(salvage_commit(f.copy, kept), 0);
        salvage_free(f.copy);
        char expected[64];
        snprintf(expected, sizeof expected, "/damaged/p+log.%d", round);
        assert_non_null(strstr(kept, expected));
        assert_int_equal(access(kept, F_OK), 0);
        open_store(x);
        uint64_t count = 0;
        struct store_tail tail;
        assert_int_equal(x->s->ops->read(x->s, STR("p/log"), 0, 0, count_any, &count, &tail), 0);
        assert_int_equal(count, round == 1 ? 29 : 0);
        assert_int_equal(tail.torn_bytes, 0);
        char buf[64];
        if (round == 1)
            assert_int_equal(append(x->s, "p/log", count, element_of(count, buf), true), 0);
        store_close(x->s);
        x->s = NULL;
    }
    buf_fini(&b);
}

static void salvage_that_is_given_up_changes_nothing(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct salvage *s;
    struct buf b = make_log(x, 5, path);
    assert_int_equal(salvage_new(x->dir, STR("p/log"), &s), 0);
    assert_int_equal(salvage_put(s, STR("something else")), 0);
    salvage_free(s);
    salvage_free(NULL);
    struct buf after = load_file(path);
    assert_int_equal(after.len, b.len);
    assert_memory_equal(after.ptr, b.ptr, b.len);
    assert_int_equal(salvage_new(x->dir, STR("none"), &s), BELFRY_NOTFOUND);
    open_store(x);
    assert_int_equal(salvage_new(x->dir, STR("p/log"), &s), BELFRY_LOCKED);
    buf_fini(&after);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(everything_but_the_damaged_stretches_is_given),
        TEST(copy_of_the_header_saves_the_log),
        TEST(repaired_log_takes_the_place_and_the_damaged_one_is_kept),
        TEST(salvage_that_is_given_up_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
