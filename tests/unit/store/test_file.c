/* SPDX-License-Identifier: MIT */
/* What only the file store has: a disk that fails or is full, the lock, the format. */
#include "support/baddisk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/time.h"

static void failed_sync_poisons_the_log_until_it_is_synced(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    append_range(x->s, "log", 0, 5, true);
    atomic_store(&disk.sync_errno, EIO);
    assert_int_equal(append(x->s, "log", 5, element_of(5, buf), true), BELFRY_IO);
    assert_non_null(strstr(store_detail(), "log.log"));
    atomic_store(&disk.sync_errno, 0);
    assert_int_equal(append(x->s, "log", 5, element_of(5, buf), true), BELFRY_IO);
    assert_int_equal(append(x->s, "log", 6, element_of(6, buf), true), BELFRY_IO);
    atomic_store(&disk.sync_errno, EIO);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), BELFRY_IO);
    atomic_store(&disk.sync_errno, 0);
    assert_int_equal(append(x->s, "log", 5, element_of(5, buf), true), BELFRY_IO);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    uint64_t count;
    assert_int_equal(read_all(x->s, "log", &count, NULL), 0);
    assert_true(count == 5 || count == 6);
    append_range(x->s, "log", count, 10, true);
    expect_clean(x->s, "log", 10);
    reopen_store(x);
    expect_clean(x->s, "log", 10);
}

static void sync_after_a_failed_one_writes_everything_doubtful_again(void **state)
{
    struct fixture *x = *state;
    append_range(x->s, "log", 0, 5, true);
    append_range(x->s, "log", 5, 9, false);
    atomic_store(&disk.sync_errno, EIO);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), BELFRY_IO);
    atomic_store(&disk.sync_errno, 0);
    atomic_store(&disk.writes, 0);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    assert_true(atomic_load(&disk.writes) >= 2); /* the elements, and the terminator */
    atomic_store(&disk.writes, 0);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    assert_int_equal(atomic_load(&disk.writes), 0);
    expect_clean(x->s, "log", 9);
}

static void failed_write_of_any_length_poisons_and_is_cut(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    for (int some = 0; some <= 16; some++) {
        append_range(x->s, "log", 0, 3, false);
        atomic_store(&disk.write_some, some);
        atomic_store(&disk.write_errno, EIO);
        assert_int_equal(append(x->s, "log", 3, element_of(3, buf), true), BELFRY_IO);
        assert_int_equal(x->s->ops->sync(x->s, STR("log")), BELFRY_IO);
        atomic_store(&disk.write_errno, 0);
        assert_int_equal(append(x->s, "log", 3, element_of(3, buf), true), BELFRY_IO);
        assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
        expect_clean(x->s, "log", 3);
        append_range(x->s, "log", 3, 6, true);
        expect_clean(x->s, "log", 6);
        assert_int_equal(x->s->ops->remove(x->s, STR("log")), 0);
    }
}

static void full_disk_on_which_nothing_can_be_undone_poisons(void **state)
{
    struct fixture *x = *state;
    char path[512];
    struct stat before;
    struct stat after;
    append_range(x->s, "log", 0, 3, false);
    log_path(x, "log", path);
    assert_int_equal(stat(path, &before), 0);
    char *big = calloc(1, 100000);
    struct str body = { big, 100000 };
    atomic_store(&disk.write_some, 8);
    atomic_store(&disk.write_errno, ENOSPC);
    /* With the terminator unwritable too it must be poisoned, not silently half-written. */
    assert_int_equal(append(x->s, "log", 3, body, true), BELFRY_IO);
    atomic_store(&disk.write_errno, 0);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    expect_clean(x->s, "log", 3);
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size <= before.st_size);
    free(big);
}

/* Fails writes that would make a file larger than this, as a full disk does. */
#define FULL_AT 16384

static ssize_t full_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    if (offset + (off_t)total <= FULL_AT)
        return pwritev(fd, iov, count, offset);
    if (offset < FULL_AT && iov[0].iov_len > 1) { /* what still fits, in part */
        size_t room = (size_t)(FULL_AT - offset);
        return pwrite(fd, iov[0].iov_base, room < iov[0].iov_len ? room : iov[0].iov_len, offset);
    }
    errno = ENOSPC;
    return -1;
}

