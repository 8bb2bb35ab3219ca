/* SPDX-License-Identifier: MIT */
/* Runs as check sees them: it names what is damaged and what that costs, and repair leaves alone
 * what it cannot mend. */
#include "support/cold.h"

/* Check tells, and repair changes nothing. */
static void expect_left_alone(struct fixture *x, const struct victim *v)
{
    struct buf before = bytes_of(x, v->log), after;

    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, v->log);
    expect_text(x, "a server starts on it");
    expect_text(x, "put the file from a backup");
    expect_run(x, repair_run, "--dry-run", CHECK_DAMAGED);
    expect_run(x, repair_run, NULL, CHECK_DAMAGED);
    expect_text(x, "it stays as it is");
    expect_text(x, "no way to bring back what is lost in 1 run");
    expect_text(x, "Nothing was changed");
    after = bytes_of(x, v->log);
    assert_true(str_eq(buf_view(&before), buf_view(&after)));
    assert_false(exists(x, "damaged"));
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    buf_fini(&before);
    buf_fini(&after);
}

static void whole_runs_are_fine_and_counted(void **state)
{
    struct fixture *x = *state;

    expect_run(x, check_run, NULL, CHECK_FINE);
    expect_text(x, "6,000 scheduled");
    expect_text(x, "scheduled jobs: ");
    expect_text(x, "done and cancelled jobs: ");
    expect_text(x, "dead jobs, ");
    expect_text(x, "places of jobs, by key and id: ");
    expect_text(x, "fine");
    expect_run(x, check_run, "--json", CHECK_FINE);
    expect_text(x, "\"run_damage\":[]");
    expect_text(x, "\"due\":{\"runs\":");
    expect_text(x, "\"kept\":{\"runs\":");
    expect_text(x, "\"unused_runs\":0");
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_text(x, "nothing to repair");
}

static void damaged_data_block_is_named_and_counted(void **state)
{
    static const char families[] = { FAMILY_DUE, FAMILY_PAST, FAMILY_KEPT, FAMILY_LOCATOR };
    struct fixture *x = *state;

    for (size_t i = 0; i < sizeof(families); i++) {
        struct victim v = find_run(x, families[i]);
        struct spot data = find_block(x, &v, BLOCK_DATA, 1);
        struct spot index = find_block(x, &v, BLOCK_INDEX, 0);
        uint64_t readable;

        flip_spot(x, &v, data);
        expect_run(x, check_run, "--json", CHECK_DAMAGED);
        readable = number_of(x, "readable");
        assert_in_range(readable, 1, v.d.entries - 1);
        assert_int_equal(number_of(x, "damaged_blocks"), 1);
        expect_left_alone(x, &v);
        expect_place(x, &v, data, "checksum does not match");
        expect_text(x, "cannot (1 block)");
        expect_text(x, runs_kind(families[i])->words);
        flip_spot(x, &v, index); /* with both gone it cannot be written anew */
        expect_left_alone(x, &v);
        expect_run(x, check_run, "--json", CHECK_DAMAGED);
        assert_int_equal(number_of(x, "whole_in_file"), readable);
        expect_text(x, "\"repairable\":false");
        flip_spot(x, &v, data);
        flip_spot(x, &v, index);
        expect_run(x, check_run, NULL, CHECK_FINE);
    }
}

static void every_damaged_block_is_counted(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE), other = find_run(x, FAMILY_LOCATOR);
    struct spot first = find_block(x, &v, BLOCK_DATA, 0);
    struct spot last = find_block(x, &v, BLOCK_DATA, 2);

    flip_spot(x, &v, first);
    flip_spot(x, &v, last);
    flip_block(x, &other, BLOCK_DATA, 0);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_place(x, &v, first, "checksum does not match");
    expect_text(x, "cannot (2 blocks)");
    expect_text(x, other.log);
    expect_text(x, "damaged in 2 places: a server starts on it");
    expect_run(x, repair_run, NULL, CHECK_DAMAGED);
    expect_text(x, "what is lost in 2 runs");
}

