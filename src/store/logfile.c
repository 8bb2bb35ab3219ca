/* SPDX-License-Identifier: MIT */
#include "store/logfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/mutant.h"

#define BEGIN_BYTES (2u << 20)

static char zeros[8 + ELEMENT_HEADER]; /* not const: iovec has no const */

int logfile_new(struct str name, char *path, struct logfile **ret)
{
    struct logfile *f = path ? calloc(1, sizeof(*f)) : NULL;
    if (!f) {
        free(path);
        return store_fail(BELFRY_NOMEM, "%.*s: no memory", STR_ARG(name));
    }
    assert(name.len <= STORE_NAME_MAX);
    memcpy(f->name_bytes, name.ptr, name.len);
    f->name = (struct str){ f->name_bytes, name.len };
    f->path = path;
    f->fd = -1;
    pthread_mutex_init(&f->lock, NULL);
    list_init(&f->node);
    *ret = f;
    return 0;
}

void logfile_free(struct logfile *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    pthread_mutex_destroy(&f->lock);
    free(f->path);
    free(f);
}

static int check_header(struct logfile *f, int fd)
{
    char header[LOG_HEADER];
    char copy[LOG_HEADER];
    struct log_key unused;
    ssize_t n = disk_read(fd, header, sizeof header, 0);
    if (n < 0)
        return disk_fail((int)n, f->path, "read");
    const char *wrong =
        n == LOG_HEADER ? log_header_decode(header, f->name, &f->key) : "too short to be a log";
    if (!wrong)
        return 0;
    bool copied = disk_read(fd, copy, sizeof copy, LOG_COPY) == LOG_HEADER &&
                  !log_header_decode(copy, f->name, &unused);
    return store_fail(BELFRY_CORRUPT, "%s: offset 0: %s%s", f->path, wrong,
                      copied ? " (its copy is whole: repair can restore it)" : "");
}

