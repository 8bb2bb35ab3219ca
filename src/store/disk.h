/* SPDX-License-Identifier: MIT */
/*
 * Writing to files and directories so that it lasts. Every write and sync of the file store goes
 * through hooks, so that a test can make the real store meet a failing disk.
 *
 * Functions answer 0 or a negative errno, because only the caller knows what a failure means.
 * disk_fail makes an error of base/error.h of that errno, with detail. All functions block.
 */
#ifndef STORE_DISK_H
#define STORE_DISK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/str.h"

struct disk_hooks {
    ssize_t (*pwritev)(int fd, const struct iovec *iov, int count, off_t offset);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd); /* of directories */
};

#define DISK_LASTING 16

struct disk {
    _Atomic(const struct disk_hooks *) hooks;
    unsigned sync_delay_us; /* added to every disk_sync */
    unsigned mutant;        /* see mutant.h */

    pthread_mutex_t lock;           /* one directory is made at a time */
    uint64_t lasting[DISK_LASTING]; /* hashes of directories' paths, see disk_dir_lasts */
    unsigned next_lasting;
};

void disk_init(struct disk *d, unsigned sync_delay_us);

/* Writes all of the bytes, however few the system takes at once. Changes iov. */
int disk_write(struct disk *d, int fd, struct iovec *iov, int count, uint64_t offset);
int disk_write_bytes(struct disk *d, int fd, const void *data, size_t len, uint64_t offset);

int disk_sync(struct disk *d, int fd);

/* Has the system begin to write bytes that it would else keep for long, and does not wait. This is
 * a hint: it cannot fail, and promises nothing. */
void disk_begin_write(int fd, uint64_t offset, uint64_t len);

/* Makes the entries of a directory last. */
int disk_sync_dir(struct disk *d, const char *path);
/* Makes the entries of the directory that contains `path` last. */
int disk_sync_parent(struct disk *d, const char *path);

/* mkdir -p, made to last. An existing directory is made to last, too. The process that made it may
 * have been killed before the sync, or another thread may be about to sync it. A directory that
 * lasts by an earlier call, or by disk_dir_lasts, costs nothing. */
int disk_make_dirs(struct disk *d, const char *path);
/* As disk_make_dirs, for the directory that contains `path`. */
int disk_make_parent(struct disk *d, const char *path);
/* Notes that the directory, and those that it is in, will survive a loss of power. */
void disk_dir_lasts(struct disk *d, const char *path);

/* Creates an empty file for writing: a descriptor or a negative errno. An existing file of that
 * name loses the name but not its content: after a crash it may have a second name. */
int disk_create(const char *path);

/* Reads up to len bytes, less only at the end of the file: a count or a negative errno. */
ssize_t disk_read(int fd, void *buf, size_t len, uint64_t offset);

/* Creates a small file with its whole content, which lasts; the name may not last yet. */
int disk_write_file(struct disk *d, const char *path, struct str content);

/* Whether an entry of a directory is "." or "..". */
static inline bool disk_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool disk_is_full(int err);
/* Answers FULL for want of space, else IO, with detail "PATH: what: why". */
int disk_fail(int err, const char *path, const char *what);

#endif
