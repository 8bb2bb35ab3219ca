/* SPDX-License-Identifier: MIT */
/* The items of a batch by key and by queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/work/lot.h"

enum { ITEMS = 1000 };

static struct job_spec specs[ITEMS];
static char keys[ITEMS][16], queues[ITEMS][16];

static void fill(int different)
{
    for (int i = 0; i < ITEMS; i++) {
        specs[i] = (struct job_spec){ 0 };
        snprintf(keys[i], sizeof(keys[i]), "key%d", i % different);
        snprintf(queues[i], sizeof(queues[i]), "queue%d", i % different);
        specs[i].key = str_of(keys[i]);
        specs[i].queue = str_of(queues[i]);
    }
}

static void the_first_of_them_is_found(void **state)
{
    struct lot t;

    (void)state;
    fill(10);
    specs[5].key.len = 0;
    specs[16].order = STR("lane");
    assert_int_equal(lot_init(&t, (struct hash_key){ 1, 2 }, specs, ITEMS), 0);
    for (int i = 0; i < ITEMS; i++) {
        const struct job_spec *first = i < 10 ? NULL : &specs[i % 10];
        const struct job_spec *key = i == 5 || i == 15 || i == 16 ? NULL : first;

        if (i > 15 && i % 10 == 5)
            key = &specs[15];
        assert_ptr_equal(lot_same_key(&t, (size_t)i), key);
        assert_ptr_equal(lot_same_queue(&t, (size_t)i), first);
    }
    lot_fini(&t);
}

static void a_few_are_compared_with_each(void **state)
{
    struct lot t;

    (void)state;
    fill(ITEMS);
    assert_int_equal(lot_init(&t, (struct hash_key){ 1, 2 }, specs, ITEMS), 0);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_null(lot_same_key(&t, i));
        assert_null(lot_same_queue(&t, i));
    }
    assert_true(t.looks < 2 * ITEMS);
    lot_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_them_is_found),
        cmocka_unit_test(a_few_are_compared_with_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
