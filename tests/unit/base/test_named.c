/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/named.h"

struct thing {
    int number;
    struct named by_name;
    char text[8];
};

static void a_thing_is_found_by_its_name_and_by_no_other(void **state)
{
    static const char *const names[] = { "b", "", "abc", "ab", "c" };
    struct thing things[5];
    struct table t;

    (void)state;
    named_init(&t, (struct hash_key){ 1, 2 });
    for (int i = 0; i < 5; i++)
        named_add(&t, &things[i].by_name, things[i].text, str_of(names[i]));
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(named_find(&t, str_of(names[i])), &things[i].by_name);
    assert_null(named_find(&t, STR("abcd")));
    table_remove(&t, &things[2].by_name.node);
    assert_null(named_find(&t, STR("abc")));
    table_fini(&t);
}

/* Names that were computed to have one XXH3 hash, which is public. */
static void names_that_were_made_for_it_do_not_have_one_hash(void **state)
{
    static const char made[3][33] = {
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x01\x00\x00\x00\x00\x00\x00\x00",
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x16\x7c\x4a\x7f\xb9\x79\x37\x9e",
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x2b\xf8\x94\xfe\x72\xf3\x6e\x3c",
    };
    struct named things[3];
    char texts[3][32];
    struct table t;

    (void)state;
    named_init(&t, (struct hash_key){ 1, 2 });
    for (int i = 0; i < 3; i++) {
        assert_true(XXH3_64bits(made[i], 32) == XXH3_64bits(made[0], 32));
        named_add(&t, &things[i], texts[i], (struct str){ made[i], 32 });
    }
    assert_true(things[0].hash != things[1].hash && things[1].hash != things[2].hash &&
                things[0].hash != things[2].hash);
    table_fini(&t);
}

static void things_are_sorted_by_their_names(void **state)
{
    static const char *const names[] = { "b", "", "abc", "ab" }, *const sorted[] = { "", "ab",
                                                                                     "abc", "b" };
    const struct named *all[4];
    struct thing things[4];
    struct table t;

    (void)state;
    named_init(&t, (struct hash_key){ 1, 2 });
    for (int i = 0; i < 4; i++) {
        named_add(&t, &things[i].by_name, things[i].text, str_of(names[i]));
        all[i] = &things[i].by_name;
    }
    named_sort(all, 4);
    for (int i = 0; i < 4; i++)
        assert_true(str_eq(all[i]->name, str_of(sorted[i])));
    table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thing_is_found_by_its_name_and_by_no_other),
        cmocka_unit_test(names_that_were_made_for_it_do_not_have_one_hash),
        cmocka_unit_test(things_are_sorted_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
