/* SPDX-License-Identifier: MIT */
/* Telling a torn tail from damage, byte by byte. */
#include "support/filestore.h"

#include <time.h>

/* A closed store's log of `count` elements as bytes; the store is then read-only, which reads the
 * file anew each time. */
static struct buf make_log(struct fixture *x, uint64_t count, bool durable, char path[512])
{
    append_range(x->s, "log", 0, count, durable);
    if (!durable)
        assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    store_close(x->s);
    x->options.read_only = true;
    open_store(x);
    log_path(x, "log", path);
    return load_file(path);
}

static void log_cut_at_every_byte_of_its_last_element_is_torn_there(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct buf good = make_log(x, 30, true, path);
    size_t last = offset_of(29);
    for (size_t cut = last; cut < offset_of(30); cut++) {
        struct store_tail tail;
        uint64_t count;
        save_file(path, good.ptr, cut);
        assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
        assert_int_equal(count, 29);
        assert_int_equal(tail.elements, 29);
        assert_int_equal(tail.torn_bytes, cut - last);
        if (cut > last)
            assert_non_null(strstr(tail.where, "log.log: offset"));
    }
    buf_fini(&good);
}

static void last_element_with_garbage_from_any_byte_on_is_torn(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct buf good = make_log(x, 30, true, path);
    struct buf bad = { 0 };
    buf_append(&bad, good.ptr, good.len);
    size_t last = offset_of(29);
    for (size_t from = last; from < offset_of(30); from++) {
        struct store_tail tail;
        uint64_t count;
        memcpy(bad.ptr, good.ptr, good.len);
        for (size_t i = from; i < good.len; i++)
            bad.ptr[i] = (char)~(good.ptr[i] ^ (char)(i * 37 % 255));
        save_file(path, bad.ptr, bad.len);
        assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
        assert_int_equal(count, 29);
        assert_true(tail.torn_bytes > 0);
    }
    buf_fini(&good);
    buf_fini(&bad);
}

static void torn_log_of_every_length_goes_on_after_sync(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct buf good = make_log(x, 6, true, path);
    x->options.read_only = false;
    for (size_t cut = offset_of(5); cut < offset_of(6); cut++) {
        struct store_tail tail;
        uint64_t count;
        char buf[64];
        save_file(path, good.ptr, cut);
        reopen_store(x);
        assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
        if (tail.torn_bytes > 0)
            assert_int_equal(append(x->s, "log", 5, element_of(5, buf), true), BELFRY_IO);
        assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
        expect_clean(x->s, "log", 5);
        append_range(x->s, "log", 5, 8, true);
        expect_clean(x->s, "log", 8);
        reopen_store(x);
        expect_clean(x->s, "log", 8);
    }
    buf_fini(&good);
}

static void flipped_bit_before_the_last_element_is_corrupt_with_file_and_offset(void **state)
{
    struct fixture *x = *state;
    char path[512];
    char where[64];
    struct buf good = make_log(x, 12, true, path);
    for (uint64_t seq = 0; seq < 11; seq++) {
        snprintf(where, sizeof where, "log.log: offset %zu:", offset_of(seq));
        for (size_t at = offset_of(seq); at < offset_of(seq + 1); at++) {
            struct store_tail tail;
            uint64_t count;
            good.ptr[at] = (char)(good.ptr[at] ^ (1 << at % 8));
            save_file(path, good.ptr, good.len);
            assert_int_equal(read_all(x->s, "log", &count, &tail), BELFRY_CORRUPT);
            assert_int_equal(count, seq);
            assert_non_null(strstr(store_detail(), where));
            good.ptr[at] = (char)(good.ptr[at] ^ (1 << at % 8));
        }
    }
    buf_fini(&good);
}

static void flipped_bit_in_the_last_element_is_torn(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct buf good = make_log(x, 12, true, path);
    for (size_t at = offset_of(11); at < offset_of(12); at++) {
        struct store_tail tail;
        uint64_t count;
        good.ptr[at] = (char)(good.ptr[at] ^ (1 << at % 8));
        save_file(path, good.ptr, good.len);
        assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
        assert_int_equal(count, 11);
        assert_true(tail.torn_bytes > 0);
        good.ptr[at] = (char)(good.ptr[at] ^ (1 << at % 8));
    }
    buf_fini(&good);
}

static void zeros_in_the_midst_of_a_log_are_not_its_end(void **state)
{
    struct fixture *x = *state;
    char path[512];
    uint64_t count;
    struct buf good = make_log(x, 200, true, path);
    memset(good.ptr + offset_of(50), 0, offset_of(150) - offset_of(50));
    save_file(path, good.ptr, good.len);
    assert_int_equal(read_all(x->s, "log", &count, NULL), BELFRY_CORRUPT);
    assert_int_equal(count, 50);
    buf_fini(&good);
}

static void loose_appends_that_reached_the_disk_out_of_order_are_torn_not_corrupt(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct store_tail tail;
    uint64_t count;
    append_range(x->s, "log", 0, 10, true);
    append_range(x->s, "log", 10, 20, false);
    store_close(x->s);
    log_path(x, "log", path);
    struct buf bytes = load_file(path);
    memset(bytes.ptr + offset_of(12), 0, offset_of(14) - offset_of(12));
    save_file(path, bytes.ptr, bytes.len);
    open_store(x);
    assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
    assert_int_equal(count, 12);
    assert_int_equal(tail.torn_bytes, offset_of(20) - offset_of(12));
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    /* Elements of the same sizes, so 14 to 19 of before would fit behind 13 of now. */
    append_range(x->s, "log", 12, 14, true);
    expect_clean(x->s, "log", 14);
    reopen_store(x);
    expect_clean(x->s, "log", 14);
    /* But what was synced before a later append is damage. */
    store_close(x->s);
    memset(bytes.ptr + offset_of(9), 0, offset_of(10) - offset_of(9));
    save_file(path, bytes.ptr, bytes.len);
    open_store(x);
    assert_int_equal(read_all(x->s, "log", &count, &tail), BELFRY_CORRUPT);
    buf_fini(&bytes);
}

