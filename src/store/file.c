/* SPDX-License-Identifier: MIT */
#include "store/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "store/datadir.h"
#include "store/logtable.h"
#include "store/mutant.h"
#include "store/cellfile.h"
#include "store/spare.h"

#define LOG_BYTES     (UINT64_C(32) << 20)
#define LOG_BYTES_MAX (UINT64_C(1) << 40)
#define RESERVE       2
#define RESERVE_MAX   1000

/*
 * No other process writes while this one has the lock of the directory. So the cells in memory are
 * true. `fence` is held for reading during an append, and for writing while a cell changes. So once
 * a new epoch is visible, no append of the old epoch is still under way.
 */
struct file {
    struct store base;
    struct disk disk;
    char *dir;
    char *cells_dir;
    int lock; /* -1: read-only */
    bool read_only;
    struct logtable logs;
    struct spares spares;
    pthread_rwlock_t fence;
    pthread_mutex_t cas_lock; /* one change of cells at a time */
    atomic_bool in_doubt;     /* a cell was changed and may change back with a loss of power */
    struct cellset cells;
};

static int64_t now_ms(struct store *s)
{
    (void)s;
    return time_wall_ms();
}

static int refuse_write(const struct file *f)
{
    return f->read_only ? store_fail(BELFRY_INVALID, "%s: opened read-only", f->dir) : 0;
}

/* Gets a file with the first element in it to its place; the log is then open. */
static int create_in(struct file *f, struct logfile *log, const struct store_append *a, bool plain)
{
    char beside[PATH_MAX];
    int fd;
    int r = spares_take(&f->spares, plain, beside, &fd);
    if (r < 0)
        return r;
    r = logfile_create(log, &f->disk, fd, beside, a->element);
    if (r < 0) {
        close(fd);
        unlink(beside);
        return r;
    }
    r = logfile_place(log, &f->disk, beside, a->durable);
    if (r < 0 && !log->poisoned) { /* The log does not exist. */
        unlink(beside);
        close(log->fd);
        log->fd = -1;
    }
    return r;
}

/* Makes the log, at its first append. An append with `reserved` (the journal) takes a spare file if
 * there is one. Any other append (a run, synced once at its end) makes a new file and leaves the
 * reserve alone. */
static int create(struct file *f, struct logfile *log, const struct store_append *a)
{
    if (a->seq != 0)
        return store_fail(BELFRY_CONFLICT, "%s: is at 0, not %llu", log->path,
                          (unsigned long long)a->seq);
    int r = disk_make_parent(&f->disk, log->path);
    if (r < 0)
        return disk_fail(r, log->path, "create directory");
    r = create_in(f, log, a, !a->reserved);
    if (r == 0 && a->ret_at)
        *a->ret_at = LOG_START;
    return r;
}

static int append_to(struct file *f, struct logfile *log, const struct store_append *a)
{
    int r = cellset_check(&f->cells, a->fence, time_wall_ms(), a->epoch, BELFRY_FENCED);
    if (r == 0 && log->fd < 0) {
        r = logfile_open(log, false);
        if (r == BELFRY_NOTFOUND)
            return create(f, log, a);
    }
    return r < 0 ? r : logfile_append(log, &f->disk, a);
}

/* If the file of the journal has no room, the element gets the space of one spare after another. */
static int append_in_reserve(struct file *f, struct logfile *log, const struct store_append *a)
{
    int r = append_to(f, log, a);
    if (r != BELFRY_FULL || !a->reserved)
        return r;
    spares_lend(&f->spares);
    do
        r = append_to(f, log, a);
    while (r == BELFRY_FULL && spares_drop(&f->spares));
    spares_return(&f->spares);
    return r;
}

/* Acquires a log for an append, sync or removal, which the caller makes one at a time, as the
 * contract says. `r` is the result of the check of its arguments. */
static int enter(struct file *f, int r, struct str name, struct logfile **ret)
{
    if (r == 0)
        r = refuse_write(f);
    if (r == 0)
        r = logtable_acquire(&f->logs, f->dir, name, ret);
    if (r < 0)
        return r;
    bool was = atomic_exchange(&(*ret)->busy, true);
    assert(!was);
    (void)was;
    return 0;
}

static void leave(struct file *f, struct logfile *log)
{
    atomic_store(&log->busy, false);
    logtable_release(&f->logs, log);
}

