/* SPDX-License-Identifier: MIT */
#include "power/calls.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "power/turns.h"

#define FIRST_FD 100000
#define FDS_MAX  4096
#define DEVICE   4711
#define UNIT     512

int64_t calls_now_ms = CALLS_START_MS;

static struct calls drive;
static struct open_file {
    struct platter *platter;
    struct node *node; /* NULL: closed */
} files[FDS_MAX];

const char *call_text(enum call_kind kind)
{
    static const char *const texts[] = {
#define CALL_TEXT(name, text) text,
        CALLS(CALL_TEXT)
#undef CALL_TEXT
    };
    return texts[kind];
}

struct calls calls_insert(struct calls c)
{
    struct calls before = drive;
    drive = c;
    return before;
}

struct platter *calls_platter(void)
{
    return drive.platter;
}

static bool is_ours(const char *path)
{
    size_t n = strlen(PLATTER_ROOT);
    return strncmp(path, PLATTER_ROOT, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static struct open_file *file_of(int fd)
{
    if (fd < FIRST_FD || fd >= FIRST_FD + FDS_MAX)
        return NULL;
    assert(files[fd - FIRST_FD].node);
    return &files[fd - FIRST_FD];
}

static int answer(long r)
{
    if (r >= 0)
        return (int)r;
    errno = (int)-r;
    return -1;
}

/* 0, or what the call fails with. */
static int begin(struct call *c)
{
    turns_offer();
    if (drive.watch && !drive.platter->dead)
        drive.watch(drive.arg, c, false);
    if (drive.platter->dead && !c->partly)
        return -EIO;
    return c->partly ? 0 : -c->errnum;
}

static int end(struct call *c, long r)
{
    if (r >= 0 && drive.watch && !drive.platter->dead)
        drive.watch(drive.arg, c, true);
    return answer(r);
}

/* ---- Files ---- */

static int new_fd(struct node *n)
{
    for (int i = 0; i < FDS_MAX; i++) {
        if (!files[i].node) {
            files[i] = (struct open_file){ drive.platter, n };
            n->opened++;
            return FIRST_FD + i;
        }
    }
    return -EMFILE;
}

static long open_node(const char *path, int flags)
{
    struct node *n = platter_find(drive.platter, path);
    int r = n ? 0 : -ENOENT;
    if (n && flags & O_CREAT && flags & O_EXCL)
        r = -EEXIST;
    else if (!n && flags & O_CREAT)
        r = platter_create(drive.platter, path, false, &n);
    else if (n && flags & O_DIRECTORY && !n->dir)
        r = -ENOTDIR;
    if (r == 0 && flags & O_TRUNC)
        r = platter_resize(drive.platter, n, 0);
    return r < 0 ? r : new_fd(n);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!is_ours(path))
        return __real_open(path, flags, mode);
    struct call c = { .kind = flags & O_CREAT ? CALL_CREATE : CALL_OPEN, .path = path };
    int r = begin(&c);
    return end(&c, r < 0 ? r : open_node(path, flags));
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    struct open_file *f = file_of(fd);
    if (!f)
        return __real_close(fd);
    f->node->opened--;
    f->node = NULL;
    return 0;
}

ssize_t __real_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset)
{
    struct open_file *f = file_of(fd);
    if (!f)
        return __real_pread(fd, buf, len, offset);
    struct call c = { .kind = CALL_READ, .len = len };
    int r = begin(&c);
    if (r < 0)
        return answer(r);
    uint64_t at = (uint64_t)offset;
    uint64_t left = at < f->node->size ? f->node->size - at : 0;
    size_t n = c.len < left ? c.len : (size_t)left;
    if (n > 0)
        memcpy(buf, f->node->now + at, n);
    return (ssize_t)n;
}

static ssize_t write_bytes(struct open_file *f, const char *bytes, size_t len, off_t offset)
{
    struct call c = { .kind = CALL_WRITE, .len = len };
    int r = begin(&c);
    if (r < 0)
        return answer(r);
    long n = c.len > 0 ? platter_write(f->platter, f->node, bytes, c.len, (uint64_t)offset) : 0;
    if (c.partly)
        return answer(-c.errnum);
    return end(&c, n);
}