static const struct disk_hooks full_disk = { full_pwritev, fdatasync, fsync };

static void append_that_does_not_fit_is_full_and_smaller_ones_go_on(void **state)
{
    struct fixture *x = *state;
    char *big = calloc(1, 100000);
    char buf[64];
    append_range(x->s, "log", 0, 3, true);
    file_set_hooks(x->s, &full_disk);
    for (uint64_t i = 3; i < 20; i++) {
        assert_int_equal(append(x->s, "log", i, (struct str){ big, 100000 }, true), BELFRY_FULL);
        assert_non_null(strstr(store_detail(), "log.log"));
        expect_clean(x->s, "log", i);
        assert_int_equal(append(x->s, "log", i, element_of(i, buf), true), 0);
    }
    assert_int_equal(append(x->s, "log", 20, (struct str){ big, 100000 }, true), BELFRY_FULL);
    reopen_store(x);
    expect_clean(x->s, "log", 20);
    free(big);
}

static void new_log_on_a_full_disk_is_full_and_does_not_exist(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    uint64_t count;
    atomic_store(&disk.write_errno, ENOSPC);
    assert_int_equal(append(x->s, "log", 0, element_of(0, buf), true), BELFRY_FULL);
    assert_int_equal(append(x->s, "log", 0, element_of(0, buf), false), BELFRY_FULL);
    assert_int_equal(read_all(x->s, "log", &count, NULL), BELFRY_NOTFOUND);
    atomic_store(&disk.write_errno, 0);
    append_range(x->s, "log", 0, 3, true);
    expect_clean(x->s, "log", 3);
}

static void low_is_set_while_no_spare_can_be_made_and_clears_by_itself(void **state)
{
    struct fixture *x = *state;
    assert_false(atomic_load(&x->s->low));
    file_set_hooks(x->s, &full_disk);
    append_range(x->s, "log", 0, 1, true); /* takes the only spare */
    wait_for_spares(x->s, 1);              /* one of 12 KiB still fits */
    assert_false(atomic_load(&x->s->low));
    file_set_hooks(x->s, &bad_disk);
    atomic_store(&disk.write_errno, ENOSPC);
    struct store_append a = { .log = STR("b"), .fence = STR("o"), .element = STR("x") };
    a.durable = true;
    assert_int_equal(x->s->ops->append(x->s, &a), BELFRY_FULL);
    assert_int_equal(store_spares(x->s), 1); /* the reserve is not for everybody */
    a.reserved = true;
    assert_int_equal(x->s->ops->append(x->s, &a), BELFRY_FULL);
    for (int i = 0; i < 300 && !atomic_load(&x->s->low); i++)
        usleep(10000);
    assert_true(atomic_load(&x->s->low));
    atomic_store(&disk.write_errno, 0);
    for (int i = 0; i < 300 && atomic_load(&x->s->low); i++)
        usleep(10000);
    assert_false(atomic_load(&x->s->low));
}

static void epoch_can_rise_on_a_full_disk(void **state)
{
    struct fixture *x = *state;
    struct store_cas c = { STR("owner"), 0, 1, STR("me"), 0 };
    atomic_store(&disk.write_errno, ENOSPC);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_FULL);
    assert_int_equal(store_spares(x->s), 0); /* it was given up for the space */
    atomic_store(&disk.write_errno, 0);
    assert_int_equal(x->s->ops->cas(x->s, &c), 0);
}

static void record_whose_directory_cannot_be_synced_is_in_doubt(void **state)
{
    struct fixture *x = *state;
    struct store_cas c = { STR("r"), 0, 1, STR("v"), 0 };
    atomic_store(&disk.sync_errno, EIO);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_IO);
    atomic_store(&disk.sync_errno, 0);
    atomic_store(&disk.dir_errno, EIO);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_INDOUBT);
    atomic_store(&disk.dir_errno, 0);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_CONFLICT);
}

