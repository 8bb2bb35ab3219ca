/* SPDX-License-Identifier: MIT */
/* Runs whose data is whole: repair writes the rest of them anew. */
#include "support/cold.h"

/* Check tells, repair mends it without loss and keeps the old file. */
static void expect_mended(struct fixture *x, const struct victim *v)
{
    char kept[128];

    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, v->log);
    expect_text(x, "damaged in 1 place: a server starts on it");
    expect_text(x, "nothing is lost");
    expect_text(x, "belfry repair");
    expect_run(x, check_run, "--json", CHECK_DAMAGED);
    expect_text(x, "\"repairable\":true");
    expect_run(x, repair_run, "--dry-run", CHECK_FINE);
    expect_text(x, "can be written anew: nothing is lost");
    expect_text(x, "Nothing was changed");
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_text(x, "is written anew: nothing is lost");
    expect_text(x, "is repaired: a server can start on it");
    snprintf(kept, sizeof(kept), "damaged/p0000+run+%010u.1", v->d.file);
    assert_true(exists(x, kept));
    expect_run(x, check_run, NULL, CHECK_FINE);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_text(x, "nothing to repair");
}

static void damaged_index_is_written_anew(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE);

    flip_block(x, &v, BLOCK_INDEX, 0);
    expect_mended(x, &v);
}

static void damaged_root_is_written_anew(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_KEPT);
    struct spot s = find_block(x, &v, BLOCK_ROOT, 0);

    assert_int_equal(s.offset, v.d.root_at);
    flip(x, &v, s.offset + ELEMENT_HEADER);
    expect_mended(x, &v);
}

static void damaged_filter_and_index_of_a_locator_are_written_anew(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_LOCATOR);

    flip_block(x, &v, BLOCK_FILTER, 0);
    expect_mended(x, &v);
    flip_block(x, &v, BLOCK_INDEX, 0);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    flip(x, &v, v.d.root_at + ELEMENT_HEADER);
    flip_block(x, &v, BLOCK_FILTER, 0);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_run(x, check_run, NULL, CHECK_FINE);
}

static void damaged_header_is_written_anew_from_its_copy(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE);

    smash_log(x, v.log, 0, LOG_HEADER);
    expect_mended(x, &v);
    smash_log(x, v.log, 0, LOG_START);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, "0 are whole in the file");
    expect_run(x, repair_run, NULL, CHECK_DAMAGED);
}

static void file_cut_behind_its_data_is_written_anew(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_LOCATOR);
    char path[256];

    log_path(x, v.log, path);
    assert_int_equal(truncate(path, (off_t)find_block(x, &v, BLOCK_INDEX, 0).offset), 0);
    expect_mended(x, &v);
}

static void server_goes_on_with_a_run_that_was_mended(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE);
    struct host h;

    flip_block(x, &v, BLOCK_INDEX, 0);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    h = open_host(x);
    settle(&h);
    schedule_many(&h, "more", 100, NOW + 3600000);
    close_host(&h);
    expect_run(x, check_run, NULL, CHECK_FINE);
    expect_text(x, "6,100 scheduled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(damaged_index_is_written_anew),
        TEST(damaged_root_is_written_anew),
        TEST(damaged_filter_and_index_of_a_locator_are_written_anew),
        TEST(damaged_header_is_written_anew_from_its_copy),
        TEST(file_cut_behind_its_data_is_written_anew),
        TEST(server_goes_on_with_a_run_that_was_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