ssize_t __real_pwritev(int fd, const struct iovec *iov, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    struct open_file *f = file_of(fd);
    if (!f)
        return __real_pwritev(fd, iov, count, offset);
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += iov[i].iov_len;
    char *bytes = malloc(len + 1);
    char *at = bytes;
    assert(bytes);
    for (int i = 0; i < count; i++) {
        memcpy(at, iov[i].iov_base, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    ssize_t n = write_bytes(f, bytes, len, offset);
    free(bytes);
    return n;
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    struct open_file *f = file_of(fd);
    return f ? write_bytes(f, bytes, len, offset) : __real_pwrite(fd, bytes, len, offset);
}

static int resize(struct open_file *f, uint64_t size)
{
    struct call c = { .kind = CALL_RESIZE };
    int r = begin(&c);
    return end(&c, r < 0 ? r : platter_resize(f->platter, f->node, size));
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
    struct open_file *f = file_of(fd);
    return f ? resize(f, (uint64_t)size) : __real_ftruncate(fd, size);
}

int __real_fallocate(int fd, int mode, off_t offset, off_t len);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len)
{
    struct open_file *f = file_of(fd);
    if (!f)
        return __real_fallocate(fd, mode, offset, len);
    assert(mode == 0 && offset == 0);
    return (uint64_t)len <= f->node->size ? 0 : resize(f, (uint64_t)len);
}

static int sync_file(struct open_file *f)
{
    struct call c = { .kind = f->node->dir ? CALL_SYNC_DIR : CALL_SYNC };
    int r = begin(&c);
    if (r == 0)
        platter_sync(f->node);
    else if (!f->platter->dead)
        platter_sync_badly(f->node, drive.rng);
    return end(&c, r);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    struct open_file *f = file_of(fd);
    return f ? sync_file(f) : __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct open_file *f = file_of(fd);
    return f ? sync_file(f) : __real_fsync(fd);
}

int __real_sync_file_range(int fd, off_t offset, off_t len, unsigned flags);
int __wrap_sync_file_range(int fd, off_t offset, off_t len, unsigned flags);
int __wrap_sync_file_range(int fd, off_t offset, off_t len, unsigned flags)
{
    return file_of(fd) ? 0 : __real_sync_file_range(fd, offset, len, flags);
}

int __real_posix_fadvise(int fd, off_t offset, off_t len, int advice);
int __wrap_posix_fadvise(int fd, off_t offset, off_t len, int advice);
int __wrap_posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
    return file_of(fd) ? 0 : __real_posix_fadvise(fd, offset, len, advice);
}

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
    return file_of(fd) ? 0 : __real_flock(fd, how);
}

/* Holes are as long as they look. */
off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    struct open_file *f = file_of(fd);
    if (!f)
        return __real_lseek(fd, offset, whence);
    assert(whence == SEEK_DATA);
    uint64_t at = (uint64_t)offset;
    while (at < f->node->size && f->node->now[at] == '\0')
        at++;
    if (at >= f->node->size)
        return answer(-ENXIO);
    return (off_t)(at - at % UNIT > (uint64_t)offset ? at - at % UNIT : (uint64_t)offset);
}

/* ---- Names ---- */

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    if (!is_ours(from))
        return __real_rename(from, to);
    struct call c = { .kind = CALL_RENAME, .path = from };
    int r = begin(&c);
    return end(&c, r < 0 ? r : platter_rename(drive.platter, from, to));
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    if (!is_ours(path))
        return __real_unlink(path);
    struct call c = { .kind = CALL_UNLINK, .path = path };
    int r = begin(&c);
    return end(&c, r < 0 ? r : platter_unlink(drive.platter, path));
}

