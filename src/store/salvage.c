/* SPDX-License-Identifier: MIT */
#include "store/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/datadir.h"
#include "store/logfile.h"

struct walk {
    const char *path;
    struct window window;
    struct log_key key;
    store_element_fn *fn;
    store_damage_fn *damaged;
    void *arg;
};

static int tell_damage(const struct walk *w, uint64_t offset, uint64_t bytes, const char *what)
{
    return w->damaged ? w->damaged(w->arg, offset, bytes, what) : 0;
}

static int read_key(struct walk *w, struct str log)
{
    char header[LOG_HEADER];
    if (disk_read(w->window.fd, header, sizeof header, 0) == LOG_HEADER &&
        !log_header_decode(header, log, &w->key))
        return 0;
    if (disk_read(w->window.fd, header, sizeof header, LOG_COPY) == LOG_HEADER &&
        !log_header_decode(header, log, &w->key))
        return tell_damage(w, 0, LOG_HEADER, "header damaged, its copy is whole");
    int r = tell_damage(w, 0, w->window.size, "header and its copy damaged");
    if (r != 0)
        return r;
    return store_fail(BELFRY_CORRUPT, "%s: offset 0: header and its copy are damaged", w->path);
}

/* Reports the damage at `at`, and moves `at` behind it. Sets *ret_done at the end of the log. */
static int skip_damage(struct walk *w, int kind, struct element *at, bool *ret_done)
{
    struct element found;
    int r = element_search(&w->window, &w->key, at->offset + 8, at->seq, &found);
    if (r < 0)
        return disk_fail(r, w->path, "read");
    if (r > 0) {
        r = tell_damage(w, at->offset, found.offset - at->offset,
                        kind == ELEMENT_BAD ? "checksum does not match"
                                            : "zeros in place of an element");
        at->offset = found.offset;
        at->seq = found.seq;
        return r;
    }
    *ret_done = true;
    if (kind != ELEMENT_BAD)
        return 0;
    return tell_damage(w, at->offset, at->span, "half-written or damaged, at the end");
}

static int walk_elements(struct walk *w)
{
    struct element e = { .offset = LOG_START };
    bool done = false;
    int r = 0;
    while (r == 0 && !done) {
        int kind = element_at(&w->window, &w->key, e.offset, e.seq, &e);
        if (kind < 0)
            return disk_fail(kind, w->path, "read");
        if (kind != ELEMENT_WHOLE) {
            r = skip_damage(w, kind, &e, &done);
            continue;
        }
        r = w->fn(w->arg, e.seq, e.body);
        e.offset += e.span;
        e.seq++;
    }
    return r;
}

int store_salvage(const char *dir, struct str log, store_element_fn *fn, store_damage_fn *damaged,
                  void *arg)
{
    char path[PATH_MAX];
    struct walk w = { .path = path, .fn = fn, .damaged = damaged, .arg = arg };
    int r = store_check_log(log);
    if (r == 0)
        r = datadir_check(dir);
    if (r < 0)
        return r;
    datadir_log_path(dir, log, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return store_fail(BELFRY_NOTFOUND, "%s: no such log", path);
    r = fd < 0 ? -errno : window_init(&w.window, fd);
    if (r < 0) {
        r = disk_fail(r, path, "open");
    } else {
        r = read_key(&w, log);
        if (r == 0)
            r = walk_elements(&w);
        window_fini(&w.window);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

struct salvage {
    struct disk disk;
    int lock;
    struct logfile *file;
    char *dir;
    char beside[PATH_MAX]; /* "" once it is in its place */
};

static int begin(struct salvage *s, struct str log)
{
    char path[PATH_MAX];
    int r = datadir_check(s->dir); /* first: datadir_open would make a directory */
    if (r == 0)
        r = datadir_open(&s->disk, s->dir, &s->lock);
    if (r < 0)
        return r;
    datadir_log_path(s->dir, log, path);
    if (access(path, F_OK) < 0)
        return store_fail(BELFRY_NOTFOUND, "%s: no such log", path);
    r = logfile_new(log, strdup(path), &s->file);
    if (r < 0)
        return r;
    /* The next start sweeps a file of such a name away, if this process crashes. */
    snprintf(s->beside, sizeof s->beside, "%s/spare/repair", s->dir);
    int fd = disk_create(s->beside);
    if (fd < 0)
        return disk_fail(fd, s->beside, "create");
    r = logfile_create(s->file, &s->disk, fd, s->beside, (struct str){ 0 });
    if (r < 0)
        close(fd);
    return r;
}

int salvage_new(const char *dir, struct str log, struct salvage **ret)
{
    int r = store_check_log(log);
    if (r < 0)
        return r;
    struct salvage *s = calloc(1, sizeof(*s));
    if (!s || !(s->dir = strdup(dir))) {
        free(s);
        return store_fail(BELFRY_NOMEM, "%s: no memory", dir);
    }
    disk_init(&s->disk, 0);
    s->lock = -1;
    r = begin(s, log);
    if (r < 0) {
        salvage_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

int salvage_put(struct salvage *s, struct str element)
{
    struct store_append a = { .log = s->file->name, .element = element, .seq = s->file->next };
    if (element.len == 0 || element.len > STORE_ELEMENT_MAX)
        return store_fail(BELFRY_INVALID, "an element of %zu bytes", element.len);
    return logfile_append(s->file, &s->disk, &a);
}

/* Gives the damaged file a second name, so that the log's own can be replaced in one step. */
static int keep_old(struct salvage *s, char kept[PATH_MAX])
{
    int r = -1;
    for (unsigned n = 1; r < 0; n++) {
        int len = snprintf(kept, PATH_MAX, "%s/damaged/%s.%u", s->dir, s->file->name_bytes, n);
        for (char *c = kept + strlen(s->dir) + strlen("/damaged/"); c < kept + len; c++) {
            if (*c == '/')
                *c = '+';
        }
        if (n == 1 && (r = disk_make_parent(&s->disk, kept)) < 0)
            return disk_fail(r, kept, "create directory");
        r = link(s->file->path, kept);
        if (r < 0 && errno != EEXIST)
            return disk_fail(-errno, kept, "link");
    }
    r = disk_sync_parent(&s->disk, kept);
    return r < 0 ? disk_fail(r, kept, "sync directory") : 0;
}

int salvage_commit(struct salvage *s, char *ret_kept)
{
    char kept[PATH_MAX];
    int r = logfile_sync(s->file, &s->disk);
    if (r == 0)
        r = keep_old(s, kept);
    if (r == 0)
        r = logfile_place(s->file, &s->disk, s->beside, true);
    if (r < 0)
        return r;
    s->beside[0] = '\0';
    if (ret_kept)
        memcpy(ret_kept, kept, sizeof kept);
    return 0;
}

void salvage_free(struct salvage *s)
{
    if (!s)
        return;
    if (s->beside[0] != '\0')
        unlink(s->beside);
    logfile_free(s->file);
    if (s->lock >= 0)
        close(s->lock);
    free(s->dir);
    free(s);
}