static void record_in_doubt_is_shown_only_when_it_lasts(void **state)
{
    struct fixture *x = *state;
    struct store_cas c = { STR("r"), 0, 1, STR("v"), 0 };
    struct store_cell r;
    char value[8];
    atomic_store(&disk.dir_errno, EIO);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_INDOUBT);
    assert_int_equal(store_get(x->s, STR("r"), value, sizeof value, &r), BELFRY_IO);
    atomic_store(&disk.dir_errno, 0);
    disk.watched = x->s;
    assert_int_equal(store_get(x->s, STR("r"), value, sizeof value, &r), 0);
    assert_int_equal(r.version, 1);
    assert_true(was_synced(x, "records"));
}

static void log_whose_directory_cannot_be_synced_is_poisoned(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    atomic_store(&disk.dir_errno, EIO);
    assert_int_equal(append(x->s, "log", 0, element_of(0, buf), true), BELFRY_IO);
    atomic_store(&disk.dir_errno, 0);
    assert_int_equal(append(x->s, "log", 1, element_of(1, buf), true), BELFRY_IO);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    append_range(x->s, "log", 1, 3, true);
    expect_clean(x->s, "log", 3);
}

static void short_writes_are_continued(void **state)
{
    struct fixture *x = *state;
    atomic_store(&disk.short_writes, true);
    append_range(x->s, "log", 0, 20, true);
    atomic_store(&disk.short_writes, false);
    expect_clean(x->s, "log", 20);
    reopen_store(x);
    expect_clean(x->s, "log", 20);
}

static void durable_append_costs_one_write_and_one_sync(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    append_range(x->s, "log", 0, 2, true);
    wait_for_spares(x->s, 1);
    atomic_store(&disk.writes, 0);
    atomic_store(&disk.syncs, 0);
    assert_int_equal(append(x->s, "log", 2, element_of(2, buf), true), 0);
    assert_int_equal(atomic_load(&disk.writes), 1);
    assert_int_equal(atomic_load(&disk.syncs), 1);
    assert_int_equal(append(x->s, "log", 3, element_of(3, buf), false), 0);
    assert_int_equal(atomic_load(&disk.writes), 2);
    assert_int_equal(atomic_load(&disk.syncs), 1);
}

static void second_opener_is_told_the_directory_and_the_process(void **state)
{
    struct fixture *x = *state;
    struct store *other = NULL;
    char pid[32];
    assert_int_equal(store_open(x->dir, &x->options, &other), BELFRY_LOCKED);
    snprintf(pid, sizeof pid, "process %d", (int)getpid());
    assert_non_null(strstr(store_detail(), pid));
    assert_non_null(strstr(store_detail(), x->dir));
    fflush(NULL); /* or the child's exit would print what is still in our buffers */
    pid_t child = fork();
    if (child == 0)
        _exit(store_open(x->dir, &x->options, &other) == BELFRY_LOCKED ? 7 : 8);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    reopen_store(x);
}

static void newer_format_and_foreign_directories_are_refused(void **state)
{
    struct fixture *x = *state;
    char path[512];
    store_close(x->s);
    x->s = NULL;
    snprintf(path, sizeof path, "%s/format", x->dir);
    save_file(path, "belfry store 2\n", 15);
    assert_int_equal(store_open(x->dir, &x->options, &x->s), BELFRY_CORRUPT);
    assert_non_null(strstr(store_detail(), "newer"));
    save_file(path, "something else\n", 15);
    assert_int_equal(store_open(x->dir, &x->options, &x->s), BELFRY_CORRUPT);
    unlink(path);
    assert_int_equal(store_open(x->dir, &x->options, &x->s), BELFRY_CORRUPT);
    assert_non_null(strstr(store_detail(), "not a Belfry data directory"));
    save_file(path, "belfry store 1\n", 15);
    open_store(x);
}

