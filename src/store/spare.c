/* SPDX-License-Identifier: MIT */
#include "store/spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "store/mutant.h"

#define ZERO_BYTES  (256u << 10)
#define FLUSH_BYTES (4u << 20) /* between two syncs: a commit should not wait for a big sync */

static void path_of(const struct spares *p, uint64_t number, const char *suffix, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s/%llu%s", p->dir, (unsigned long long)number, suffix);
}

/* Whether there is no space for the files that the reserve lacks, and for `more` files. */
static bool is_short(const struct spares *p, unsigned more)
{
    struct statvfs st;
    return p->count < p->reserve && statvfs(p->dir, &st) == 0 &&
           st.f_bavail * st.f_frsize < (p->reserve - p->count + more) * p->bytes;
}

static bool take_number(struct spares *p, uint64_t *ret)
{
    pthread_mutex_lock(&p->lock);
    bool found = p->count > 0;
    if (found) {
        *ret = p->ready[--p->count];
        pthread_cond_broadcast(&p->changed);
    }
    if (is_short(p, !found)) /* at once: the maker may be busy, or pausing after a failure */
        atomic_store(p->low, true);
    pthread_mutex_unlock(&p->lock);
    return found;
}

static uint64_t new_number(struct spares *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t number = p->next_number++;
    pthread_mutex_unlock(&p->lock);
    return number;
}

/* A new file, under a name that is swept away after a crash. */
static int new_file(struct spares *p, uint64_t number, uint64_t bytes, char path[PATH_MAX],
                    int *ret_fd)
{
    path_of(p, number, ".new", path);
    int fd = disk_create(path);
    if (fd < 0)
        return fd;
    /* A file system that cannot allocate ahead is fine: the log just grows. */
    if (bytes > 0 && fallocate(fd, 0, 0, (off_t)bytes) < 0 && errno != EOPNOTSUPP) {
        int r = -errno;
        close(fd);
        unlink(path);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int spares_take(struct spares *p, bool plain, char ret_path[PATH_MAX], int *ret_fd)
{
    uint64_t number;
    if (!plain && take_number(p, &number)) {
        path_of(p, number, "", ret_path);
        int fd = open(ret_path, O_RDWR | O_CLOEXEC);
        if (fd >= 0) {
            *ret_fd = fd;
            return 0;
        }
    }
    int r = new_file(p, new_number(p), plain ? 0 : p->bytes, ret_path, ret_fd);
    return r < 0 ? disk_fail(r, ret_path, "create") : 0;
}

/* A much larger file, of a log that was written in bulk, would take more than the reserve. */
static bool has_size(const struct spares *p, const struct stat *st)
{
    uint64_t least = STORE_MUTANT(p->disk->mutant, SPARE_HALF) ? p->bytes / 2 : p->bytes;
    return (uint64_t)st->st_size >= least && (uint64_t)st->st_size <= p->bytes + p->bytes / 8;
}

bool spares_receive(struct spares *p, const char *path, uint64_t *ret_number)
{
    struct stat st;
    char to[PATH_MAX];
    if (stat(path, &st) < 0 || !has_size(p, &st) || spares_count(p) > p->reserve)
        return false;
    uint64_t number = new_number(p);
    path_of(p, number, "", to);
    if (rename(path, to) < 0)
        return false;
    *ret_number = number;
    return true;
}

void spares_offer(struct spares *p, uint64_t number)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&p->lock);
    bool room = p->count < p->reserve + 1; /* Other spares may have come meanwhile. */
    if (room)
        p->ready[p->count++] = number;
    if (p->count >= p->reserve)
        atomic_store(p->low, false);
    pthread_mutex_unlock(&p->lock);
    path_of(p, number, "", path);
    if (!room)
        unlink(path);
}

bool spares_drop(struct spares *p)
{
    char path[PATH_MAX];
    uint64_t number;
    if (!take_number(p, &number))
        return false;
    path_of(p, number, "", path);
    return unlink(path) == 0;
}