static int append(struct store *s, const struct store_append *a)
{
    struct file *f = (struct file *)s;
    struct logfile *log;
    int r = enter(f, store_check_append(a), a->log, &log);
    if (r < 0)
        return r;
    pthread_mutex_lock(&log->lock); /* first: a reader may have it for long */
    pthread_rwlock_rdlock(&f->fence);
    r = append_in_reserve(f, log, a);
    pthread_rwlock_unlock(&f->fence);
    pthread_mutex_unlock(&log->lock);
    leave(f, log);
    return r;
}

/* With the log's lock held. */
static int open_log(struct logfile *log)
{
    return log->fd < 0 ? logfile_open(log, false) : 0;
}

static int sync_log(struct store *s, struct str name)
{
    struct file *f = (struct file *)s;
    struct logfile *log;
    int r = enter(f, store_check_log(name), name, &log);
    if (r < 0)
        return r;
    pthread_mutex_lock(&log->lock);
    r = open_log(log);
    if (r == 0)
        r = logfile_sync(log, &f->disk);
    pthread_mutex_unlock(&log->lock);
    leave(f, log);
    return r;
}

/* Without this the system's cache would grow by all jobs that wait on disk. */
static void cool_log(struct store *s, struct str name)
{
    struct file *f = (struct file *)s;
    struct logfile *log;
    if (store_check_log(name) < 0 || logtable_acquire(&f->logs, f->dir, name, &log) < 0)
        return;
    pthread_mutex_lock(&log->lock);
    if (log->fd >= 0)
        (void)posix_fadvise(log->fd, 0, 0, POSIX_FADV_DONTNEED);
    pthread_mutex_unlock(&log->lock);
    logtable_release(&f->logs, log);
}

/* A read: from which element, at which position, and for which callback. */
struct span {
    uint64_t from;
    uint64_t at;
    store_element_fn *fn;
    void *arg;
};

static int read_opened(struct logfile *log, const struct span *what, struct store_tail *ret)
{
    if (what->at != 0)
        return logfile_read_at(log, what->from, what->at, what->fn, what->arg, ret);
    pthread_mutex_lock(&log->lock);
    int r = logfile_read(log, what->from, what->fn, what->arg, ret);
    pthread_mutex_unlock(&log->lock);
    return r;
}

/* Another process may write meanwhile, so nothing is remembered from read to read. A log that looks
 * damaged may have been removed meanwhile, and its file recycled. */
static int read_only(struct file *f, struct str name, const struct span *what,
                     struct store_tail *ret)
{
    char path[PATH_MAX];
    struct logfile *log;
    struct stat opened;
    struct stat now;
    datadir_log_path(f->dir, name, path);
    int r = logfile_new(name, strdup(path), &log);
    if (r < 0)
        return r;
    r = logfile_open(log, true);
    if (r == 0)
        r = read_opened(log, what, ret);
    if (r == BELFRY_CORRUPT && log->fd >= 0 && fstat(log->fd, &opened) == 0 &&
        (stat(path, &now) < 0 || now.st_ino != opened.st_ino))
        r = store_fail(BELFRY_NOTFOUND, "%s: removed while it was read", path);
    logfile_free(log);
    return r;
}

static int open_for_reading(struct logfile *log)
{
    if (log->fd >= 0)
        return 0;
    pthread_mutex_lock(&log->lock);
    int r = open_log(log);
    pthread_mutex_unlock(&log->lock);
    return r;
}

static int read_log(struct store *s, struct str name, uint64_t from, uint64_t at,
                    store_element_fn *fn, void *arg, struct store_tail *ret)
{
    struct file *f = (struct file *)s;
    struct span what = { from, at, fn, arg };
    struct logfile *log;
    int r = store_check_log(name);
    if (r < 0)
        return r;
    if (f->read_only)
        return read_only(f, name, &what, ret);
    r = logtable_acquire(&f->logs, f->dir, name, &log);
    if (r < 0)
        return r;
    r = open_for_reading(log);
    if (r == 0)
        r = read_opened(log, &what, ret);
    /* The file may have become another log, whose bytes look like damage. */
    if ((r == BELFRY_CORRUPT || r == BELFRY_IO) && log->gone)
        r = store_fail(BELFRY_NOTFOUND, "%s: removed while it was read", log->path);
    logtable_release(&f->logs, log);
    return r;
}

