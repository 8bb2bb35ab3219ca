/* SPDX-License-Identifier: MIT */
/* Damage at various places: check names it, repair keeps the rest, and a partition opens again. */
#include "support/check.h"
#include "store/cellfile.h"

#define COMMITS 12 /* of one job each, after the one that opening makes */

static void schedule(struct partition *p, int number)
{
    char key[16];
    struct job_spec spec = { .queue = STR("q"),
                             .payload = STR("some payload of a job"),
                             .due_ms = NOW + 3600000,
                             .priority = 3,
                             .attempts = -1,
                             .lease_ms = -1,
                             .retain_ms = -1 };
    struct schedule_result result;

    snprintf(key, sizeof(key), "job-%d", number);
    spec.key = str_of(key);
    assert_int_equal(engine_schedule(partition_engine(p), &spec, &result), 0);
}

/* Every commit is one job, keyed by its number; small segments, so that there are several. With
 * `crash` it ends with something that was not written. */
static void fill_and_end(struct fixture *x, int from, int count, bool crash)
{
    struct partition_options o = { .segment_bytes = 300, .durable = true };
    struct partition_report report;
    struct partition *p;
    struct store *s;
    struct store_options so = { .log_bytes = 4096, .reserve = 1 };

    assert_int_equal(store_open(x->dir, &so, &s), 0);
    assert_int_equal(partition_open(s, &o, NOW, 0, &p, &report), 0);
    commit_all(p); /* what opening wrote, if anything */
    for (int i = from; i < from + count; i++) {
        schedule(p, i);
        commit_all(p);
    }
    if (crash)
        schedule(p, from + count);
    partition_close(p);
    store_close(s);
}

static void fill(struct fixture *x, int from, int count)
{
    fill_and_end(x, from, count, false);
}

static unsigned count_segments(const struct fixture *x)
{
    char path[256];
    unsigned n = 0;

    do
        snprintf(path, sizeof(path), "%s/logs/p0000/journal/%010u.log", x->dir, n + 1);
    while (access(path, F_OK) == 0 && ++n);
    return n;
}

static int setup(void **state)
{
    struct fixture *x = fixture_new();

    fill(x, 0, COMMITS);
    x->segments = count_segments(x);
    assert_true(x->segments >= 3);
    *state = x;
    return 0;
}

static void segment_path(const struct fixture *x, unsigned number, char ret[256])
{
    snprintf(ret, 256, "%s/logs/p0000/journal/%010u.log", x->dir, number);
}

static void segment_log(unsigned number, char ret[64])
{
    snprintf(ret, 64, "p0000/journal/%010u", number);
}

static void smash(const struct fixture *x, unsigned number, uint64_t offset, size_t bytes)
{
    char log[64];

    segment_log(number, log);
    smash_log(x, log, offset, bytes);
}

static void smash_commit(const struct fixture *x, unsigned number, uint64_t seq)
{
    struct spot s;
    char log[64];

    segment_log(number, log);
    s = spot_of(x, log, seq);
    smash(x, number, s.offset + ELEMENT_HEADER, s.span - ELEMENT_HEADER);
}

/* How many of the jobs a partition has after opening; *ret_missing is one that is not there. */
static int jobs_there(const struct fixture *x, int *ret_missing)
{
    struct partition_options o = { .segment_bytes = 300, .durable = true };
    struct partition_report report;
    struct partition *p;
    struct store *s;
    int n = 0;

    assert_int_equal(store_open(x->dir, NULL, &s), 0);
    if (partition_open(s, &o, NOW, 0, &p, &report) < 0)
        fail_msg("%s", store_detail());
    for (int i = 0; i < COMMITS; i++) {
        struct job_id id;
        char key[16];

        snprintf(key, sizeof(key), "job-%d", i);
        if (engine_find_key(partition_engine(p), STR("q"), STR(""), str_of(key), &id) == 0)
            n++;
        else
            *ret_missing = i;
    }
    partition_close(p);
    store_close(s);
    return n;
}

