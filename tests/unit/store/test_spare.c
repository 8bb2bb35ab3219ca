/* SPDX-License-Identifier: MIT */
/* Spare files: which files become some, and when. */
#include "support/baddisk.h"

#include <dirent.h>

#include "base/time.h"
#include "store/names.h"

/* Gives each file in a directory a second name, "9" and its first. */
static void link_each_again(const char *dir)
{
    struct names names = { 0 };
    DIR *d = opendir(dir);
    struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d))) {
        if (e->d_name[0] != '.')
            assert_int_equal(names_add(&names, str_of(e->d_name)), 0);
    }
    closedir(d);
    for (size_t i = 0; i < names.count; i++) {
        char from[512];
        char to[512];
        snprintf(from, sizeof from, "%s/%s", dir, names.items[i]);
        snprintf(to, sizeof to, "%s/9%s", dir, names.items[i]);
        assert_int_equal(link(from, to), 0);
    }
    names_fini(&names);
}

static void removed_logs_become_spares_up_to_one_more_than_the_reserve(void **state)
{
    struct fixture *x = *state;
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    char path[512];
    for (int i = 0; i < 5; i++) {
        append_range(x->s, names[i], 0, 1, true);
        wait_for_spares(x->s, 1);
    }
    append_range(x->s, "bulk", 0, 3, false); /* has no size to be of use */
    for (int i = 0; i < 5; i++)
        assert_int_equal(x->s->ops->remove(x->s, str_of(names[i])), 0);
    assert_int_equal(store_spares(x->s), 2);
    assert_int_equal(x->s->ops->remove(x->s, STR("bulk")), 0);
    snprintf(path, sizeof path, "%s/spare/99.new", x->dir); /* left by a crash */
    save_file(path, "x", 1);
    reopen_store(x);
    assert_int_equal(store_spares(x->s), 2);
    assert_int_equal(access(path, F_OK), -1);
}

static void removed_log_is_no_spare_before_its_directory_is_synced(void **state)
{
    struct fixture *x = *state;
    append_range(x->s, "p/log", 0, 1, true);
    wait_for_spares(x->s, 1);
    disk.watched = x->s;
    assert_int_equal(x->s->ops->remove(x->s, STR("p/log")), 0);
    assert_true(was_synced(x, "logs/p"));
    assert_int_equal(disk.spares, 1);
    assert_int_equal(store_spares(x->s), 2);
}

static void removed_log_is_no_spare_if_its_directory_cannot_be_synced(void **state)
{
    struct fixture *x = *state;
    append_range(x->s, "log", 0, 1, true);
    wait_for_spares(x->s, 1);
    atomic_store(&disk.dir_errno, EIO);
    assert_int_equal(x->s->ops->remove(x->s, STR("log")), BELFRY_IO);
    assert_int_equal(store_spares(x->s), 1);
    atomic_store(&disk.dir_errno, 0);
    disk.watched = x->s;
    assert_int_equal(x->s->ops->remove(x->s, STR("log")), 0);
    assert_true(was_synced(x, "logs"));
    reopen_store(x);
    assert_int_equal(store_spares(x->s), 2);
}

static void removal_of_a_log_of_no_use_is_durable_too(void **state)
{
    struct fixture *x = *state;
    append_range(x->s, "bulk", 0, 3, false);
    disk.watched = x->s;
    assert_int_equal(x->s->ops->remove(x->s, STR("bulk")), 0);
    assert_true(was_synced(x, "logs"));
}

/* A rename between directories may be half done after a loss of power. */
static void spare_that_is_a_log_or_another_spare_is_not_used(void **state)
{
    struct fixture *x = *state;
    char log[512];
    char path[512];
    static const char *const others[] = { "b", "c", "d" };
    append_range(x->s, "a", 0, 20, true);
    wait_for_spares(x->s, 1);
    store_close(x->s);
    log_path(x, "a", log);
    snprintf(path, sizeof path, "%s/spare/77", x->dir);
    assert_int_equal(link(log, path), 0);
    snprintf(path, sizeof path, "%s/spare/88.new", x->dir);
    assert_int_equal(link(log, path), 0);
    open_store(x);
    assert_int_equal(store_spares(x->s), 1);
    for (int i = 0; i < 3; i++)
        append_range(x->s, others[i], 0, 20, true);
    for (int i = 0; i < 3; i++)
        expect_clean(x->s, others[i], 20);
    expect_clean(x->s, "a", 20);
    /* Two names of one spare. */
    assert_int_equal(x->s->ops->remove(x->s, STR("b")), 0);
    assert_int_equal(x->s->ops->remove(x->s, STR("c")), 0);
    unsigned spares = store_spares(x->s);
    store_close(x->s);
    snprintf(path, sizeof path, "%s/spare", x->dir);
    link_each_again(path);
    open_store(x);
    assert_true(store_spares(x->s) <= spares);
    append_range(x->s, "e", 0, 20, true);
    append_range(x->s, "f", 0, 20, true);
    expect_clean(x->s, "e", 20);
}

static void file_of_half_the_size_is_no_spare(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct stat st;
    append_range(x->s, "log", 0, 1, true);
    wait_for_spares(x->s, 1);
    log_path(x, "log", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    assert_int_equal(x->s->ops->remove(x->s, STR("log")), 0);
    assert_int_equal(store_spares(x->s), 1);
    store_close(x->s);
    snprintf(path, sizeof path, "%s/spare/77", x->dir);
    save_file(path, "", 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    open_store(x);
    assert_int_equal(store_spares(x->s), 1);
    assert_int_equal(access(path, F_OK), -1);
}

static void first_append_does_not_wait_for_spares(void **state)
{
    struct fixture *x = *state;
    store_close(x->s);
    x->s = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s/new", x->dir);
    int64_t start = time_mono_us();
    assert_int_equal(store_open(path, NULL, &x->s), 0);
    append_range(x->s, "log", 0, 1, true);
    int64_t took = time_mono_us() - start;
    print_message("open and first append: %lld us\n", (long long)took);
    assert_true(took < 2000000); /* a busy disk's syncs, but not 72 MiB of zeros each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_bad_disk, teardown)
        TEST(removed_logs_become_spares_up_to_one_more_than_the_reserve),
        TEST(removed_log_is_no_spare_before_its_directory_is_synced),
        TEST(removed_log_is_no_spare_if_its_directory_cannot_be_synced),
        TEST(removal_of_a_log_of_no_use_is_durable_too),
        TEST(spare_that_is_a_log_or_another_spare_is_not_used),
        TEST(file_of_half_the_size_is_no_spare),
        TEST(first_append_does_not_wait_for_spares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