static int list(struct store *s, struct str prefix, store_name_fn *fn, void *arg)
{
    struct file *f = (struct file *)s;
    struct names names = { 0 };
    int r = datadir_list(f->dir, prefix, &names);
    if (r == 0) {
        names_sort(&names);
        r = names_each(&names, fn, arg);
    }
    names_fini(&names);
    return r;
}

static int remove_file(struct file *f, const char *path)
{
    uint64_t number;
    bool moved = spares_receive(&f->spares, path, &number);
    if (!moved && unlink(path) < 0 && errno != ENOENT)
        return disk_fail(-errno, path, "remove");
    if (moved && STORE_MUTANT(f->disk.mutant, OFFERED_EARLY)) {
        spares_offer(&f->spares, number);
        moved = false;
    }
    bool skip = STORE_MUTANT(f->disk.mutant, REMOVAL_UNSYNCED);
    int r = skip ? 0 : disk_sync_parent(&f->disk, path);
    if (r < 0 && r != -ENOENT) {
        disk_fail(r, path, "sync directory");
        return BELFRY_IO;
    }
    if (moved)
        spares_offer(&f->spares, number);
    return 0;
}

static int remove_log(struct store *s, struct str name)
{
    struct file *f = (struct file *)s;
    struct logfile *log;
    int r = enter(f, store_check_log(name), name, &log);
    if (r < 0)
        return r;
    logtable_bar(&f->logs, log); /* Its file can become another log's after this. */
    r = remove_file(f, log->path);
    logtable_free_name(&f->logs, log);
    leave(f, log);
    return r;
}

/* With cas_lock held. */
static int sync_cells(struct file *f)
{
    bool skip = STORE_MUTANT(f->disk.mutant, CELL_UNSYNCED);
    int r = skip ? 0 : disk_sync_dir(&f->disk, f->cells_dir);
    atomic_store(&f->in_doubt, r < 0);
    return r < 0 ? disk_fail(r, f->cells_dir, "sync directory") : 0;
}

/* Syncs the directory of cells if the last sync failed. So a reader sees only cells that a loss of
 * power does not change. */
static int end_doubt(struct file *f)
{
    if (!atomic_load(&f->in_doubt) || STORE_MUTANT(f->disk.mutant, DOUBT_SHOWN))
        return 0;
    pthread_mutex_lock(&f->cas_lock);
    int r = sync_cells(f);
    pthread_mutex_unlock(&f->cas_lock);
    return r;
}

static int scan(struct store *s, struct str prefix, store_cell_fn *fn, void *arg)
{
    struct file *f = (struct file *)s;
    struct cellset loaded = { 0 };
    struct cellset found = { 0 };
    int r = f->read_only ? cellfile_load(f->cells_dir, false, &loaded) : end_doubt(f);
    pthread_rwlock_rdlock(&f->fence);
    if (r == 0)
        r = cellset_copy(f->read_only ? &loaded : &f->cells, prefix, time_wall_ms(), &found);
    pthread_rwlock_unlock(&f->fence);
    if (r == 0)
        r = cellset_each(&found, fn, arg);
    cellset_fini(&loaded);
    cellset_fini(&found);
    return r;
}

/* A cell is small, and an epoch must rise even if the disk is full: a spare makes room. */
static int write_cell(struct file *f, const struct store_cell *cell)
{
    int r = cellfile_write(&f->disk, f->cells_dir, cell);
    if (r != BELFRY_FULL)
        return r;
    spares_lend(&f->spares);
    do
        r = cellfile_write(&f->disk, f->cells_dir, cell);
    while (r == BELFRY_FULL && spares_drop(&f->spares));
    spares_return(&f->spares);
    return r;
}

/* With cas_lock held: no other thread changes cells, and reading them needs no lock. */
static int cas_locked(struct file *f, const struct store_cas *c)
{
    struct store_cell cell = { c->name, c->value, c->next, c->expires_ms };
    struct store_cell *copy;
    int r = cellset_check(&f->cells, c->name, time_wall_ms(), c->expect, BELFRY_CONFLICT);
    if (r == 0)
        r = write_cell(f, &cell);
    if (r < 0)
        return r;
    pthread_rwlock_wrlock(&f->fence);
    r = cellset_prepare(&f->cells, &cell, &copy);
    if (r == 0) {
        r = cellfile_place(f->cells_dir, c->name);
        if (r == 0)
            cellset_put(&f->cells, copy);
        else
            free(copy);
    }
    pthread_rwlock_unlock(&f->fence);
    if (r < 0)
        return r;
    return sync_cells(f) < 0 ? BELFRY_INDOUBT : 0;
}

