/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "verbs/overview.h"

static struct ranking r;

static void add(int i, uint64_t score)
{
    char name[16];
    int n = snprintf(name, sizeof(name), "q%d", i);

    ranking_add(&r, OVERVIEW_DEAD, (struct str){ name, (size_t)n }, score);
}

static void the_best_have_places_in_order(void **state)
{
    (void)state;
    memset(&r, 0, sizeof(r));
    for (int i = 0; i < 1000; i++)
        add(i, (uint64_t)(i * 7919 % 1000));        /* each score once */
    assert_int_equal(r.counts[OVERVIEW_DEAD], 999); /* the score 0 does not count */
    assert_int_equal(r.n[OVERVIEW_DEAD], OVERVIEW_ROWS);
    for (int i = 0; i < OVERVIEW_ROWS; i++) {
        const struct overview_place *p = &r.places[OVERVIEW_DEAD][i];
        int n = 0;

        assert_int_equal(p->score, 999 - i);
        assert_int_equal(sscanf(p->name, "q%d", &n), 1);
        assert_int_equal(n * 7919 % 1000, 999 - i);
    }
    assert_int_equal(r.n[OVERVIEW_BUSY], 0);
}

static void among_equals_the_first_stays(void **state)
{
    (void)state;
    memset(&r, 0, sizeof(r));
    for (int i = 0; i < 3 * OVERVIEW_ROWS; i++)
        add(i, 5);
    assert_memory_equal(r.places[OVERVIEW_DEAD][0].name, "q0", 2);
    assert_memory_equal(r.places[OVERVIEW_DEAD][OVERVIEW_ROWS - 1].name, "q9", 2);
    assert_int_equal(r.counts[OVERVIEW_DEAD], 3 * OVERVIEW_ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_have_places_in_order),
        cmocka_unit_test(among_equals_the_first_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