/* check finds it, repair mends it, check is content, and `there` jobs are left. */
static void expect_mended(struct fixture *x, const char *what, int there)
{
    int missing = -1;

    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, what);
    expect_text(x, "belfry repair");
    assert_int_equal(run(x, check_run, "--json"), CHECK_DAMAGED);
    expect_text(x, "\"ok\":false");
    assert_int_equal(run(x, repair_run, "--dry-run"), CHECK_FINE);
    expect_text(x, "Nothing was changed");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    if (run(x, repair_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    expect_text(x, "is repaired");
    if (run(x, check_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    expect_text(x, "nothing to repair");
    assert_int_equal(jobs_there(x, &missing), there);
}

static void whole_directory_is_fine_and_counted(void **state)
{
    struct fixture *x = *state;

    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    expect_text(x, "12 scheduled");
    expect_text(x, " commits, ");
    expect_text(x, "closed in order");
    expect_text(x, "fine");
    assert_int_equal(run(x, check_run, "--json"), CHECK_FINE);
    expect_text(x, "\"scheduled\":12");
    expect_text(x, "\"ok\":true");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    expect_text(x, "nothing to repair");
}

static void commit_in_the_midst_is_lost_alone(void **state)
{
    struct fixture *x = *state;
    char place[64];

    snprintf(place, sizeof(place), "0000000002.log: offset %llu",
             (unsigned long long)spot_of(x, "p0000/journal/0000000002", 1).offset);
    smash_commit(x, 2, 1);
    expect_mended(x, place, COMMITS - 1);
}

static void last_commit_of_a_closed_segment_is_missed(void **state)
{
    struct fixture *x = *state;

    smash_commit(x, 1, LAST);
    expect_mended(x, "0000000001.log", COMMITS - 1);
}

static void first_commit_of_a_segment_is_replaced_by_one_that_keeps_the_chain(void **state)
{
    struct fixture *x = *state;

    smash_commit(x, 2, 0);
    expect_mended(x, "0000000002.log", COMMITS - 1);
}

static void header_is_restored_from_its_copy(void **state)
{
    struct fixture *x = *state;

    smash(x, 1, 0, 64);
    expect_mended(x, "header damaged, its copy is whole", COMMITS);
}

static void segment_without_header_is_given_up_whole(void **state)
{
    struct fixture *x = *state;
    int missing;

    smash(x, 2, 0, LOG_START);
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "header and its copy damaged");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    assert_in_range(jobs_there(x, &missing), 1, COMMITS - 2);
}

static void last_segment_without_header_is_given_up_too(void **state)
{
    struct fixture *x = *state;
    int missing;

    smash(x, x->segments, 0, LOG_START);
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    assert_in_range(jobs_there(x, &missing), 1, COMMITS - 1);
}

static void missing_segment_is_replaced(void **state)
{
    struct fixture *x = *state;
    char path[256];
    int missing;

    segment_path(x, 2, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "the file is missing");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    assert_in_range(jobs_there(x, &missing), 1, COMMITS - 2);
}

static void everything_damaged_at_once_is_mended_in_one_go(void **state)
{
    struct fixture *x = *state;

    smash(x, 1, 0, 64);
    smash_commit(x, 2, 2);
    smash_commit(x, 2, 0);
    smash_commit(x, 3, 0);
    expect_mended(x, "damaged in 4 places", COMMITS - 3);
}

static void torn_end_is_told_and_fine(void **state)
{
    struct fixture *x = *state;
    int missing = -1;

    fill_and_end(x, 100, 2, true);
    smash_commit(x, count_segments(x), LAST);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    expect_text(x, "torn end");
    expect_text(x, "or is damaged");
    expect_text(x, "fine");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    expect_text(x, "nothing to repair");
    assert_int_equal(jobs_there(x, &missing), COMMITS);
}

/* A start is refused, with these words, and leaves everything as it is. */
static void expect_refused(const struct fixture *x, const char *what)
{
    struct partition_options o = { .segment_bytes = 300, .durable = true };
    struct partition_report report;
    struct partition *p;
    struct store *s;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_open(x->dir, NULL, &s), 0);
        assert_int_equal(partition_open(s, &o, NOW, 0, &p, &report), BELFRY_CORRUPT);
        if (!strstr(store_detail(), what))
            fail_msg("no '%s' in: %s", what, store_detail());
        store_close(s);
    }
}

