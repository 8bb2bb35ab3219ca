/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/id.h"

#define DUE_MAX ((INT64_C(1) << 48) - 1)

static void assert_text(struct job_id id, const char *expected)
{
    char text[ID_TEXT + 1] = { 0 };
    struct job_id back;
    id_format(id, text);
    assert_string_equal(text, expected);
    assert_true(id_parse(str_of(text), &back));
    assert_int_equal(back.due_ms, id.due_ms);
    assert_int_equal(back.partition, id.partition);
    assert_int_equal(back.seq, id.seq);
}

static void ids_are_written_in_crockfords_base_32(void **state)
{
    (void)state;
    assert_text((struct job_id){ 0, 0, 0 }, "00000000000000000000000000");
    assert_text((struct job_id){ 0, 0, 31 }, "0000000000000000000000000Z");
    assert_text((struct job_id){ 0, 0, 32 }, "00000000000000000000000010");
    assert_text((struct job_id){ 0, 0, UINT64_MAX }, "0000000000000FZZZZZZZZZZZZ");
    assert_text((struct job_id){ 0, 1, 0 }, "0000000000000G000000000000");
    assert_text((struct job_id){ 1, 0, 0 }, "00000000010000000000000000");
    assert_text((struct job_id){ DUE_MAX, UINT16_MAX, UINT64_MAX }, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

static void every_pair_of_characters_is_read_as_it_was_written(void **state)
{
    char text[ID_TEXT];
    struct job_id back;
    (void)state;
    for (uint64_t i = 0; i < 1024; i++) {
        id_format((struct job_id){ (int64_t)i, 0, i << 10 | (1023 - i) }, text);
        assert_true(id_parse((struct str){ text, ID_TEXT }, &back));
        assert_int_equal(back.due_ms, i);
        assert_int_equal(back.seq, i << 10 | (1023 - i));
    }
}

static void a_part_of_an_id_is_spelled_as_ids_are(void **state)
{
    char spelled[8] = { 0 };
    (void)state;
    assert_true(id_spell(STR("o1ilzk"), spelled));
    assert_string_equal(spelled, "0111ZK");
    assert_true(id_spell(STR(""), spelled));
    assert_false(id_spell(STR("8u3"), spelled));
    assert_false(id_spell(STR("8-3"), spelled));
}

static void text_sorts_as_the_numbers_do(void **state)
{
    static const int64_t dues[] = { 0, 1, 31, 32, 1700000000000, DUE_MAX };
    static const uint16_t partitions[] = { 0, 1, 255, 256, UINT16_MAX };
    static const uint64_t seqs[] = { 0, 1, UINT32_MAX, UINT64_MAX };
    char last[ID_TEXT], text[ID_TEXT];
    (void)state;
    memset(last, 0, sizeof last);
    for (int d = 0; d < 6; d++)
        for (int p = 0; p < 5; p++)
            for (int s = 0; s < 4; s++) {
                id_format((struct job_id){ dues[d], partitions[p], seqs[s] }, text);
                assert_true(memcmp(last, text, ID_TEXT) < 0);
                memcpy(last, text, ID_TEXT);
            }
}

static void either_case_and_lookalikes_are_read(void **state)
{
    struct job_id a, b;
    (void)state;
    assert_true(id_parse(STR("01ARZ3NDEKTSV4RRFFQ69G5FAV"), &a));
    assert_true(id_parse(STR("o1arz3ndektsv4rrffq69g5fav"), &b));
    assert_memory_equal(&a.due_ms, &b.due_ms, sizeof a.due_ms);
    assert_int_equal(a.seq, b.seq);
    assert_true(id_parse(STR("0000000000000000000000OilL"), &a));
    assert_int_equal(a.seq, 1 << 10 | 1 << 5 | 1);
}

static void what_is_no_id_is_refused_and_leaves_the_output_alone(void **state)
{
    struct job_id id = { 1, 2, 3 };
    char text[ID_TEXT];
    (void)state;
    assert_false(id_parse(STR(""), &id));
    assert_false(id_parse((struct str){ NULL, 0 }, &id));
    assert_false(id_parse(STR("0000000000000000000000000"), &id));
    assert_false(id_parse(STR("000000000000000000000000000"), &id));
    assert_false(id_parse(STR("80000000000000000000000000"), &id));
    assert_false(id_parse(STR("Z0000000000000000000000000"), &id));
    for (int at = 0; at < ID_TEXT; at++)
        for (int c = 0; c < 256; c++) {
            memset(text, '0', sizeof text);
            text[at] = (char)c;
            bool letter = c && c < 128 && strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZILO", c & ~0x20);
            bool good = (c >= '0' && c <= '9') || (letter && (c | 0x20) >= 'a');
            if (at == 0)
                good = c && strchr("01234567oOiIlL", c);
            struct job_id other = id;
            assert_int_equal(id_parse((struct str){ text, ID_TEXT }, &other), good);
        }
    assert_int_equal(id.due_ms, 1);
    assert_int_equal(id.partition, 2);
    assert_int_equal(id.seq, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_written_in_crockfords_base_32),
        cmocka_unit_test(every_pair_of_characters_is_read_as_it_was_written),
        cmocka_unit_test(a_part_of_an_id_is_spelled_as_ids_are),
        cmocka_unit_test(text_sorts_as_the_numbers_do),
        cmocka_unit_test(either_case_and_lookalikes_are_read),
        cmocka_unit_test(what_is_no_id_is_refused_and_leaves_the_output_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