static void file_cut_in_its_data_stays(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE);
    struct spot s = find_block(x, &v, BLOCK_DATA, 1);
    char path[256];

    log_path(x, v.log, path);
    assert_int_equal(truncate(path, (off_t)(s.offset + s.span / 2)), 0);
    expect_left_alone(x, &v);
    expect_run(x, check_run, "--json", CHECK_DAMAGED);
    assert_in_range(number_of(x, "whole_in_file"), 1, v.d.entries - 1);
    assert_int_equal(truncate(path, 0), 0);
    expect_left_alone(x, &v);
}

static void missing_file_is_damage(void **state)
{
    struct fixture *x = *state;
    struct victim v = find_run(x, FAMILY_DUE);
    char path[256], lost[64];

    log_path(x, v.log, path);
    assert_int_equal(unlink(path), 0);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, v.log);
    expect_text(x, "the file is missing");
    expect_text(x, "none of its");
    expect_run(x, check_run, "--json", CHECK_DAMAGED);
    snprintf(lost, sizeof(lost), "\"entries\":%llu,\"readable\":0,",
             (unsigned long long)v.d.entries);
    expect_text(x, lost);
    expect_run(x, repair_run, NULL, CHECK_DAMAGED);
    expect_text(x, "it stays as it is");
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- Runs that no partition writes ---- */

#define NEW_FILE 900000u

/* Writes a run of one entry, and what describes it. */
static void write_run(struct host *h, uint32_t file, char family, const struct run_entry *e,
                      bool filtered, struct run_desc *ret)
{
    struct partition_stats stats;
    struct run_writer *w;
    struct run_info info;
    char log[64];
    struct run_options o = { .store = h->s,
                             .fence = STR("p0000/owner"),
                             .filter_items = family == FAMILY_LOCATOR };

    snprintf(log, sizeof(log), "p0000/run/%010u", file);
    o.log = str_of(log);
    partition_stats(h->p, &stats);
    o.epoch = stats.epoch;
    assert_int_equal(run_writer_new(&o, &w), 0);
    assert_int_equal(run_writer_add(w, e), 0);
    if (filtered)
        run_writer_filter(w, cold_key_hash(e->key));
    assert_int_equal(run_writer_end(w, &info), 0);
    run_writer_free(w);
    *ret = (struct run_desc){ .file = file,
                              .number = file,
                              .family = family,
                              .entries = info.entries,
                              .bytes = info.bytes,
                              .elements = info.place.elements,
                              .root_at = info.place.root_at,
                              .gone_ms = INT64_MAX,
                              .first = e->key,
                              .last = e->key };
}

static void record_run(struct host *h, const struct run_desc *d, uint32_t drop)
{
    struct buf drops = { 0 }, runs = { 0 };

    if (drop)
        wire_put_varint(&drops, drop);
    if (d)
        run_desc_put(&runs, d);
    assert_int_equal(
        engine_merged(partition_engine(h->p), buf_view(&drops), buf_view(&runs), (struct str){ 0 }),
        0);
    commit_all(h->p);
    buf_fini(&drops);
    buf_fini(&runs);
}

static void image_of(struct buf *out, uint64_t seq)
{
    struct job_image image = { .seq = seq,
                               .born_ms = NOW,
                               .state = JOB_SCHEDULED,
                               .priority = 3,
                               .due_ms = NOW,
                               .at_ms = NOW,
                               .queue = STR("q"),
                               .opts = STR("\2"),
                               .payload = STR("p") };

    record_put_image(out, &image);
}

/* One odd entry at a time; `what` is what check says of it, NULL: nothing. */
static void expect_verdict(struct fixture *x, char family, struct run_entry e, bool filtered,
                           const char *what)
{
    static uint32_t file = NEW_FILE;
    struct run_desc d;
    struct host h = open_host(x);
    char log[64];

    write_run(&h, ++file, family, &e, filtered, &d);
    record_run(&h, &d, 0);
    close_host(&h);
    expect_run(x, check_run, NULL, what ? CHECK_DAMAGED : CHECK_FINE);
    if (what) {
        snprintf(log, sizeof(log), "%010u.log: entry 0: %s", file, what);
        expect_text(x, log);
        expect_text(x, "0 of 1 entries can be read, 1 cannot");
        expect_run(x, repair_run, NULL, CHECK_DAMAGED);
        expect_text(x, "it stays as it is");
    }
    h = open_host(x);
    record_run(&h, NULL, file);
    close_host(&h);
}

