/* SPDX-License-Identifier: MIT */
#include "store/logtable.h"

#include <assert.h>
#include <stdlib.h>

#include "store/datadir.h"
#include "store/names.h"

void logtable_init(struct logtable *t)
{
    *t = (struct logtable){ 0 };
    pthread_mutex_init(&t->lock, NULL);
    list_init(&t->used);
}

void logtable_fini(struct logtable *t)
{
    for (size_t i = 0; i < t->count; i++)
        logfile_free(t->items[i]);
    free(t->items);
    pthread_mutex_destroy(&t->lock);
}

static size_t lower_bound(const struct logtable *t, struct str name)
{
    size_t lo = 0;
    size_t hi = t->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (names_compare(t->items[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void unlist(struct logtable *t, struct logfile *f)
{
    size_t at = lower_bound(t, f->name);
    assert(f->listed && t->items[at] == f);
    t->count--;
    memmove(t->items + at, t->items + at + 1, (t->count - at) * sizeof(*t->items));
    list_remove(&f->node);
    f->listed = false;
}

static void forget(struct logtable *t, struct logfile *f)
{
    unlist(t, f);
    logfile_free(f);
}

static void make_room(struct logtable *t)
{
    struct list *node;
    struct list *after;
    list_each_safe (node, after, &t->used) {
        struct logfile *f = container_of(node, struct logfile, node);
        if (t->count < LOGTABLE_OPEN)
            break;
        if (f->users == 0 && logfile_settled(f))
            forget(t, f);
    }
}

static int add(struct logtable *t, const char *dir, struct str name, struct logfile **ret)
{
    char path[PATH_MAX];
    make_room(t);
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct logfile **items = realloc(t->items, cap * sizeof(*items));
        if (!items)
            return store_fail(BELFRY_NOMEM, "no memory for a log");
        t->items = items;
        t->cap = cap;
    }
    datadir_log_path(dir, name, path);
    int r = logfile_new(name, strdup(path), ret);
    if (r < 0)
        return r;
    size_t at = lower_bound(t, name);
    memmove(t->items + at + 1, t->items + at, (t->count - at) * sizeof(*t->items));
    t->items[at] = *ret;
    (*ret)->listed = true;
    t->count++;
    return 0;
}

int logtable_acquire(struct logtable *t, const char *dir, struct str name, struct logfile **ret)
{
    struct logfile *f = NULL;
    int r = 0;
    pthread_mutex_lock(&t->lock);
    size_t at = lower_bound(t, name);
    if (at < t->count && str_eq(t->items[at]->name, name))
        f = t->items[at];
    else
        r = add(t, dir, name, &f);
    if (r == 0 && f->gone)
        r = store_fail(BELFRY_NOTFOUND, "%s: no such log", f->path);
    if (r == 0) {
        f->users++;
        list_remove(&f->node);
        list_append(&t->used, &f->node);
        *ret = f;
    }
    pthread_mutex_unlock(&t->lock);
    return r;
}

void logtable_release(struct logtable *t, struct logfile *f)
{
    pthread_mutex_lock(&t->lock);
    assert(f->users > 0);
    if (--f->users == 0) {
        if (!f->listed)
            logfile_free(f);
        else if (f->fd < 0)
            forget(t, f);
    }
    pthread_mutex_unlock(&t->lock);
}

void logtable_bar(struct logtable *t, struct logfile *f)
{
    pthread_mutex_lock(&t->lock);
    f->gone = true;
    pthread_mutex_unlock(&t->lock);
}

void logtable_free_name(struct logtable *t, struct logfile *f)
{
    pthread_mutex_lock(&t->lock);
    unlist(t, f);
    pthread_mutex_unlock(&t->lock);
}