int logfile_open(struct logfile *f, bool read_only)
{
    int fd = open(f->path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return store_fail(BELFRY_NOTFOUND, "%s: no such log", f->path);
    if (fd < 0)
        return disk_fail(-errno, f->path, "open");
    int r = check_header(f, fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    f->inherited = true;
    f->durable = LOG_START;
    f->fd = fd; /* last: other threads look at it */
    return 0;
}

/* The parts of an element with its terminator, to be written in one go. */
static void lay_out(struct iovec iov[3], char head[ELEMENT_HEADER], struct str body)
{
    iov[0] = (struct iovec){ head, ELEMENT_HEADER };
    iov[1] = (struct iovec){ .iov_len = body.len };
    memcpy(&iov[1].iov_base, &body.ptr, sizeof body.ptr); /* iovec has no const */
    iov[2] = (struct iovec){ zeros, (size_t)element_span(body.len) - body.len };
}

int logfile_create(struct logfile *f, struct disk *d, int fd, const char *beside,
                   struct str element)
{
    char header[LOG_START];
    char head[ELEMENT_HEADER];
    struct iovec iov[4] = { { header, sizeof header }, { zeros, ELEMENT_HEADER } };
    int count = 2;
    log_key_new(f->name, &f->key);
    if (STORE_MUTANT(d->mutant, SALT_KEPT))
        log_key_set(&f->key, f->key.name_hash, f->key.name_hash);
    log_header_encode(&f->key, header);
    if (element.len > 0) {
        element_seal(&f->key, 0, LOG_START, true, element, head);
        lay_out(iov + 1, head, element);
        count = 4;
    }
    /* The sync precedes the name, durable or not: a file with a log's name has a header. */
    int r = disk_write(d, fd, iov, count, 0);
    if (r == 0 && !STORE_MUTANT(d->mutant, NAME_FIRST))
        r = disk_sync(d, fd);
    if (r < 0)
        return disk_fail(r, beside, "write");
    f->fd = fd;
    f->end = LOG_START + (element.len > 0 ? element_span(element.len) : 0);
    f->next = element.len > 0;
    f->durable = f->end;
    f->ended = true;
    return 0;
}

/* After a failed write or sync the log refuses appends, also if the disk is merely full. */
static int logfile_poison(struct logfile *f, int err, const char *what)
{
    f->poisoned = true;
    disk_fail(err, f->path, what);
    return BELFRY_IO;
}

int logfile_place(struct logfile *f, struct disk *d, const char *beside, bool durable)
{
    if (rename(beside, f->path) < 0)
        return disk_fail(-errno, f->path, "rename");
    f->unplaced = true;
    if (!durable || STORE_MUTANT(d->mutant, PLACE_UNSYNCED))
        return 0;
    int r = disk_sync_parent(d, f->path);
    if (r < 0)
        return logfile_poison(f, r, "sync directory");
    f->unplaced = false;
    return 0;
}

/* The disk became full in the midst of an element: nothing of it may remain. */
static int undo(struct logfile *f, struct disk *d, int err)
{
    int r = disk_write_bytes(d, f->fd, zeros, ELEMENT_HEADER, f->end);
    struct stat st;
    if (r == 0 && fstat(f->fd, &st) == 0 && (uint64_t)st.st_size > f->size &&
        ftruncate(f->fd, (off_t)f->size) < 0)
        r = -errno;
    if (r == 0)
        return disk_fail(err, f->path, "append");
    return logfile_poison(f, r, "undo an append to a full disk");
}

/* The size is asked for once, not at every append. After an fstat, a file system with fine
 * timestamps changes the inode at the next write, and the sync has one block more to write. */
static int learn_size(struct logfile *f)
{
    struct stat st;
    if (f->size > 0)
        return 0;
    if (fstat(f->fd, &st) < 0)
        return disk_fail(-errno, f->path, "stat");
    f->size = (uint64_t)st.st_size;
    return 0;
}

static int write_element(struct logfile *f, struct disk *d, const struct store_append *a)
{
    char head[ELEMENT_HEADER];
    struct iovec iov[3];
    uint64_t end = f->end + element_span(a->element.len) + ELEMENT_HEADER;
    if (learn_size(f) < 0)
        return BELFRY_IO;
    bool firm = f->durable == f->end || STORE_MUTANT(d->mutant, ALWAYS_FIRM);
    element_seal(&f->key, a->seq, f->end, firm, a->element, head);
    lay_out(iov, head, a->element);
    int r = disk_write(d, f->fd, iov, 3, f->end);
    if (disk_is_full(r))
        return undo(f, d, r);
    if (r < 0)
        return logfile_poison(f, r, "append");
    if (f->size < end)
        f->size = end;
    return 0;
}

/* Syncs the data and, if it is new, the directory entry. A failure poisons the log. */
static int make_durable(struct logfile *f, struct disk *d)
{
    int r = disk_sync(d, f->fd);
    if (r == 0 && f->unplaced)
        r = disk_sync_parent(d, f->path);
    if (r < 0)
        return logfile_poison(f, r, "sync");
    f->unplaced = false;
    return 0;
}

/* Brings the log to a state in which an element may be written at its end. */
static int prepare_append(struct logfile *f, struct disk *d)
{
    int r = f->ended ? 0 : logfile_read(f, UINT64_MAX, NULL, NULL, NULL);
    if (r < 0)
        return r;
    if ((f->poisoned && !STORE_MUTANT(d->mutant, FSYNC_FORGIVEN)) || f->torn)
        return store_fail(BELFRY_IO, "%s: offset %llu: %s; it must be synced first", f->path,
                          (unsigned long long)f->end,
                          f->torn ? "a half-written element" : "an earlier write failed");
    return f->inherited ? logfile_sync(f, d) : 0;
}

/* Begins to write back a part of a bulk write early. If all of it were left for the sync at the
 * end, that sync would keep other logs from the disk for long. */
static void begin_write(struct logfile *f)
{
    uint64_t from = f->begun > f->durable ? f->begun : f->durable;
    if (f->end < from + BEGIN_BYTES)
        return;
    disk_begin_write(f->fd, from, f->end - from);
    f->begun = f->end;
}

int logfile_append(struct logfile *f, struct disk *d, const struct store_append *a)
{
    int r = prepare_append(f, d);
    if (r < 0)
        return r;
    if (a->seq != f->next)
        return store_fail(BELFRY_CONFLICT, "%s: is at %llu, not %llu", f->path,
                          (unsigned long long)f->next, (unsigned long long)a->seq);
    r = write_element(f, d, a);
    if (r == 0 && a->durable)
        r = make_durable(f, d);
    if (r < 0)
        return r;
    if (a->ret_at)
        *a->ret_at = f->end;
    f->end += element_span(a->element.len);
    f->next++;
    if (a->durable)
        f->durable = f->end;
    else
        begin_write(f);
    return 0;
}

#define REWRITE_BYTES (1u << 20)

static int rewrite(struct logfile *f, struct disk *d, uint64_t from)
{
    char *piece = malloc(REWRITE_BYTES);
    int r = piece ? 0 : -ENOMEM;
    while (r == 0 && from < f->end) {
        size_t want = f->end - from < REWRITE_BYTES ? (size_t)(f->end - from) : REWRITE_BYTES;
        ssize_t n = disk_read(f->fd, piece, want, from);
        if (n != (ssize_t)want)
            r = n < 0 ? (int)n : -EIO;
        else
            r = disk_write_bytes(d, f->fd, piece, want, from);
        from += want;
    }
    free(piece);
    return r;
}

/*
 * After a failed sync the kernel may have dropped data while it counts the pages as clean. Then the
 * next sync succeeds and writes nothing. This may also have happened to an earlier process. So
 * everything behind the last place known to be durable is written again; the caller has just
 * scanned it. A torn tail is cut off, not just terminated. Otherwise whole elements in it could fit
 * behind later elements again.
 */
static int restore(struct logfile *f, struct disk *d)
{
    int r = 0;
    f->size = 0; /* The size may change. */
    if (f->torn && !STORE_MUTANT(d->mutant, TORN_KEPT) && ftruncate(f->fd, (off_t)f->end) < 0)
        r = -errno;
    if (r == 0 && !STORE_MUTANT(d->mutant, RESTORE_SKIPPED))
        r = rewrite(f, d, f->durable);
    if (r == 0)
        r = disk_write_bytes(d, f->fd, zeros, ELEMENT_HEADER, f->end);
    if (r == 0)
        return 0;
    f->poisoned = true;
    return disk_fail(r, f->path, "write again");
}

int logfile_sync(struct logfile *f, struct disk *d)
{
    int r = 0;
    bool doubtful = f->inherited || f->poisoned;
    assert(f->fd >= 0);
    if (!f->ended || f->poisoned) {
        f->mark_count = 0;
        memset(f->cursors, 0, sizeof f->cursors);
        r = logfile_read(f, UINT64_MAX, NULL, NULL, NULL);
    }
    if (r == 0 && doubtful) {
        f->unplaced = true; /* Its directory entry may not be durable either. */
        r = restore(f, d);
    }
    if (r == 0 && (doubtful || f->unplaced || f->durable < f->end))
        r = make_durable(f, d);
    if (r < 0)
        return r;
    f->durable = f->end;
    f->torn = f->inherited = f->poisoned = false;
    return 0;
}

bool logfile_settled(const struct logfile *f)
{
    return !f->poisoned && !f->unplaced && (!f->ended || f->inherited || f->durable == f->end);
}