static void entries_that_mean_nothing_are_told(void **state)
{
    struct fixture *x = *state;
    struct buf image = { 0 }, place = { 0 };
    struct cold_key due, other, dead, id;
    struct str key;

    image_of(&image, 70000);
    cold_key_due(&due, (struct cold_point){ NOW, 70000 });
    cold_key_due(&other, (struct cold_point){ NOW, 70001 });
    cold_key_queue(&dead, FAMILY_KEPT, STR("q"), 0, (struct cold_point){ NOW, 70000 });
    cold_key_of_seq(&id, 70000);
    cold_place_put(&place, cold_key_str(&due), NOW);
    key = cold_key_str(&due);
#define ENTRY(k, v) (struct run_entry){ .key = k, .version = 1, .value = v }
    expect_verdict(x, FAMILY_DUE, ENTRY(key, buf_view(&image)), false, NULL);
    expect_verdict(x, FAMILY_DUE, ENTRY(key, STR("junk")), false, "it is no job");
    expect_verdict(x, FAMILY_DUE, ENTRY(cold_key_str(&other), buf_view(&image)), false,
                   "it is another job than its key says");
    expect_verdict(x, FAMILY_KEPT, ENTRY(key, buf_view(&image)), false,
                   "it has a key of another family");
    expect_verdict(x, FAMILY_DUE, ENTRY(STR("Dshort"), buf_view(&image)), false,
                   "its key names no job");
    key = cold_key_str(&id);
    expect_verdict(x, FAMILY_LOCATOR, ENTRY(key, buf_view(&place)), true, NULL);
    expect_verdict(x, FAMILY_LOCATOR, ENTRY(key, STR("\2")), true, "it is no place");
    expect_verdict(x, FAMILY_LOCATOR, ENTRY(key, buf_view(&place)), false,
                   "the filter does not have its key");
    expect_verdict(x, FAMILY_KEPT,
                   ((struct run_entry){ .key = cold_key_str(&dead), .grave = true }), false, NULL);
#undef ENTRY
    buf_fini(&image);
    buf_fini(&place);
}

static void run_that_is_not_as_described_is_told(void **state)
{
    struct fixture *x = *state;
    struct host h = open_host(x);
    struct run_desc d;
    struct buf image = { 0 };
    struct cold_key due, other;
    struct run_entry e = { .version = 1 };

    image_of(&image, 70000);
    cold_key_due(&due, (struct cold_point){ NOW, 70000 });
    cold_key_due(&other, (struct cold_point){ NOW + 1, 70000 });
    e.key = cold_key_str(&due);
    e.value = buf_view(&image);
    write_run(&h, NEW_FILE, FAMILY_DUE, &e, false, &d);
    d.entries = 2;
    record_run(&h, &d, 0);
    write_run(&h, NEW_FILE + 1, FAMILY_DUE, &e, false, &d);
    d.last = cold_key_str(&other);
    record_run(&h, &d, 0);
    write_run(&h, NEW_FILE + 2, FAMILY_DUE, &e, false, &d);
    d.root_at += 8;
    record_run(&h, &d, 0);
    close_host(&h);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, "its root tells of 1 entries");
    expect_text(x, "it ends with another key than the journal says");
    expect_text(x, "damaged in 3 places");
    expect_run(x, repair_run, NULL, CHECK_DAMAGED);
    buf_fini(&image);
}