void spares_lend(struct spares *p)
{
    pthread_mutex_lock(&p->lock);
    p->lent++;
    while (p->making)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void spares_return(struct spares *p)
{
    pthread_mutex_lock(&p->lock);
    p->lent--;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

unsigned spares_count(struct spares *p)
{
    pthread_mutex_lock(&p->lock);
    unsigned count = p->count;
    pthread_mutex_unlock(&p->lock);
    return count;
}

/* The first write to an allocated block changes metadata, which a commit should not do. */
static int fill(struct spares *p, int fd)
{
    char *zeros = calloc(1, ZERO_BYTES);
    int r = zeros ? 0 : -ENOMEM;
    for (uint64_t at = 0; r == 0 && at < p->bytes; at += ZERO_BYTES) {
        size_t n = p->bytes - at < ZERO_BYTES ? (size_t)(p->bytes - at) : ZERO_BYTES;
        if (p->stop)
            r = -ECANCELED;
        else
            r = disk_write_bytes(p->disk, fd, zeros, n, at);
        if (r == 0 && (at + n == p->bytes || (at + n) % FLUSH_BYTES == 0))
            r = atomic_load(&p->disk->hooks)->fdatasync(fd) < 0 ? -errno : 0;
    }
    free(zeros);
    return r;
}

static int make(struct spares *p)
{
    char fresh[PATH_MAX];
    char done[PATH_MAX];
    int fd = -1;
    uint64_t number = new_number(p);
    int r = new_file(p, number, p->bytes, fresh, &fd);
    if (r < 0)
        return r;
    r = fill(p, fd);
    close(fd);
    path_of(p, number, "", done);
    if (r == 0 && rename(fresh, done) < 0)
        r = -errno;
    if (r < 0) {
        unlink(fresh);
        return r;
    }
    spares_offer(p, number);
    return 0;
}

static void wait_a_second(struct spares *p)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    while (!p->stop && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0) {
    }
}

static void *maker(void *arg)
{
    struct spares *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->count >= p->reserve)
            atomic_store(p->low, false);
        if (p->count >= p->reserve || p->lent > 0) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        p->making = true;
        pthread_mutex_unlock(&p->lock);
        int r = make(p);
        pthread_mutex_lock(&p->lock);
        p->making = false;
        pthread_cond_broadcast(&p->changed);
        /* Only want of space is `low`. Other failures will show in appends, where they matter. */
        atomic_store(p->low, disk_is_full(r) && p->count < p->reserve);
        if (r < 0)
            wait_a_second(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Counts one file that an earlier process left, or sweeps it away. */
static int take_one(struct spares *p, const char *name, struct inodes *others)
{
    char path[PATH_MAX];
    struct stat st;
    size_t digits = strspn(name, "0123456789");
    uint64_t number = strtoull(name, NULL, 10);
    if (digits > 0 && number >= p->next_number && number < UINT64_MAX)
        p->next_number = number + 1;
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    if (stat(path, &st) < 0)
        return 0;
    bool shared = inodes_has(others, &st) && !STORE_MUTANT(p->disk->mutant, SPARE_SHARED);
    /* The log keeps its file only if the file system counts both names. */
    if (shared && st.st_nlink < 2)
        return 0;
    if (shared || digits == 0 || name[digits] != '\0' || p->count > p->reserve ||
        !has_size(p, &st)) {
        unlink(path);
        return 0;
    }
    p->ready[p->count++] = number;
    return inodes_add(others, &st) < 0 ? -ENOMEM : 0;
}

static int take_stock(struct spares *p, struct inodes *others)
{
    DIR *dir = opendir(p->dir);
    struct dirent *e;
    int r = 0;
    if (!dir)
        return -errno;
    while (r == 0 && (e = readdir(dir))) {
        if (e->d_name[0] != '.')
            r = take_one(p, e->d_name, others);
    }
    closedir(dir);
    return r;
}

int spares_init(struct spares *p, struct disk *d, const struct spares_options *o)
{
    pthread_condattr_t monotonic;
    *p = (struct spares){
        .disk = d, .bytes = o->bytes, .reserve = o->reserve, .low = o->low, .dir = strdup(o->dir)
    };
    p->ready = calloc(o->reserve + 1, sizeof(*p->ready));
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int r = p->dir && p->ready ? take_stock(p, o->logs) : -ENOMEM;
    if (r == 0)
        r = -pthread_create(&p->maker, NULL, maker, p);
    if (r < 0) {
        spares_fini(p);
        return disk_fail(r, o->dir, "prepare spare logs");
    }
    p->running = true;
    return 0;
}

void spares_fini(struct spares *p)
{
    if (p->running) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->maker, NULL);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->ready);
    free(p->dir);
}
