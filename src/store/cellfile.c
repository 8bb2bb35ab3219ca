/* SPDX-License-Identifier: MIT */
#include "store/cellfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/wire.h"

#define RECORD_VERSION 1
#define RECORD_MAX     (64 + STORE_NAME_MAX + STORE_VALUE_MAX)
#define UNFINISHED     '~' /* ends the name of a file that is being written */

static const char magic[] = "BELFRYRC";

static void path_of(const char *dir, struct str name, const char *suffix, char ret[PATH_MAX])
{
    int n = snprintf(ret, PATH_MAX, "%s/%.*s%s", dir, STR_ARG(name), suffix);
    for (char *c = ret + strlen(dir) + 1; c < ret + n; c++) {
        if (*c == '/')
            *c = '+';
    }
}

static void encode(const struct store_cell *r, struct buf *b)
{
    buf_append(b, magic, 8);
    wire_put_u32(b, RECORD_VERSION);
    wire_put_u32(b, (uint32_t)r->name.len);
    wire_put_u32(b, (uint32_t)r->value.len);
    wire_put_u64(b, r->version);
    wire_put_u64(b, (uint64_t)r->expires_ms);
    buf_str(b, r->name);
    buf_str(b, r->value);
    if (!b->failed)
        wire_put_u64(b, XXH3_64bits(b->ptr, b->len));
}

/* NULL, or a sentence that names the mistake. */
static const char *decode(struct str bytes, struct store_cell *ret)
{
    struct wire_reader w = wire_reader_of(bytes);
    uint64_t sum;
    if (bytes.len < 44 || memcmp(bytes.ptr, magic, 8) != 0)
        return "not a record: it has no magic number";
    memcpy(&sum, bytes.ptr + bytes.len - 8, 8);
    if (sum != XXH3_64bits(bytes.ptr, bytes.len - 8))
        return "checksum does not match";
    wire_u64(&w);
    if (wire_u32(&w) != RECORD_VERSION)
        return "written by a newer version of Belfry";
    ret->name.len = wire_u32(&w);
    ret->value.len = wire_u32(&w);
    ret->version = wire_u64(&w);
    ret->expires_ms = (int64_t)wire_u64(&w);
    if (ret->name.len > STORE_NAME_MAX || ret->value.len > STORE_VALUE_MAX ||
        bytes.len != 44 + ret->name.len + ret->value.len)
        return "lengths do not match";
    ret->name.ptr = (const char *)w.p;
    ret->value.ptr = ret->name.ptr + ret->name.len;
    return NULL;
}

static int load_one(const char *path, struct cellset *ret)
{
    char bytes[RECORD_MAX + 1];
    struct store_cell cell;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : disk_fail(-errno, path, "open");
    ssize_t n = disk_read(fd, bytes, sizeof bytes, 0);
    close(fd);
    if (n < 0)
        return disk_fail((int)n, path, "read");
    const char *wrong = decode((struct str){ bytes, (size_t)n }, &cell);
    if (wrong)
        return store_fail(BELFRY_CORRUPT, "%s: offset 0: %s", path, wrong);
    return cellset_add(ret, &cell);
}

int cellfile_load(const char *dir, bool sweep, struct cellset *ret)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int r = 0;
    if (!d && errno == ENOENT) /* There are no cells, or none any more: the caller finds out. */
        return 0;
    if (!d)
        return disk_fail(-errno, dir, "open");
    while (r == 0 && (e = readdir(d))) {
        char path[PATH_MAX];
        if (disk_is_dots(e->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[strlen(e->d_name) - 1] != UNFINISHED)
            r = load_one(path, ret);
        else if (sweep)
            unlink(path);
    }
    closedir(d);
    return r;
}

int cellfile_write(struct disk *d, const char *dir, const struct store_cell *cell)
{
    struct buf b = { 0 };
    char path[PATH_MAX];
    path_of(dir, cell->name, "~", path);
    encode(cell, &b);
    if (b.failed)
        return store_fail(BELFRY_NOMEM, "%s: no memory", path);
    int r = disk_write_file(d, path, buf_view(&b));
    buf_fini(&b);
    return r < 0 ? disk_fail(r, path, "write") : 0;
}

int cellfile_place(const char *dir, struct str name)
{
    char from[PATH_MAX];
    char to[PATH_MAX];
    path_of(dir, name, "~", from);
    path_of(dir, name, "", to);
    return rename(from, to) < 0 ? disk_fail(-errno, to, "rename") : 0;
}