static void runs_that_no_record_knows_are_harmless(void **state)
{
    struct fixture *x = *state;
    struct host h = open_host(x);
    struct run_entry e = { .key = STR("Dkey"), .version = 1, .value = STR("junk") };
    struct run_desc d;

    write_run(&h, NEW_FILE, FAMILY_DUE, &e, false, &d);
    write_run(&h, NEW_FILE + 1, FAMILY_DUE, &e, false, &d);
    record_run(&h, NULL, NEW_FILE + 7); /* a drop of what is long gone */
    close_host(&h);
    expect_run(x, check_run, NULL, CHECK_FINE);
    expect_text(x, "2 files of runs that no record knows");
    expect_text(x, "harmless");
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_text(x, "nothing to repair");
    assert_true(exists(x, "logs/p0000/run/0000900000.log"));
    h = open_host(x);
    close_host(&h);
    expect_run(x, check_run, "--json", CHECK_FINE);
    expect_text(x, "\"unused_runs\":0");
}

/* Only then: the record that knows them may be among what was lost. */
static void runs_that_no_record_knows_are_kept_when_the_journal_is_damaged(void **state)
{
    struct fixture *x = *state;
    struct host h = open_host(x);
    struct run_entry e = { .key = STR("Dkey"), .version = 1, .value = STR("junk") };
    struct spot s = spot_of(x, "p0000/journal/0000000001", 1);
    struct run_desc d;

    write_run(&h, NEW_FILE, FAMILY_DUE, &e, false, &d);
    close_host(&h);
    smash_log(x, "p0000/journal/0000000001", s.offset + ELEMENT_HEADER, 8);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_text(x, "a server will not start on it");
    expect_text(x, "repair keeps the files");
    expect_run(x, repair_run, "--dry-run", CHECK_FINE);
    assert_true(exists(x, "logs/p0000/run/0000900000.log"));
    expect_run(x, repair_run, NULL, CHECK_FINE);
    assert_false(exists(x, "logs/p0000/run/0000900000.log"));
    assert_true(exists(x, "damaged/p0000+run+0000900000.1"));
    expect_run(x, check_run, NULL, CHECK_FINE);
}

static void run_that_is_whole_again_is_told_and_fine(void **state)
{
    struct fixture *x = *state;
    struct host h = open_host(x);
    struct run_desc d;
    struct buf image = { 0 };
    struct cold_key due;
    struct run_entry e = { .version = 1 };

    image_of(&image, 70000);
    cold_key_due(&due, (struct cold_point){ NOW, 70000 });
    e.key = cold_key_str(&due);
    e.value = buf_view(&image);
    write_run(&h, NEW_FILE, FAMILY_DUE, &e, false, &d);
    d.broken = true;
    record_run(&h, &d, 0);
    close_host(&h);
    expect_run(x, check_run, NULL, CHECK_FINE);
    expect_text(x, "1 run that a server could not read once; whole now");
    buf_fini(&image);
}

static struct cold_names naming_of(const struct fixture *x)
{
    struct host h = open_host(x);
    struct cold_names n = *engine_naming(partition_engine(h.p));

    close_host(&h);
    return n;
}

/* Each commit that names runs has the secret, too. */
static void secret_outlives_the_first_commit(void **state)
{
    struct fixture *x = *state;
    struct cold_names before = naming_of(x), after;
    struct spot first = spot_of(x, "p0000/journal/0000000001", 0);

    assert_true(hash_key_is_set(before.key));
    smash_log(x, "p0000/journal/0000000001", first.offset + ELEMENT_HEADER,
              first.span - ELEMENT_HEADER);
    expect_run(x, check_run, NULL, CHECK_DAMAGED);
    expect_run(x, repair_run, NULL, CHECK_FINE);
    expect_run(x, check_run, NULL, CHECK_FINE);
    after = naming_of(x);
    assert_true(after.key.a == before.key.a && after.key.b == before.key.b);
    assert_int_equal(after.first, before.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(whole_runs_are_fine_and_counted),
        TEST(damaged_data_block_is_named_and_counted),
        TEST(every_damaged_block_is_counted),
        TEST(file_cut_in_its_data_stays),
        TEST(missing_file_is_damage),
        TEST(entries_that_mean_nothing_are_told),
        TEST(run_that_is_not_as_described_is_told),
        TEST(runs_that_no_record_knows_are_harmless),
        TEST(runs_that_no_record_knows_are_kept_when_the_journal_is_damaged),
        TEST(run_that_is_whole_again_is_told_and_fine),
        TEST(secret_outlives_the_first_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