static void damaged_header_is_corrupt_and_names_the_file(void **state)
{
    struct fixture *x = *state;
    char path[512];
    uint64_t count;
    struct buf good = make_log(x, 3, true, path);
    for (size_t at = 0; at < LOG_HEADER; at++) {
        good.ptr[at] = (char)(good.ptr[at] ^ 0x10);
        save_file(path, good.ptr, good.len);
        assert_int_equal(read_all(x->s, "log", &count, NULL), BELFRY_CORRUPT);
        assert_non_null(strstr(store_detail(), "log.log"));
        good.ptr[at] = (char)(good.ptr[at] ^ 0x10);
    }
    save_file(path, good.ptr, 10);
    assert_int_equal(read_all(x->s, "log", &count, NULL), BELFRY_CORRUPT);
    save_file(path, good.ptr, good.len);
    char other[512];
    log_path(x, "other", other);
    save_file(other, good.ptr, good.len);
    assert_int_equal(read_all(x->s, "other", &count, NULL), BELFRY_CORRUPT);
    buf_fini(&good);
}

static void log_of_an_earlier_life_of_the_file_never_shows(void **state)
{
    struct fixture *x = *state;
    char path[512];
    for (uint64_t life = 0; life < 30; life++) {
        /* The same name, numbers and sizes each time. */
        append_range(x->s, "log", 0, 1, true);
        append_range(x->s, "log", 1, 90, false);
        append_range(x->s, "log", 90, 92, true); /* would prove damage if it were taken for ours */
        append_range(x->s, "log", 92, 100, false);
        expect_clean(x->s, "log", 100);
        assert_int_equal(x->s->ops->remove(x->s, STR("log")), 0);
        append_range(x->s, "log", 0, life % 5 + 1, true);
        store_close(x->s);
        log_path(x, "log", path);
        struct buf bytes = load_file(path);
        /* Without its last terminator, as if that had not reached the disk. */
        size_t end = offset_of(life % 5 + 1);
        memcpy(bytes.ptr + end, "leftover", 8);
        save_file(path, bytes.ptr, bytes.len);
        buf_fini(&bytes);
        open_store(x);
        struct store_tail tail;
        uint64_t count;
        assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
        assert_int_equal(count, life % 5 + 1);
        assert_int_equal(tail.torn_bytes, ELEMENT_HEADER);
        assert_int_equal(x->s->ops->remove(x->s, STR("log")), 0);
    }
}

static void copy_of_an_element_in_another_place_is_no_element(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct store_tail tail;
    uint64_t count;
    struct buf b = make_log(x, 10, true, path);
    size_t last = offset_of(9);
    assert_true(b.len > offset_of(10) + 200);
    memcpy(b.ptr + last + 104, b.ptr + last, offset_of(10) - last);
    memset(b.ptr + last, 'x', 16);
    save_file(path, b.ptr, b.len);
    assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
    assert_int_equal(count, 9);
    assert_int_equal(tail.torn_bytes, ELEMENT_HEADER);
    buf_fini(&b);
}

static void bodies_full_of_headers_do_not_slow_a_search_down(void **state)
{
    struct fixture *x = *state;
    size_t len = 8u << 20;
    uint32_t *body = malloc(len);
    uint64_t count = 0;
    char path[512];
    for (size_t i = 0; i < len / 4; i += 2) {
        body[i] = 4u << 20; /* a plausible length */
        body[i + 1] = 2;    /* and number */
    }
    char buf[64];
    assert_int_equal(append(x->s, "log", 0, element_of(0, buf), true), 0);
    assert_int_equal(append(x->s, "log", 1, (struct str){ (char *)body, len }, true), 0);
    store_close(x->s);
    log_path(x, "log", path);
    assert_int_equal(truncate(path, (off_t)len), 0);
    open_store(x);
    struct store_tail tail;
    clock_t before = clock();
    assert_int_equal(read_all(x->s, "log", &count, &tail), 0);
    assert_true(clock() - before <
                5 * CLOCKS_PER_SEC); /* of this process, however busy others are */
    assert_int_equal(count, 1);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(log_cut_at_every_byte_of_its_last_element_is_torn_there),
        TEST(last_element_with_garbage_from_any_byte_on_is_torn),
        TEST(torn_log_of_every_length_goes_on_after_sync),
        TEST(flipped_bit_before_the_last_element_is_corrupt_with_file_and_offset),
        TEST(flipped_bit_in_the_last_element_is_torn),
        TEST(zeros_in_the_midst_of_a_log_are_not_its_end),
        TEST(loose_appends_that_reached_the_disk_out_of_order_are_torn_not_corrupt),
        TEST(damaged_header_is_corrupt_and_names_the_file),
        TEST(log_of_an_earlier_life_of_the_file_never_shows),
        TEST(copy_of_an_element_in_another_place_is_no_element),
        TEST(bodies_full_of_headers_do_not_slow_a_search_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
