/* SPDX-License-Identifier: MIT */
#include "store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

static const struct disk_hooks real_hooks = { pwritev, fdatasync, fsync };

void disk_init(struct disk *d, unsigned sync_delay_us)
{
    atomic_init(&d->hooks, &real_hooks);
    d->sync_delay_us = sync_delay_us;
}

/* Drops the first n bytes of what is still to be written. */
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

int disk_make_dirs(struct disk *d, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    int r = disk_make_parent(d, path);
    if (r < 0)
        return r;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    return disk_sync_parent(d, path);
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

int disk_replace(struct disk *d, const char *path, const char *beside, struct str content,
                 bool *ret_renamed)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = disk_write_bytes(d, fd, content.ptr, content.len, 0);
    if (r == 0)
        r = disk_sync(d, fd);
    close(fd);
    if (r == 0 && rename(beside, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(beside);
        return r;
    }
    if (ret_renamed)
        *ret_renamed = true;
    return disk_sync_parent(d, path);
}

bool disk_is_full(int err)
{
    return err == -ENOSPC || err == -EDQUOT;
}

int disk_fail(int err, const char *path, const char *what)
{
    char text[128];
    const char *why = strerror_r(-err, text, sizeof text);
    return store_fail(disk_is_full(err) ? BELFRY_FULL : BELFRY_IO, "%s: %s: %s", path, what, why);
}