int __real_link(const char *path, const char *second);
int __wrap_link(const char *path, const char *second);
int __wrap_link(const char *path, const char *second)
{
    if (!is_ours(path))
        return __real_link(path, second);
    struct call c = { .kind = CALL_LINK, .path = path };
    int r = begin(&c);
    return end(&c, r < 0 ? r : platter_link(drive.platter, path, second));
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    struct node *n;
    if (!is_ours(path))
        return __real_mkdir(path, mode);
    struct call c = { .kind = CALL_MKDIR, .path = path };
    int r = begin(&c);
    return end(&c, r < 0 ? r : platter_create(drive.platter, path, true, &n));
}

static int fill_stat(const struct node *n, struct stat *ret)
{
    if (!n)
        return answer(-ENOENT);
    *ret = (struct stat){ .st_dev = DEVICE,
                          .st_ino = n->ino,
                          .st_nlink = n->links,
                          .st_mode = n->dir ? S_IFDIR | 0700 : S_IFREG | 0600,
                          .st_size = (off_t)n->size };
    return 0;
}

int __real_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret)
{
    return is_ours(path) ? fill_stat(platter_find(drive.platter, path), ret)
                         : __real_stat(path, ret);
}

int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
    struct open_file *f = file_of(fd);
    return f ? fill_stat(f->node, ret) : __real_fstat(fd, ret);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    if (!is_ours(path))
        return __real_access(path, mode);
    return answer(platter_find(drive.platter, path) ? 0 : -ENOENT);
}

int __real_statvfs(const char *path, struct statvfs *ret);
int __wrap_statvfs(const char *path, struct statvfs *ret);
int __wrap_statvfs(const char *path, struct statvfs *ret)
{
    if (!is_ours(path))
        return __real_statvfs(path, ret);
    const struct platter *p = drive.platter;
    uint64_t used = platter_used(p);
    uint64_t left = p->capacity == 0     ? UINT64_C(1) << 40
                    : p->capacity > used ? p->capacity - used
                                         : 0;
    *ret = (struct statvfs){ .f_frsize = 1, .f_bavail = left };
    return 0;
}

/* A directory being listed: the names that it had when it was opened. */
struct listing {
    char **names;
    size_t count;
    size_t next;
    struct dirent entry;
};

static struct listing *list_names(const struct node *n)
{
    struct listing *l = calloc(1, sizeof(*l));
    assert(l);
    l->names = calloc(n->names.count + 1, sizeof(*l->names));
    assert(l->names);
    for (; l->count < n->names.count; l->count++)
        l->names[l->count] = strdup(n->names.items[l->count].name);
    return l;
}

DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    struct call c = { .kind = CALL_LIST, .path = path };
    assert(is_ours(path));
    int r = begin(&c);
    struct node *n = r < 0 ? NULL : platter_find(drive.platter, path);
    if (r == 0 && !n)
        r = -ENOENT;
    else if (r == 0 && !n->dir)
        r = -ENOTDIR;
    return end(&c, r) < 0 ? NULL : (DIR *)list_names(n);
}

struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
    struct listing *l = (struct listing *)dir;
    if (l->next == l->count)
        return NULL;
    size_t len = strlen(l->names[l->next]);
    assert(len < sizeof l->entry.d_name);
    memcpy(l->entry.d_name, l->names[l->next++], len + 1);
    l->entry.d_type = DT_UNKNOWN;
    return &l->entry;
}

int __wrap_closedir(DIR *dir);
int __wrap_closedir(DIR *dir)
{
    struct listing *l = (struct listing *)dir;
    for (size_t i = 0; i < l->count; i++)
        free(l->names[i]);
    free(l->names);
    free(l);
    return 0;
}

/* ---- What else differs from run to run ---- */

ssize_t __real_getrandom(void *buf, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
    if (!drive.platter)
        return __real_getrandom(buf, len, flags);
    uint64_t n = rng_next(&drive.platter->salt);
    assert(len == sizeof n);
    memcpy(buf, &n, len);
    return (ssize_t)len;
}

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    if (!drive.platter)
        return __real_clock_gettime(id, ret);
    *ret = (struct timespec){ calls_now_ms / 1000, calls_now_ms % 1000 * 1000000 };
    return 0;
}