static void read_only_store_changes_nothing_and_needs_no_lock(void **state)
{
    struct fixture *x = *state;
    struct store_options o = { .read_only = true };
    struct store *s = NULL;
    struct store_cas c = { STR("r"), 0, 1, STR("v"), 0 };
    char buf[64];
    char path[512];
    append_range(x->s, "log", 0, 5, true);
    assert_int_equal(x->s->ops->cas(x->s, &c), 0);
    assert_int_equal(store_open(x->dir, &o, &s), 0);
    expect_clean(s, "log", 5);
    append_range(x->s, "log", 5, 7, true);
    expect_clean(s, "log", 7);
    struct store_cell r;
    assert_int_equal(store_get(s, STR("r"), buf, sizeof buf, &r), 0);
    assert_int_equal(append(s, "log", 7, element_of(7, buf), true), BELFRY_INVALID);
    assert_int_equal(s->ops->sync(s, STR("log")), BELFRY_INVALID);
    assert_int_equal(s->ops->remove(s, STR("log")), BELFRY_INVALID);
    assert_int_equal(s->ops->cas(s, &c), BELFRY_INVALID);
    store_close(s);
    snprintf(path, sizeof path, "%s/missing", x->dir);
    assert_int_equal(store_open(path, &o, &s), BELFRY_NOTFOUND);
    assert_non_null(strstr(store_detail(), "missing"));
    assert_int_equal(access(path, F_OK), -1);
}

static void damaged_record_is_refused_by_name(void **state)
{
    struct fixture *x = *state;
    struct store_cas c = { STR("p/owner"), 0, 1, STR("value"), 0 };
    char path[512];
    assert_int_equal(x->s->ops->cas(x->s, &c), 0);
    store_close(x->s);
    x->s = NULL;
    snprintf(path, sizeof path, "%s/records/p+owner", x->dir);
    struct buf bytes = load_file(path);
    for (size_t at = 0; at < bytes.len; at++) {
        bytes.ptr[at] ^= 4;
        save_file(path, bytes.ptr, bytes.len);
        assert_int_equal(store_open(x->dir, &x->options, &x->s), BELFRY_CORRUPT);
        assert_non_null(strstr(store_detail(), "p+owner"));
        bytes.ptr[at] ^= 4;
    }
    save_file(path, bytes.ptr, bytes.len);
    snprintf(path, sizeof path, "%s/records/p+owner~", x->dir); /* left by a crash */
    save_file(path, bytes.ptr, 10);
    open_store(x);
    assert_int_equal(access(path, F_OK), -1);
    buf_fini(&bytes);
}

