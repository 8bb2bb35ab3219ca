/* SPDX-License-Identifier: MIT */
#include "store/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/mutant.h"
#include "store/store.h"

#define FORMAT_PREFIX "belfry store "
/* Room for the longest name, with its escapes, below DIR. */
#define NAME_ROOM (2 * STORE_NAME_MAX + 64)

static int locked_by(const char *dir, int fd)
{
    char pid[32] = "";
    ssize_t n = disk_read(fd, pid, sizeof pid - 1, 0);
    if (n > 0)
        pid[strcspn(pid, "\n")] = '\0';
    if (pid[0] == '\0')
        return store_fail(BELFRY_LOCKED, "%s: in use by another process", dir);
    return store_fail(BELFRY_LOCKED, "%s: in use by process %s", dir, pid);
}

static int lock(const char *dir, int *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return disk_fail(-errno, path, "open");
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = errno == EWOULDBLOCK ? locked_by(dir, fd) : disk_fail(-errno, path, "lock");
        close(fd);
        return r;
    }
    /* The pid is for people: a disk too full to hold it is no reason to stop. */
    char pid[32];
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) < 0)
        errno = 0;
    *ret = fd;
    return 0;
}

/* Reads DIR/format: NOTFOUND, CORRUPT, IO. */
static int check_format(const char *dir)
{
    char path[PATH_MAX];
    char text[64] = "";
    snprintf(path, sizeof path, "%s/format", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return store_fail(BELFRY_NOTFOUND, "%s: no Belfry data directory", dir);
    if (fd < 0)
        return disk_fail(-errno, path, "open");
    ssize_t n = disk_read(fd, text, sizeof text - 1, 0);
    close(fd);
    if (n < 0)
        return disk_fail((int)n, path, "read");
    char *end;
    size_t skip = strlen(FORMAT_PREFIX);
    unsigned long version =
        strncmp(text, FORMAT_PREFIX, skip) == 0 ? strtoul(text + skip, &end, 10) : 0;
    if (version == 0)
        return store_fail(BELFRY_CORRUPT, "%s: not the format file of a Belfry store", path);
    if (version > DATADIR_FORMAT)
        return store_fail(BELFRY_CORRUPT,
                          "%s: format %lu is newer than this version of Belfry, which reads up to "
                          "%d: use a newer Belfry",
                          path, version, DATADIR_FORMAT);
    return 0;
}

/* A directory without a format file is taken over only if it has no foreign files. */
static int check_empty(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int r = 0;
    if (!d)
        return disk_fail(-errno, dir, "open");
    while (r == 0 && (e = readdir(d))) {
        const char *name = e->d_name;
        if (name[0] != '.' && strcmp(name, "lock") != 0 && strcmp(name, "lost+found") != 0 &&
            strcmp(name, "format.new") != 0)
            r = store_fail(BELFRY_CORRUPT,
                           "%s: not a Belfry data directory: it has no file 'format' but '%s'", dir,
                           name);
    }
    closedir(d);
    return r;
}

static int make_format(struct disk *d, const char *dir)
{
    char path[PATH_MAX];
    char beside[PATH_MAX];
    char text[64];
    int n = snprintf(text, sizeof text, FORMAT_PREFIX "%d\n", DATADIR_FORMAT);
    snprintf(path, sizeof path, "%s/format", dir);
    snprintf(beside, sizeof beside, "%s/format.new", dir);
    int r = disk_write_file(d, beside, (struct str){ text, (size_t)n });
    if (r == 0 && rename(beside, path) < 0) {
        r = -errno;
        unlink(beside);
    }
    if (r == 0)
        r = disk_sync_dir(d, dir);
    return r < 0 ? disk_fail(r, path, "write") : 0;
}

/* The format file is made when the directory, with all directories above it, is durable. So a
 * directory with a format file is not synced again. */
static int make_dir(struct disk *d, const char *dir)
{
    int r = check_format(dir) == BELFRY_NOTFOUND ? disk_make_dirs(d, dir) : 0;
    if (r < 0)
        return disk_fail(r, dir, "create");
    disk_dir_lasts(d, dir);
    return 0;
}

static int make_tree(struct disk *d, const char *dir)
{
    static const char *const parts[] = { "logs", "records", "spare" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", dir, parts[i]);
        int r = disk_make_dirs(d, path);
        if (r < 0)
            return disk_fail(r, path, "create");
    }
    return 0;
}

static int check_length(const char *dir)
{
    if (*dir == '\0' || strlen(dir) > PATH_MAX - NAME_ROOM)
        return store_fail(BELFRY_INVALID, "'%.100s': no path for a data directory", dir);
    return 0;
}

/* The format file is durable before any other file is made: without it, no later start would know
 * the other files as its own. A process that was killed before its sync may have left the format
 * file. */
static int settle_format(struct disk *d, const char *dir)
{
    int r = check_format(dir);
    if (r == BELFRY_NOTFOUND) {
        r = check_empty(dir);
        return r < 0 ? r : make_format(d, dir);
    }
    if (r < 0)
        return r;
    r = STORE_MUTANT(d->mutant, FORMAT_TRUSTED) ? 0 : disk_sync_dir(d, dir);
    return r < 0 ? disk_fail(r, dir, "sync directory") : 0;
}

int datadir_open(struct disk *d, const char *dir, int *ret_lock)
{
    int fd = -1;
    int r = check_length(dir);
    if (r == 0)
        r = make_dir(d, dir);
    if (r == 0)
        r = lock(dir, &fd);
    if (r < 0)
        return r;
    r = settle_format(d, dir);
    if (r == 0)
        r = make_tree(d, dir);
    if (r == 0)
        *ret_lock = fd;
    else
        close(fd);
    return r;
}

int datadir_check(const char *dir)
{
    int r = check_length(dir);
    return r < 0 ? r : check_format(dir);
}

/*
 * Log "a" is the file a.log, and log "a.log/b" needs a directory of that name. So the name of a
 * directory that ends in ".log" gets a '+' behind it. No log has a '+' in its name.
 */
void datadir_log_path(const char *dir, struct str log, char ret[PATH_MAX])
{
    int n = snprintf(ret, PATH_MAX, "%s/logs/", dir);
    char *p = ret + n;
    for (size_t i = 0; i < log.len; i++) {
        if (log.ptr[i] == '/' && i >= 4 && memcmp(log.ptr + i - 4, ".log", 4) == 0)
            *p++ = '+';
        *p++ = log.ptr[i];
    }
    memcpy(p, ".log", 5);
}

static bool is_dir(const char *path, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds the logs below the directory `path` whose names start with `prefix`. `name` is a buffer of
 * PATH_MAX bytes; its first `len` bytes are the name of this directory. */
static int walk(const char *path, char *name, size_t len, struct str prefix, struct names *ret)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int r = 0;
    if (!d)
        return errno == ENOENT ? 0 : disk_fail(-errno, path, "open");
    while (r == 0 && (e = readdir(d))) {
        size_t n = strlen(e->d_name);
        char below[PATH_MAX];
        if (disk_is_dots(e->d_name) || len + n + 2 > STORE_NAME_MAX + 8)
            continue; /* The store did not make it. */
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        memcpy(name + len, e->d_name, n);
        if (is_dir(below, e)) {
            n -= e->d_name[n - 1] == '+';
            name[len + n] = '/';
            r = walk(below, name, len + n + 1, prefix, ret);
        } else if (n > 4 && memcmp(e->d_name + n - 4, ".log", 4) == 0) {
            struct str found = { name, len + n - 4 };
            if (str_starts(found, prefix) && store_name_valid(found))
                r = names_add(ret, found);
        }
    }
    closedir(d);
    return r;
}

/* Syncs the directory `path` of logs, and the directories in it. */
static int settle_logs(struct disk *d, const char *path, struct inodes *ret)
{
    struct dirent *e;
    int r = STORE_MUTANT(d->mutant, STOCK_UNSYNCED) ? 0 : disk_sync_dir(d, path);
    DIR *dir = r == 0 ? opendir(path) : NULL;
    if (!dir)
        return disk_fail(r < 0 ? r : -errno, path, "sync directory");
    while (r == 0 && (e = readdir(dir))) {
        char below[PATH_MAX];
        struct stat st;
        if (disk_is_dots(e->d_name))
            continue;
        int n = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (n >= PATH_MAX || stat(below, &st) < 0) /* The store did not make it. */
            continue;
        r = S_ISDIR(st.st_mode) ? settle_logs(d, below, ret) : inodes_add(ret, &st);
    }
    closedir(dir);
    return r;
}

int datadir_settle(struct disk *d, const char *dir, struct inodes *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/records", dir);
    int r = disk_sync_dir(d, path);
    if (r < 0)
        return disk_fail(r, path, "sync directory");
    snprintf(path, sizeof path, "%s/logs", dir);
    return settle_logs(d, path, ret);
}

int datadir_list(const char *dir, struct str prefix, struct names *ret)
{
    char path[PATH_MAX];
    char name[PATH_MAX] = "";
    size_t base = prefix.len; /* Only the directory that the prefix leads into is walked. */
    while (base > 0 && prefix.ptr[base - 1] != '/')
        base--;
    if (base == 0) {
        snprintf(path, sizeof path, "%s/logs", dir);
        return walk(path, name, 0, prefix, ret);
    }
    if (!store_name_valid((struct str){ prefix.ptr, base - 1 }))
        return 0;
    /* The path of a log in that directory, without the name of the log. */
    memcpy(name, prefix.ptr, base);
    name[base] = 'x';
    datadir_log_path(dir, (struct str){ name, base + 1 }, path);
    path[strlen(path) - strlen("/x.log")] = '\0';
    return walk(path, name, base, prefix, ret);
}
