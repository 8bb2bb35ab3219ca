/* SPDX-License-Identifier: MIT */
/* What the file store adds to the contract's reads by position and writes in bulk: how much it
 * touches, and what it does when that is damaged. */
#include "support/filestore.h"

#include <dirent.h>
#include <fcntl.h>

static int writes;
static int syncs;
static int dir_syncs;

static ssize_t count_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    writes++;
    return pwritev(fd, iov, count, offset);
}

static int count_fdatasync(int fd)
{
    syncs++;
    return fdatasync(fd);
}

static int count_fsync(int fd)
{
    dir_syncs++;
    return fsync(fd);
}

static const struct disk_hooks counting = { count_pwritev, count_fdatasync, count_fsync };

/* The maker of spares writes too. */
static void let_spares_be_made(struct fixture *x)
{
    for (int i = 0; i < 1000 && store_spares(x->s) < x->options.reserve; i++)
        usleep(1000);
}

static void bulk_write_is_synced_once_at_its_end(void **state)
{
    struct fixture *x = *state;
    let_spares_be_made(x);
    append_range(x->s, "dir/other", 0, 1, true); /* so that the directory is there */
    let_spares_be_made(x);
    file_set_hooks(x->s, &counting);
    writes = syncs = dir_syncs = 0;
    append_range(x->s, "dir/run", 0, 500, false);
    assert_int_equal(writes, 500);
    assert_int_equal(syncs, 1); /* the header, before the file has its name */
    assert_int_equal(dir_syncs, 0);
    assert_int_equal(x->s->ops->sync(x->s, STR("dir/run")), 0);
    assert_int_equal(writes, 500);
    assert_int_equal(syncs, 2);
    assert_int_equal(dir_syncs, 1);
    assert_int_equal(x->s->ops->sync(x->s, STR("dir/run")), 0);
    assert_int_equal(syncs, 2);
    reopen_store(x);
    expect_clean(x->s, "dir/run", 500);
}

static int stop_at_once(void *arg, uint64_t seq, struct str element)
{
    char buf[64];
    (void)arg;
    assert_true(str_eq(element, element_of(seq, buf)));
    return 1;
}

static int read_one(struct store *s, const char *log, uint64_t seq)
{
    return s->ops->read(s, str_of(log), seq, offset_of(seq), stop_at_once, NULL, NULL);
}

static void element_is_read_by_position_though_all_others_are_damaged(void **state)
{
    struct fixture *x = *state;
    char path[512];
    append_range(x->s, "log", 0, 300, true);
    store_close(x->s);
    x->s = NULL;
    log_path(x, "log", path);
    struct buf b = load_file(path);
    memset(b.ptr + LOG_START, 0xa5, offset_of(150) - LOG_START);
    memset(b.ptr + offset_of(151), 0xa5, b.len - offset_of(151));
    save_file(path, b.ptr, b.len);
    buf_fini(&b);
    open_store(x);
    assert_int_equal(read_one(x->s, "log", 150), 1);
    assert_int_equal(read_one(x->s, "log", 149), BELFRY_CORRUPT);
    assert_int_equal(read_one(x->s, "log", 151), BELFRY_CORRUPT);
}

static void damaged_element_is_told_with_file_and_offset(void **state)
{
    struct fixture *x = *state;
    char path[512];
    char offset[32];
    append_range(x->s, "log", 0, 60, true);
    log_path(x, "log", path);
    int fd = open(path, O_RDWR);
    for (size_t at = offset_of(30); at < offset_of(31); at++) {
        char byte;
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte = (char)(byte ^ 0x10);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        assert_int_equal(read_one(x->s, "log", 30), BELFRY_CORRUPT);
        snprintf(offset, sizeof offset, "offset %zu", offset_of(30));
        assert_non_null(strstr(store_detail(), path));
        assert_non_null(strstr(store_detail(), offset));
        assert_int_equal(read_one(x->s, "log", 29), 1);
        assert_int_equal(read_one(x->s, "log", 31), 1);
        byte = (char)(byte ^ 0x10);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    }
    assert_int_equal(read_one(x->s, "log", 30), 1);
    close(fd);
}

static void read_by_position_that_meets_damage_behind_it_tells(void **state)
{
    struct fixture *x = *state;
    struct store_tail tail = { .elements = 99 };
    char path[512];
    uint64_t count = 10;
    append_range(x->s, "log", 0, 60, true);
    log_path(x, "log", path);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "damage", 6, (off_t)offset_of(40)), 6);
    close(fd);
    assert_int_equal(
        x->s->ops->read(x->s, STR("log"), 10, offset_of(10), check_element, &count, &tail),
        BELFRY_CORRUPT);
    assert_int_equal(count, 40);
    assert_int_equal(tail.elements, 99);
}

static void torn_tail_is_reported_to_reads_by_position(void **state)
{
    struct fixture *x = *state;
    struct store_tail tail;
    char path[512];
    uint64_t count = 10;
    append_range(x->s, "log", 0, 60, true);
    store_close(x->s);
    log_path(x, "log", path);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "half", 4, (off_t)offset_of(60)), 4);
    close(fd);
    open_store(x);
    assert_int_equal(
        x->s->ops->read(x->s, STR("log"), 10, offset_of(10), check_element, &count, &tail), 0);
    assert_int_equal(count, 60);
    assert_int_equal(tail.elements, 60);
    assert_true(tail.torn_bytes > 0);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void number_of_open_files_is_bounded(void **state)
{
    struct fixture *x = *state;
    char name[32];
    unsigned before = count_descriptors();
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "log%d", i);
        append_range(x->s, name, 0, 3, false);
        assert_int_equal(x->s->ops->sync(x->s, str_of(name)), 0);
    }
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "log%d", i * 7 % 400);
        assert_int_equal(read_one(x->s, name, 2), 1);
    }
    assert_true(count_descriptors() <= before + 130);
}

static void log_much_larger_than_a_spare_does_not_become_one(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct stat st;
    let_spares_be_made(x);
    unsigned spares = store_spares(x->s);
    append_range(x->s, "run", 0, 5000, false);
    assert_int_equal(x->s->ops->remove(x->s, STR("run")), 0);
    assert_int_equal(store_spares(x->s), spares);
    append_range(x->s, "small", 0, 2, false);
    log_path(x, "small", path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 8192); /* a log written in bulk takes no spare */
    assert_int_equal(x->s->ops->remove(x->s, STR("small")), 0);
    assert_int_equal(store_spares(x->s), spares);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(bulk_write_is_synced_once_at_its_end),
        TEST(element_is_read_by_position_though_all_others_are_damaged),
        TEST(damaged_element_is_told_with_file_and_offset),
        TEST(read_by_position_that_meets_damage_behind_it_tells),
        TEST(torn_tail_is_reported_to_reads_by_position),
        TEST(number_of_open_files_is_bounded),
        TEST(log_much_larger_than_a_spare_does_not_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