static void directory_that_a_killed_process_made_is_made_to_last(void **state)
{
    struct fixture *x = *state;
    char path[512];
    snprintf(path, sizeof path, "%s/logs/p", x->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/logs/p/q", x->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    disk.watched = x->s;
    append_range(x->s, "p/q/log", 0, 1, true);
    assert_true(was_synced(x, "logs"));
    assert_true(was_synced(x, "logs/p"));
    assert_true(was_synced(x, "logs/p/q"));
    size_t syncs = disk.dirs.items.len;
    append_range(x->s, "p/q/other", 0, 1, true);
    assert_int_equal(disk.dirs.items.len, syncs + sizeof(struct inode)); /* once is enough */
}

static void directory_that_could_not_be_made_to_last_is_tried_again(void **state)
{
    struct fixture *x = *state;
    char buf[64];
    atomic_store(&disk.dir_errno, EIO);
    assert_int_equal(append(x->s, "p/log", 0, element_of(0, buf), true), BELFRY_IO);
    atomic_store(&disk.dir_errno, 0);
    disk.watched = x->s;
    append_range(x->s, "p/log", 0, 1, true);
    assert_true(was_synced(x, "logs"));
}

/* As after a crash that left a record's new file with both its names. */
static void record_that_has_the_name_of_its_successor_too_is_not_overwritten(void **state)
{
    struct fixture *x = *state;
    struct store_cas c = { STR("r"), 0, 1, STR("first"), 0 };
    struct store_cell r;
    char value[8];
    char path[512];
    char beside[512];
    assert_int_equal(x->s->ops->cas(x->s, &c), 0);
    snprintf(path, sizeof path, "%s/records/r", x->dir);
    snprintf(beside, sizeof beside, "%s/records/r~", x->dir);
    assert_int_equal(link(path, beside), 0);
    c = (struct store_cas){ STR("r"), 1, 2, STR("second"), 0 };
    atomic_store(&disk.sync_errno, EIO);
    assert_int_equal(x->s->ops->cas(x->s, &c), BELFRY_IO);
    reopen_store(x);
    assert_int_equal(store_get(x->s, STR("r"), value, sizeof value, &r), 0);
    assert_true(str_eq(r.value, STR("first")));
}

struct churn {
    struct store *s;
    atomic_int made;    /* logs complete */
    atomic_int removed; /* logs gone */
    atomic_int failures;
};

enum { CHURN_LOGS = 60, CHURN_ELEMENTS = 40 };

static void *churn_append(void *arg)
{
    struct churn *c = arg;
    char name[32];
    char buf[64];
    for (int log = 0; log < CHURN_LOGS; log++) {
        snprintf(name, sizeof name, "p/%d", log);
        for (uint64_t i = 0; i < CHURN_ELEMENTS; i++)
            atomic_fetch_add(&c->failures,
                             append(c->s, name, i, element_of(i, buf), i % 13 == 0) != 0);
        atomic_fetch_add(&c->made, 1);
    }
    return NULL;
}

static int count_element(void *arg, uint64_t seq, struct str element)
{
    char buf[64];
    if (str_eq(element, element_of(seq, buf)))
        ++*(uint64_t *)arg;
    return 0;
}

static void *churn_remove(void *arg)
{
    struct churn *c = arg;
    char name[32];
    for (int log = 0; log < CHURN_LOGS; log++) {
        while (atomic_load(&c->made) <= log)
            usleep(100);
        uint64_t count = 0;
        struct store_tail tail = { 0 };
        snprintf(name, sizeof name, "p/%d", log);
        int r = c->s->ops->read(c->s, str_of(name), 0, 0, count_element, &count, &tail);
        atomic_fetch_add(&c->failures, r != 0 || count != CHURN_ELEMENTS ||
                                           tail.elements != CHURN_ELEMENTS || tail.torn_bytes != 0);
        atomic_fetch_add(&c->failures, c->s->ops->remove(c->s, str_of(name)) != 0);
        atomic_fetch_add(&c->removed, 1);
    }
    return NULL;
}

static void *churn_fence(void *arg)
{
    struct churn *c = arg;
    for (uint64_t i = 0; atomic_load(&c->removed) < CHURN_LOGS; i++) {
        struct store_cas cas = { STR("other"), i, i + 1, STR("v"), 0 };
        atomic_fetch_add(&c->failures, c->s->ops->cas(c->s, &cas) != 0);
    }
    return NULL;
}

static void logs_are_made_read_removed_and_recycled_at_once(void **state)
{
    struct fixture *x = *state;
    struct churn c = { .s = x->s };
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, churn_append, &c);
    pthread_create(&threads[1], NULL, churn_remove, &c);
    pthread_create(&threads[2], NULL, churn_fence, &c);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&c.failures), 0);
}

/* Time for a change of epoch between the check and the write of an append, if nothing forbids it.
 */
static ssize_t slow_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    if (count > 1)
        usleep(50000);
    return pwritev(fd, iov, count, offset);
}

static const struct disk_hooks slow_disk = { slow_pwritev, fdatasync, fsync };

/* Appends to its own log until it is fenced; then no element may follow. */
static void *append_until_fenced(void *arg)
{
    struct churn *c = arg;
    struct store_append a = {
        .log = STR("mine"), .fence = STR("owner"), .epoch = 1, .element = STR("x")
    };
    while (c->s->ops->append(c->s, &a) == 0) {
        a.seq++;
        atomic_store(&c->made, (int)a.seq);
    }
    return NULL;
}