static void remove_segments(const struct fixture *x, unsigned from, unsigned to)
{
    char path[256];

    for (unsigned i = from; i <= to; i++) {
        segment_path(x, i, path);
        assert_int_equal(unlink(path), 0);
    }
}

static void commit_at_the_end_of_a_closed_journal_is_missed(void **state)
{
    struct fixture *x = *state;

    fill(x, 100, 1); /* in the last segment, where one is */
    smash_commit(x, x->segments, LAST);
    expect_refused(x, "when it was closed; damage at ");
    expect_mended(x, "at the end; commit ", COMMITS);
}

static void segment_at_the_end_that_is_another_is_told(void **state)
{
    struct fixture *x = *state;
    char path[256], kept[80];

    segment_path(x, x->segments, path);
    snprintf(kept, sizeof(kept), "%s.kept", x->dir);
    assert_int_equal(rename(path, kept), 0);
    expect_refused(x, "is missing: the journal goes on to segment ");
    assert_int_equal(rename(kept, path), 0);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    fill(x, 100, 1);
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
}

static void first_segments_are_missed(void **state)
{
    struct fixture *x = *state;
    int missing = -1;

    remove_segments(x, 1, 2);
    expect_refused(x, "segment 1 is missing: the journal begins with it, and the first that is "
                      "there is 3");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "0000000001.log: the file is missing");
    expect_text(x, "0000000002.log: the file is missing; commits 0 to ");
    expect_text(x, "damaged in 2 places");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    expect_text(x, "nobody knows how many commits it had");
    if (run(x, check_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    assert_in_range(jobs_there(x, &missing), 1, COMMITS - 2);
}

static void last_segments_are_missed(void **state)
{
    struct fixture *x = *state;
    int missing = -1;

    fill_and_end(x, 100, 1, true);
    x->segments = count_segments(x);
    remove_segments(x, x->segments - 1, x->segments);
    expect_refused(x, "is missing: the journal goes on to segment ");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "damaged in 2 places");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    if (run(x, check_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    assert_in_range(jobs_there(x, &missing), 1, COMMITS - 1);
}

static void last_segment_that_was_cut_off_is_missed(void **state)
{
    struct fixture *x = *state;
    char path[256];
    int missing = -1;

    fill_and_end(x, 100, 1, true);
    segment_path(x, count_segments(x), path);
    assert_int_equal(truncate(path, 100), 0);
    expect_refused(x, "has no whole commit, though it had one");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "commit 0 is lost");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    if (run(x, check_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    assert_in_range(jobs_there(x, &missing), COMMITS - 2, COMMITS);
}

static void journal_that_is_gone_is_missed(void **state)
{
    struct fixture *x = *state;
    char path[256];
    int missing = -1;

    remove_segments(x, 1, x->segments);
    snprintf(path, sizeof(path), "%s/logs/p0000/journal", x->dir);
    assert_int_equal(rmdir(path), 0);
    expect_refused(x, "the journal is missing");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_text(x, "the file is missing");
    assert_int_equal(run(x, repair_run, NULL), CHECK_FINE);
    if (run(x, check_run, NULL) != CHECK_FINE)
        fail_msg("%s", x->text);
    assert_int_equal(jobs_there(x, &missing), 0);
}

static void set_owner(const struct fixture *x, uint64_t version, struct str value)
{
    struct store_cell r = { .name = STR("p0000/owner"), .value = value, .version = version };
    char dir[80];
    struct disk d;

    snprintf(dir, sizeof(dir), "%s/records", x->dir);
    disk_init(&d, 0);
    assert_int_equal(cellfile_write(&d, dir, &r), 0);
    assert_int_equal(cellfile_place(dir, r.name), 0);
}

static void owner_record_that_is_older_than_the_journal_is_refused(void **state)
{
    struct fixture *x = *state;

    fill(x, 100, 1);
    fill(x, 101, 1);
    set_owner(x, 1, STR("open epoch 1 last 1"));
    expect_refused(x, "tokens would be given twice"); /* however often it is tried */
    expect_mended(x, "tokens would be given twice", COMMITS);
}

static void directory_of_an_older_version_opens(void **state)
{
    struct fixture *x = *state;
    int missing = -1;

    set_owner(x, 7, STR("open"));
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    assert_int_equal(jobs_there(x, &missing), COMMITS);
    set_owner(x, 9, STR("clean"));
    assert_int_equal(run(x, check_run, NULL), CHECK_FINE);
    assert_int_equal(jobs_there(x, &missing), COMMITS);
    set_owner(x, 11, STR("clean"));
    remove_segments(x, 1, count_segments(x));
    expect_refused(x, "the journal is missing, though its owner had epoch 11");
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
}

static void directory_without_any_record_is_refused(void **state)
{
    struct fixture *x = *state;
    char dir[80], path[256];

    snprintf(dir, sizeof(dir), "%s/records", x->dir);
    snprintf(path, sizeof(path), "%s/p0000+owner", dir);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/meta", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    expect_refused(x, "record p0000/owner is missing, though there is a journal");
    expect_mended(x, "tokens would be given twice", COMMITS);
}

static void damaged_owner_gets_an_epoch_beyond_all_others(void **state)
{
    struct fixture *x = *state;
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/records/p0000+owner", x->dir);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "???", 3, 30), 3);
    close(fd);
    expect_mended(x, "p0000+owner", COMMITS);
    unlink(path);
    expect_mended(x, "tokens would be given twice", COMMITS);
}

static void directory_in_use_is_not_repaired(void **state)
{
    struct fixture *x = *state;
    struct store *s;

    smash_commit(x, 2, 1);
    assert_int_equal(store_open(x->dir, NULL, &s), 0);
    assert_int_equal(run(x, check_run, NULL), CHECK_DAMAGED);
    assert_int_equal(run(x, repair_run, NULL), CHECK_UNREADABLE);
    expect_text(x, "stop the server first");
    store_close(s);
}

static void other_directories_are_refused(void **state)
{
    struct fixture *x = *state;
    char path[256];

    snprintf(path, sizeof(path), "%s/format", x->dir);
    unlink(path);
    assert_int_equal(run(x, check_run, NULL), CHECK_UNREADABLE);
    expect_text(x, "no Belfry data directory");
    assert_int_equal(run(x, repair_run, NULL), CHECK_UNREADABLE);
    assert_int_equal(run(x, check_run, "--bogus"), CHECK_UNREADABLE);
    expect_text(x, "unknown option");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(whole_directory_is_fine_and_counted),
        TEST(commit_in_the_midst_is_lost_alone),
        TEST(last_commit_of_a_closed_segment_is_missed),
        TEST(first_commit_of_a_segment_is_replaced_by_one_that_keeps_the_chain),
        TEST(header_is_restored_from_its_copy),
        TEST(segment_without_header_is_given_up_whole),
        TEST(last_segment_without_header_is_given_up_too),
        TEST(missing_segment_is_replaced),
        TEST(everything_damaged_at_once_is_mended_in_one_go),
        TEST(torn_end_is_told_and_fine),
        TEST(commit_at_the_end_of_a_closed_journal_is_missed),
        TEST(segment_at_the_end_that_is_another_is_told),
        TEST(first_segments_are_missed),
        TEST(last_segments_are_missed),
        TEST(last_segment_that_was_cut_off_is_missed),
        TEST(journal_that_is_gone_is_missed),
        TEST(owner_record_that_is_older_than_the_journal_is_refused),
        TEST(directory_of_an_older_version_opens),
        TEST(directory_without_any_record_is_refused),
        TEST(damaged_owner_gets_an_epoch_beyond_all_others),
        TEST(directory_in_use_is_not_repaired),
        TEST(other_directories_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