static int cas(struct store *s, const struct store_cas *c)
{
    struct file *f = (struct file *)s;
    int r = store_check_cas(c);
    if (r == 0)
        r = refuse_write(f);
    if (r < 0)
        return r;
    pthread_mutex_lock(&f->cas_lock);
    r = cas_locked(f, c);
    pthread_mutex_unlock(&f->cas_lock);
    return r;
}

static unsigned count_spares(struct store *s)
{
    struct file *f = (struct file *)s;
    return f->read_only ? 0 : spares_count(&f->spares);
}

static void free_file(struct file *f)
{
    logtable_fini(&f->logs);
    cellset_fini(&f->cells);
    pthread_rwlock_destroy(&f->fence);
    pthread_mutex_destroy(&f->cas_lock);
    if (f->lock >= 0)
        close(f->lock);
    free(f->cells_dir);
    free(f->dir);
    free(f);
}

static void close_file(struct store *s)
{
    struct file *f = (struct file *)s;
    if (!f->read_only)
        spares_fini(&f->spares);
    free_file(f);
}

static const struct store_ops file_ops = {
    .close = close_file,
    .append = append,
    .sync = sync_log,
    .cool = cool_log,
    .read = read_log,
    .list = list,
    .remove = remove_log,
    .scan = scan,
    .cas = cas,
    .spares = count_spares,
    .now_ms = now_ms,
};

static struct file *new_file(const char *dir, const struct store_options *o)
{
    pthread_rwlockattr_t attr;
    struct file *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->base.ops = &file_ops;
    f->lock = -1;
    f->read_only = o->read_only;
    disk_init(&f->disk, o->sync_delay_us);
    f->disk.mutant = o->mutant;
    logtable_init(&f->logs);
    pthread_mutex_init(&f->cas_lock, NULL);
    pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__
    /* Else a stream of appends could delay a new epoch for ever. Other libraries have no such
     * choice. There, the epoch comes when no append is under way. */
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&f->fence, &attr);
    pthread_rwlockattr_destroy(&attr);
    f->dir = strdup(dir);
    if (asprintf(&f->cells_dir, "%s/records", dir) < 0)
        f->cells_dir = NULL;
    if (!f->dir || !f->cells_dir) {
        free_file(f);
        return NULL;
    }
    return f;
}

static int start_spares(struct file *f, uint64_t bytes, unsigned reserve)
{
    char dir[PATH_MAX];
    struct inodes logs = { 0 };
    /* A segment ends at most an eighth behind its expected size. Spares are whole pages. */
    bytes = (bytes + bytes / 8 + LOG_START + 4095) & ~UINT64_C(4095);
    struct spares_options o = { dir, bytes, reserve, &f->base.low, &logs };
    snprintf(dir, sizeof dir, "%s/spare", f->dir);
    int r = datadir_settle(&f->disk, f->dir, &logs);
    if (r == 0)
        r = spares_init(&f->spares, &f->disk, &o);
    inodes_fini(&logs);
    return r;
}

static int start(struct file *f, const struct store_options *o)
{
    uint64_t bytes = o->log_bytes ? o->log_bytes : LOG_BYTES;
    unsigned reserve = o->reserve ? o->reserve : RESERVE;
    if (bytes > LOG_BYTES_MAX || reserve > RESERVE_MAX)
        return store_fail(BELFRY_INVALID, "%s: logs of %llu bytes and a reserve of %u", f->dir,
                          (unsigned long long)bytes, reserve);
    int r = datadir_open(&f->disk, f->dir, &f->lock);
    if (r == 0)
        r = cellfile_load(f->cells_dir, true, &f->cells);
    return r < 0 ? r : start_spares(f, bytes, reserve);
}

int file_open(const char *dir, const struct store_options *o, struct store **ret)
{
    struct file *f = new_file(dir, o);
    if (!f)
        return store_fail(BELFRY_NOMEM, "%s: no memory", dir);
    int r = o->read_only ? datadir_check(dir) : start(f, o);
    if (r < 0) {
        free_file(f);
        return r;
    }
    *ret = &f->base;
    return 0;
}

void file_set_hooks(struct store *s, const struct disk_hooks *hooks)
{
    assert(s->ops == &file_ops);
    atomic_store(&((struct file *)s)->disk.hooks, hooks);
}