static void no_append_of_the_old_epoch_lands_after_the_new_one_is_there(void **state)
{
    struct fixture *x = *state;
    struct store_cas cas = { STR("owner"), 0, 1, STR("v"), 0 };
    struct churn c = { .s = x->s };
    pthread_t thread;
    assert_int_equal(x->s->ops->cas(x->s, &cas), 0);
    file_set_hooks(x->s, &slow_disk);
    pthread_create(&thread, NULL, append_until_fenced, &c);
    while (atomic_load(&c.made) < 2)
        usleep(100);
    cas.expect = 1;
    cas.next = 2;
    assert_int_equal(x->s->ops->cas(x->s, &cas), 0);
    /* A store of its own to look with: the log is still the other thread's. */
    struct store_options o = { .read_only = true };
    struct store *look;
    struct store_tail tail;
    uint64_t count = 0;
    assert_int_equal(store_open(x->dir, &o, &look), 0);
    assert_int_equal(look->ops->read(look, STR("mine"), 0, 0, count_element, &count, &tail), 0);
    pthread_join(thread, NULL);
    assert_int_equal(tail.elements, (uint64_t)atomic_load(&c.made));
    store_close(look);
}

/* How many pages of the log's file the system has in its cache. */
static size_t cached_pages(const struct fixture *x, const char *log)
{
    static unsigned char seen[1024];
    char path[512];
    struct stat st;
    size_t n = 0;
    log_path(x, log, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true((size_t)st.st_size <= sizeof seen * 4096);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, (size_t)st.st_size, seen), 0);
    for (size_t i = 0; i < ((size_t)st.st_size + 4095) / 4096; i++)
        n += seen[i] & 1;
    munmap(map, (size_t)st.st_size);
    close(fd);
    return n;
}

static void cooled_log_leaves_the_cache_and_is_read_as_before(void **state)
{
    struct fixture *x = *state;
    static char bytes[200000];
    struct store_tail tail;
    struct statfs fs;
    uint64_t count = 0;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(append(x->s, "later", 0, (struct str){ bytes, sizeof bytes }, false), 0);
    assert_int_equal(x->s->ops->sync(x->s, STR("later")), 0);
    size_t before = cached_pages(x, "later");
    assert_true(before >= sizeof bytes / 4096);
    store_cool(x->s, STR("later"));
    assert_int_equal(statfs(x->dir, &fs), 0);
    if (fs.f_type != TMPFS_MAGIC) /* whose files are nowhere else */
        assert_true(cached_pages(x, "later") < before / 2);
    store_cool(x->s, STR("there-is-none"));
    assert_int_equal(x->s->ops->read(x->s, STR("later"), 0, 0, count_element, &count, &tail), 0);
    assert_int_equal(tail.elements, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_bad_disk, teardown)
        TEST(failed_sync_poisons_the_log_until_it_is_synced),
        TEST(sync_after_a_failed_one_writes_everything_doubtful_again),
        TEST(failed_write_of_any_length_poisons_and_is_cut),
        TEST(full_disk_on_which_nothing_can_be_undone_poisons),
        TEST(append_that_does_not_fit_is_full_and_smaller_ones_go_on),
        TEST(new_log_on_a_full_disk_is_full_and_does_not_exist),
        TEST(low_is_set_while_no_spare_can_be_made_and_clears_by_itself),
        TEST(epoch_can_rise_on_a_full_disk),
        TEST(record_whose_directory_cannot_be_synced_is_in_doubt),
        TEST(log_whose_directory_cannot_be_synced_is_poisoned),
        TEST(short_writes_are_continued),
        TEST(durable_append_costs_one_write_and_one_sync),
        TEST(second_opener_is_told_the_directory_and_the_process),
        TEST(newer_format_and_foreign_directories_are_refused),
        TEST(read_only_store_changes_nothing_and_needs_no_lock),
        TEST(damaged_record_is_refused_by_name),
        TEST(directory_that_a_killed_process_made_is_made_to_last),
        TEST(directory_that_could_not_be_made_to_last_is_tried_again),
        TEST(record_that_has_the_name_of_its_successor_too_is_not_overwritten),
        TEST(record_in_doubt_is_shown_only_when_it_lasts),
        TEST(logs_are_made_read_removed_and_recycled_at_once),
        TEST(no_append_of_the_old_epoch_lands_after_the_new_one_is_there),
        TEST(cooled_log_leaves_the_cache_and_is_read_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
