/* SPDX-License-Identifier: MIT */
#include "store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/mutant.h"
#include "store/store.h"

static const struct disk_hooks real_hooks = { pwritev, fdatasync, fsync };

void disk_init(struct disk *d, unsigned sync_delay_us)
{
    *d = (struct disk){ .sync_delay_us = sync_delay_us };
    atomic_init(&d->hooks, &real_hooks);
    pthread_mutex_init(&d->lock, NULL);
}

/* Drops the first n of the bytes that are still to be written. */
static void advance(struct iovec **iov, int *count, size_t n)
{
    while (*count > 0 && n >= (*iov)->iov_len) {
        n -= (*iov)->iov_len;
        ++*iov;
        --*count;
    }
    if (*count > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + n;
        (*iov)->iov_len -= n;
    }
}

int disk_write(struct disk *d, int fd, struct iovec *iov, int count, uint64_t offset)
{
    const struct disk_hooks *hooks = atomic_load(&d->hooks);
    advance(&iov, &count, 0);
    while (count > 0) {
        ssize_t n = hooks->pwritev(fd, iov, count, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        offset += (uint64_t)n;
        advance(&iov, &count, (size_t)n);
    }
    return 0;
}

int disk_write_bytes(struct disk *d, int fd, const void *data, size_t len, uint64_t offset)
{
    struct iovec iov = { .iov_len = len };
    memcpy(&iov.iov_base, &data, sizeof data); /* iovec has no const */
    return disk_write(d, fd, &iov, 1, offset);
}

int disk_sync(struct disk *d, int fd)
{
    if (d->sync_delay_us > 0)
        usleep(d->sync_delay_us);
    return atomic_load(&d->hooks)->fdatasync(fd) < 0 ? -errno : 0;
}

void disk_begin_write(int fd, uint64_t offset, uint64_t len)
{
    (void)sync_file_range(fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
}

int disk_sync_dir(struct disk *d, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = atomic_load(&d->hooks)->fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static void parent_of(const char *path, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s", path);
    char *slash = strrchr(ret, '/');
    if (!slash)
        memcpy(ret, ".", 2);
    else
        slash[slash == ret] = '\0';
}

int disk_sync_parent(struct disk *d, const char *path)
{
    char parent[PATH_MAX];
    parent_of(path, parent);
    return disk_sync_dir(d, parent);
}

static bool dir_lasts(const struct disk *d, uint64_t hash)
{
    for (unsigned i = 0; i < DISK_LASTING; i++) {
        if (d->lasting[i] == hash)
            return true;
    }
    return false;
}

static void note_lasting(struct disk *d, const char *path)
{
    d->lasting[d->next_lasting++ % DISK_LASTING] = XXH3_64bits(path, strlen(path));
}

void disk_dir_lasts(struct disk *d, const char *path)
{
    pthread_mutex_lock(&d->lock);
    note_lasting(d, path);
    pthread_mutex_unlock(&d->lock);
}

/* Whether no server can have made the directory, so that its parent need not be synced: the root,
 * the working directory, a mount point. */
static bool is_given(const char *path, const char *parent)
{
    struct stat st;
    struct stat above;
    return strcmp(path, parent) == 0 ||
           (stat(path, &st) == 0 && stat(parent, &above) == 0 && st.st_dev != above.st_dev);
}

/* A server has made nothing in a directory that it may not even open. */
static bool cannot_be_ours(int err)
{
    return err == -EACCES || err == -EPERM || err == -EROFS || err == -EINVAL;
}

/* With the lock held. */
static int make_dirs(struct disk *d, const char *path)
{
    char parent[PATH_MAX];
    struct stat st;
    if (dir_lasts(d, XXH3_64bits(path, strlen(path))))
        return 0;
    parent_of(path, parent);
    if (is_given(path, parent))
        return 0;
    if (STORE_MUTANT(d->mutant, DIRS_TRUSTED) && stat(path, &st) == 0)
        return 0;
    int r = make_dirs(d, parent);
    if (r < 0)
        return r;
    bool made = mkdir(path, 0700) == 0;
    r = made ? 0 : -errno; /* Besides EEXIST, the parent may be read-only. */
    if (!made && stat(path, &st) < 0)
        return r;
    if (!made && !S_ISDIR(st.st_mode))
        return -ENOTDIR;
    r = disk_sync_dir(d, parent);
    if (r < 0 && (made || !cannot_be_ours(r)))
        return r;
    note_lasting(d, path);
    return 0;
}

int disk_make_dirs(struct disk *d, const char *path)
{
    pthread_mutex_lock(&d->lock);
    int r = make_dirs(d, path);
    pthread_mutex_unlock(&d->lock);
    return r;
}

int disk_make_parent(struct disk *d, const char *path)
{
    char parent[PATH_MAX];
    parent_of(path, parent);
    return disk_make_dirs(d, parent);
}

ssize_t disk_read(int fd, void *buf, size_t len, uint64_t offset)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int disk_create(const char *path)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return -errno;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

int disk_write_file(struct disk *d, const char *path, struct str content)
{
    int fd = disk_create(path);
    if (fd < 0)
        return fd;
    int r = disk_write_bytes(d, fd, content.ptr, content.len, 0);
    if (r == 0)
        r = disk_sync(d, fd);
    close(fd);
    if (r < 0)
        unlink(path);
    return r;
}

bool disk_is_full(int err)
{
    return err == -ENOSPC || err == -EDQUOT;
}

int disk_fail(int err, const char *path, const char *what)
{
    return store_fail(disk_is_full(err) ? BELFRY_FULL : BELFRY_IO, "%s: %s: %s", path, what,
                      strerror(-err));
}
