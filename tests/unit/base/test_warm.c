/* SPDX-License-Identifier: MIT */
#include "base/warm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 64

static size_t bytes;

static char *map(void)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    return p;
}

static size_t resident(char *p)
{
    unsigned char in[PAGES];
    size_t n = 0;

    assert_int_equal(mincore(p, bytes, in), 0);
    for (size_t i = 0; i < PAGES; i++)
        n += in[i] & 1;
    return n;
}

/* Whether this system knows how. */
static bool can_warm(void)
{
    char *p = map();
    size_t n;

    warm_now(p, bytes);
    n = resident(p);
    munmap(p, bytes);
    return n == PAGES;
}

static void the_thread_takes_the_faults(void **state)
{
    char *a = map(), *b = map();

    (void)state;
    if (!can_warm())
        skip();
    assert_true(warm_start());
    warm(a, bytes);
    warm(b, bytes / 2);
    warm_stop();
    assert_int_equal(resident(a), PAGES);
    assert_int_equal(resident(b), PAGES / 2);
    munmap(a, bytes);
    munmap(b, bytes);
}

static void without_a_thread_nothing_happens(void **state)
{
    char *p = map();

    (void)state;
    warm(p, bytes);
    assert_true(warm_start());
    warm_stop();
    warm(p, bytes);
    assert_int_equal(resident(p), 0);
    munmap(p, bytes);
}

static void memory_that_is_gone_does_no_harm(void **state)
{
    char *p = map();

    (void)state;
    munmap(p, bytes);
    assert_true(warm_start());
    for (int i = 0; i < 100; i++) /* more than are kept */
        warm(p, bytes);
    warm_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_takes_the_faults),
        cmocka_unit_test(without_a_thread_nothing_happens),
        cmocka_unit_test(memory_that_is_gone_does_no_harm),
    };

    bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
