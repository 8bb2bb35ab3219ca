/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/pool.h"

#if defined(__SANITIZE_ADDRESS__)
#define PLAIN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLAIN true
#endif
#endif
#ifndef PLAIN
#define PLAIN false
#endif

struct piece {
    unsigned char *ptr;
    size_t size;
    unsigned char mark;
};

static void piece_new(struct pool *p, struct piece *piece, size_t size, unsigned char mark)
{
    piece->ptr = pool_alloc(p, size);
    piece->size = size;
    piece->mark = mark;
    assert_non_null(piece->ptr);
    assert_int_equal((uintptr_t)piece->ptr % 16, 0);
    memset(piece->ptr, mark, size);
}

static void piece_free(struct pool *p, struct piece *piece)
{
    for (size_t i = 0; i < piece->size; i++)
        if (piece->ptr[i] != piece->mark)
            fail_msg("byte %zu of an object of %zu was overwritten", i, piece->size);
    pool_free(p, piece->ptr, piece->size);
    piece->ptr = NULL;
}

static void classes_fit_their_sizes_with_little_waste(void **state)
{
    size_t before = 0;
    (void)state;
    assert_int_equal(pool_size(0), 16);
    assert_int_equal(pool_size(16), 16);
    assert_int_equal(pool_size(17), 32);
    assert_int_equal(pool_size(512), 512);
    assert_int_equal(pool_size(513), 576);
    assert_int_equal(pool_size(32768), 32768);
    assert_int_equal(pool_size(32769), 32769);
    for (size_t size = 1; size <= POOL_OBJECT_MAX; size++) {
        size_t real = pool_size(size);
        assert_true(real >= size && real >= before && real % 16 == 0);
        assert_true(real - size < 16 || (real - size) * 8 < size + 8);
        before = real;
    }
}

static void objects_of_every_size_keep_to_themselves(void **state)
{
    static struct piece pieces[3 * 2100];
    struct pool p;
    size_t n = 0;
    (void)state;
    pool_init(&p, 0);
    for (int round = 0; round < 3; round++)
        for (size_t size = 0; size < 40000; size += size < 600 ? 1 : 97)
            piece_new(&p, &pieces[n], size, (unsigned char)(n * 7)), n++;
    for (size_t i = 0; i < n; i += 2)
        piece_free(&p, &pieces[i]);
    for (size_t i = 0; i < n; i += 2)
        piece_new(&p, &pieces[i], pieces[i].size, (unsigned char)(i * 3));
    for (size_t i = 0; i < n; i++)
        piece_free(&p, &pieces[n - 1 - i]);
    assert_int_equal(p.used_bytes, 0);
    pool_fini(&p);
}

static void random_use_is_accounted_exactly(void **state)
{
    enum { N = 4000 };
    struct piece *pieces = calloc(N, sizeof *pieces);
    struct pool p;
    size_t used = 0;
    uint32_t random = 12345;
    (void)state;
    pool_init(&p, 0);
    for (int i = 0; i < 200000; i++) {
        random = random * 1664525 + 1013904223;
        struct piece *piece = &pieces[(random >> 8) % N];
        if (piece->ptr) {
            used -= pool_size(piece->size);
            piece_free(&p, piece);
        } else {
            size_t size = random % 16 ? (random >> 12) % 700 : (random >> 12) % 40000;
            piece_new(&p, piece, size, (unsigned char)i);
            used += pool_size(size);
        }
        assert_int_equal(p.used_bytes, used);
        assert_true(p.held_bytes >= used);
    }
    for (int i = 0; i < N; i++)
        if (pieces[i].ptr)
            piece_free(&p, &pieces[i]);
    assert_int_equal(p.used_bytes, 0);
    pool_fini(&p);
    free(pieces);
}

static void freed_objects_are_used_again(void **state)
{
    struct pool p;
    (void)state;
    pool_init(&p, 0);
    for (int i = 0; i < 100000; i++) {
        void *a = pool_alloc(&p, 200), *b = pool_alloc(&p, 200);
        assert_ptr_not_equal(a, b);
        pool_free(&p, a, 200);
        pool_free(&p, b, 193); /* another size of the same class */
    }
    assert_true(p.held_bytes <= POOL_PAGE);
    pool_fini(&p);
}

static void empty_pages_go_back_but_one_per_class_is_kept(void **state)
{
    enum { N = 100000 };
    struct pool p;
    (void)state;
    if (PLAIN)
        skip();
    void **all = calloc(N, sizeof *all);
    pool_init(&p, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            all[i] = pool_alloc(&p, 256);
            memset(all[i], round, 256);
        }
        assert_int_equal(p.used_bytes, N * 256);
        assert_true(p.held_bytes < N * 256 + 2 * POOL_PAGE);
        for (int i = 0; i < N; i++) /* 7919 is prime to N: in no order of addresses */
            pool_free(&p, all[(size_t)i * 7919 % N], 256);
        assert_int_equal(p.used_bytes, 0);
        assert_int_equal(p.held_bytes, POOL_PAGE);
    }
    pool_fini(&p);
    free(all);
}

static void the_largest_class_fills_its_pages(void **state)
{
    struct pool p;
    void *all[200];
    (void)state;
    if (PLAIN)
        skip();
    pool_init(&p, 0);
    for (int i = 0; i < 200; i++) {
        all[i] = pool_alloc(&p, POOL_OBJECT_MAX);
        memset(all[i], i, POOL_OBJECT_MAX);
    }
    assert_int_equal(p.held_bytes, 200 * POOL_OBJECT_MAX);
    for (int i = 0; i < 200; i++)
        assert_int_equal(((unsigned char *)all[i])[POOL_OBJECT_MAX - 1], i);
    for (int i = 0; i < 200; i++)
        pool_free(&p, all[i], POOL_OBJECT_MAX);
    assert_int_equal(p.held_bytes, POOL_PAGE);
    pool_fini(&p);
}

static void impossible_sizes_give_null(void **state)
{
    struct pool p;
    (void)state;
    pool_init(&p, 0);
    assert_null(pool_alloc(&p, SIZE_MAX));
    if (!PLAIN)
        assert_null(pool_alloc(&p, SIZE_MAX / 2));
    assert_int_equal(p.used_bytes, 0);
    pool_free(&p, NULL, 10);
    pool_fini(&p);
}

static void fini_frees_what_is_left(void **state)
{
    struct pool p;
    (void)state;
    pool_init(&p, 0);
    for (int i = 0; i < 1000; i++)
        memset(pool_alloc(&p, 100 + (size_t)i * 50), 1, 100 + (size_t)i * 50);
    pool_fini(&p);
    pool_fini(&p);
    pool_fini(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_fit_their_sizes_with_little_waste),
        cmocka_unit_test(objects_of_every_size_keep_to_themselves),
        cmocka_unit_test(random_use_is_accounted_exactly),
        cmocka_unit_test(freed_objects_are_used_again),
        cmocka_unit_test(empty_pages_go_back_but_one_per_class_is_kept),
        cmocka_unit_test(the_largest_class_fills_its_pages),
        cmocka_unit_test(impossible_sizes_give_null),
        cmocka_unit_test(fini_frees_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
