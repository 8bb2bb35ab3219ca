/* SPDX-License-Identifier: MIT */
/* Reading a log's file, and telling a torn tail from damage: the reading half of logfile.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "store/logfile.h"

#define FIRST_STRIDE (64u << 10)

/* Notes that element `seq` begins at `offset`. */
static void mark(struct logfile *f, uint64_t seq, uint64_t offset)
{
    if (f->stride == 0)
        f->stride = FIRST_STRIDE;
    uint64_t last = f->mark_count > 0 ? f->marks[f->mark_count - 1].offset : LOG_START;
    if (offset < last + f->stride)
        return;
    if (f->mark_count == LOGFILE_MARKS) {
        for (unsigned i = 0; i < LOGFILE_MARKS / 2; i++)
            f->marks[i] = f->marks[2 * i + 1];
        f->mark_count = LOGFILE_MARKS / 2;
        f->stride *= 2;
    }
    f->marks[f->mark_count++] = (struct logfile_mark){ seq, offset };
}

/* The known place nearest to `from`, not behind it. */
static struct logfile_mark start_for(const struct logfile *f, uint64_t from)
{
    struct logfile_mark best = { 0, LOG_START };
    for (unsigned i = 0; i < f->mark_count; i++) {
        if (f->marks[i].seq <= from)
            best = f->marks[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct logfile_mark *c = &f->cursors[i];
        if (c->offset != 0 && c->seq <= from && c->seq > best.seq)
            best = *c;
    }
    return best;
}

static void set_cursors(struct logfile *f, const struct element *last)
{
    f->cursors[0] = (struct logfile_mark){ last->seq, last->offset };
    f->cursors[1] = (struct logfile_mark){ last->seq + 1, last->offset + last->span };
}

static int corrupt(const struct logfile *f, uint64_t offset, uint64_t seq, const char *what)
{
    return store_fail(BELFRY_CORRUPT, "%s: offset %llu: %s (element %llu)", f->path,
                      (unsigned long long)offset, what, (unsigned long long)seq);
}

static int read_failed(const struct logfile *f, int err)
{
    if (err == -ENOMEM)
        return store_fail(BELFRY_NOMEM, "%s: no memory to read it", f->path);
    disk_fail(err, f->path, "read");
    return BELFRY_IO;
}

/*
 * The scan met bytes at `e` that are no whole element. They are damage if an element behind them
 * proves that they were durable once. Else they are the end of the log: *ret_torn is the length of
 * half-written bytes, 0 for a clean end. The scan also searches behind a clean end, because a block
 * of zeros in the middle of a log looks like one.
 */
static int judge_end(const struct logfile *f, struct window *w, const struct element *e, bool bad,
                     uint64_t *ret_torn)
{
    uint64_t torn_end = bad ? e->offset + e->span : e->offset;
    uint64_t offset = e->offset + 8;
    struct element found;
    if (f->ended && e->seq < f->next)
        return corrupt(f, e->offset, e->seq, "an element that was written is gone");
    for (;;) {
        int r = element_search(w, &f->key, offset, e->seq, &found);
        if (r < 0)
            return read_failed(f, r);
        if (r == 0)
            break;
        if (found.firm)
            return corrupt(f, e->offset, e->seq,
                           bad ? "checksum does not match" : "zeros in place of an element");
        offset = torn_end = found.offset + found.span;
    }
    *ret_torn = torn_end - e->offset;
    return 0;
}

/* Called with the element behind the last whole one. */
static int find_end(const struct logfile *f, struct window *w, const struct element *e, int kind,
                    struct store_tail *ret)
{
    uint64_t torn = 0;
    bool known = f->ended && !f->poisoned && !f->torn && e->offset == f->end;
    if (!known) {
        int r = judge_end(f, w, e, kind == ELEMENT_BAD, &torn);
        if (r < 0)
            return r;
    }
    *ret = (struct store_tail){ .elements = e->seq, .torn_bytes = torn };
    if (torn > 0) {
        /* The end of a long path says more than its beginning. */
        size_t len = strlen(f->path);
        snprintf(ret->where, sizeof ret->where, "%s: offset %llu",
                 f->path + (len > 200 ? len - 200 : 0), (unsigned long long)e->offset);
    }
    return 0;
}

static int reach_end(struct logfile *f, struct window *w, const struct element *e, int kind,
                     struct store_tail *ret)
{
    struct store_tail tail;
    int r = find_end(f, w, e, kind, &tail);
    if (r < 0)
        return r;
    f->end = e->offset;
    f->next = e->seq;
    f->ended = true;
    f->torn = tail.torn_bytes > 0;
    if (ret)
        *ret = tail;
    return 0;
}

static int scan(struct logfile *f, struct window *w, uint64_t from, store_element_fn *fn, void *arg,
                struct store_tail *ret)
{
    struct logfile_mark at = start_for(f, from);
    struct element e;
    for (;;) {
        int kind = element_at(w, &f->key, at.offset, at.seq, &e);
        if (kind < 0)
            return read_failed(f, kind);
        if (kind != ELEMENT_WHOLE)
            return reach_end(f, w, &e, kind, ret);
        if (e.firm && e.offset > f->durable)
            f->durable = e.offset;
        mark(f, e.seq, e.offset);
        at = (struct logfile_mark){ e.seq + 1, e.offset + e.span };
        if (fn && e.seq >= from) {
            set_cursors(f, &e);
            int r = fn(arg, e.seq, e.body);
            if (r != 0)
                return r;
        }
    }
}

int logfile_read(struct logfile *f, uint64_t from, store_element_fn *fn, void *arg,
                 struct store_tail *ret)
{
    struct window w;
    assert(f->fd >= 0);
    int r = window_init(&w, f->fd);
    if (r < 0)
        return read_failed(f, r);
    r = scan(f, &w, from, fn, arg, ret);
    window_fini(&w);
    return r;
}

/* Gives elements from *at on to the callback, and moves *at behind them. Answers as the callback,
 * an error, or 0 with the end or a bad element in *ret. Changes nothing in f. */
static int walk(const struct logfile *f, struct window *w, struct logfile_mark *at,
                store_element_fn *fn, void *arg, struct element *ret, int *ret_kind)
{
    for (;;) {
        int kind = element_at(w, &f->key, at->offset, at->seq, ret);
        if (kind == -EIO) /* A bad sector is damage. */
            return corrupt(f, at->offset, at->seq, "the disk cannot read it");
        if (kind < 0)
            return read_failed(f, kind);
        if (kind != ELEMENT_WHOLE) {
            *ret_kind = kind;
            return 0;
        }
        int r = fn(arg, ret->seq, ret->body);
        if (r != 0)
            return r;
        *at = (struct logfile_mark){ ret->seq + 1, ret->offset + ret->span };
        w->step = WINDOW_BYTES;
    }
}

/* The end of a log can be judged only while no thread appends. */
static int walk_to_end(struct logfile *f, struct logfile_mark at, store_element_fn *fn, void *arg,
                       struct store_tail *ret)
{
    struct window w;
    struct element e;
    struct store_tail tail;
    int kind;
    int r = window_init(&w, f->fd);
    if (r < 0)
        return read_failed(f, r);
    r = walk(f, &w, &at, fn, arg, &e, &kind);
    if (r == 0)
        r = find_end(f, &w, &e, kind, &tail);
    if (r == 0 && ret)
        *ret = tail;
    window_fini(&w);
    return r;
}

int logfile_read_at(struct logfile *f, uint64_t from, uint64_t at, store_element_fn *fn, void *arg,
                    struct store_tail *ret)
{
    struct logfile_mark place = { from, at };
    struct window w;
    struct element e;
    int kind;
    assert(f->fd >= 0 && at != 0);
    int r = window_init(&w, f->fd);
    if (r < 0)
        return read_failed(f, r);
    w.step = WINDOW_BLOCK;
    r = walk(f, &w, &place, fn, arg, &e, &kind);
    window_fini(&w);
    if (r != 0)
        return r;
    if (place.offset == at)
        return corrupt(f, at, from,
                       kind == ELEMENT_BAD ? "checksum does not match"
                                           : "nothing in place of an element");
    pthread_mutex_lock(&f->lock);
    r = walk_to_end(f, place, fn, arg, ret);
    pthread_mutex_unlock(&f->lock);
    return r;
}
