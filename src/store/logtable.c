/* SPDX-License-Identifier: MIT */
#include "store/logtable.h"

#include <assert.h>
#include <stdlib.h>

#include "store/datadir.h"

void logtable_init(struct logtable *t)
{
    *t = (struct logtable){ 0 };
    pthread_mutex_init(&t->lock, NULL);
    list_init(&t->used);
}

static struct logfile *log_of(struct str *name)
{
    return container_of(name, struct logfile, name);
}

void logtable_fini(struct logtable *t)
{
    for (size_t i = 0; i < t->logs.count; i++)
        logfile_free(log_of(t->logs.items[i]));
    free(t->logs.items);
    pthread_mutex_destroy(&t->lock);
}

static void unlist(struct logtable *t, struct logfile *f)
{
    assert(f->listed);
    nameset_remove(&t->logs, &f->name);
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
    list_each_of_safe (struct logfile, f, &t->used, node) {
        if (t->logs.count < LOGTABLE_OPEN)
            break;
        if (f->users == 0 && logfile_settled(f))
            forget(t, f);
    }
}

static int add(struct logtable *t, const char *dir, struct str name, struct logfile **ret)
{
    char path[PATH_MAX];
    make_room(t);
    if (nameset_reserve(&t->logs) < 0)
        return store_fail(BELFRY_NOMEM, "no memory for a log");
    datadir_log_path(dir, name, path);
    int r = logfile_new(name, strdup(path), ret);
    if (r < 0)
        return r;
    nameset_add(&t->logs, &(*ret)->name);
    (*ret)->listed = true;
    return 0;
}

int logtable_acquire(struct logtable *t, const char *dir, struct str name, struct logfile **ret)
{
    pthread_mutex_lock(&t->lock);
    struct str *found = nameset_get(&t->logs, name);
    struct logfile *f = found ? log_of(found) : NULL;
    int r = f ? 0 : add(t, dir, name, &f);
    if (r == 0 && f->gone)
        r = store_fail(BELFRY_NOTFOUND, "%s: no such log", f->path);
    if (r == 0) {
        f->users++;
        list_move(&t->used, &f->node);
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
