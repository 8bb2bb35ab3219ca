/* SPDX-License-Identifier: MIT */
#include "support/baddisk.h"

struct baddisk disk;

static ssize_t bad_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    atomic_fetch_add(&disk.writes, 1);
    int some = atomic_load(&disk.write_some);
    size_t first = iov[0].iov_len;
    if (atomic_load(&disk.write_errno) != 0 && some > 0) {
        atomic_store(&disk.write_some, 0);
        return pwrite(fd, iov[0].iov_base, (size_t)some < first ? (size_t)some : first, offset);
    }
    if (atomic_load(&disk.write_errno) != 0) {
        errno = atomic_load(&disk.write_errno);
        return -1;
    }
    if (atomic_load(&disk.short_writes) && first > 1)
        return pwrite(fd, iov[0].iov_base, first - 1, offset);
    return pwritev(fd, iov, count, offset);
}

static int bad_fdatasync(int fd)
{
    atomic_fetch_add(&disk.syncs, 1);
    errno = atomic_load(&disk.sync_errno);
    return errno != 0 ? -1 : fdatasync(fd);
}

static int bad_fsync(int fd)
{
    struct stat st;
    if (disk.watched && fstat(fd, &st) == 0) {
        inodes_add(&disk.dirs, &st);
        disk.spares = store_spares(disk.watched);
    }
    errno = atomic_load(&disk.dir_errno);
    return errno != 0 ? -1 : fsync(fd);
}

const struct disk_hooks bad_disk = { bad_pwritev, bad_fdatasync, bad_fsync };

void wait_for_spares(struct store *s, unsigned count)
{
    for (int i = 0; i < 500 && store_spares(s) < count; i++)
        usleep(10000);
    assert_true(store_spares(s) >= count);
}

bool was_synced(const struct fixture *x, const char *dir)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", x->dir, dir);
    assert_int_equal(stat(path, &st), 0);
    return inodes_has(&disk.dirs, &st);
}

int setup_bad_disk(void **state)
{
    inodes_fini(&disk.dirs);
    memset(&disk, 0, sizeof disk);
    int r = setup(state);
    if (r == 0) {
        struct fixture *x = *state;
        wait_for_spares(x->s, 1); /* the maker is idle: only the test writes */
        file_set_hooks(x->s, &bad_disk);
    }
    return r;
}
