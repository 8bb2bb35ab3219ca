/* SPDX-License-Identifier: MIT */
#include "store/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/list.h"
#include "base/time.h"
#include "store/cellset.h"

struct memory_element {
    size_t len;
    char bytes[];
};

struct memory_log {
    struct str name; /* points into name_bytes */
    struct memory_element **elements;
    size_t count;
    size_t cap;
    size_t durable;      /* elements that survive a loss of power: a prefix */
    uint64_t torn_bytes; /* of a half-written element behind the last */
    bool refusing;       /* a write failed: no appends until sync */
    unsigned readers;    /* calls of read that may be in a callback */
    bool gone;           /* it was removed: its last reader frees it */
    char name_bytes[];   /* terminated */
};

/* `lock` guards all of it. It is not held in callbacks: `readers` keeps their elements. */
struct memory {
    struct store base;
    pthread_mutex_t lock;
    struct nameset logs;
    struct cellset cells;
    int64_t (*clock)(void *arg);
    void *clock_arg;
};

static int64_t now_ms(struct store *s)
{
    struct memory *m = (struct memory *)s;
    return m->clock(m->clock_arg);
}

static struct memory_log *log_of(struct str *name)
{
    return container_of(name, struct memory_log, name);
}

static struct memory_log *log_find(struct memory *m, struct str name)
{
    struct str *found = nameset_get(&m->logs, name);
    return found ? log_of(found) : NULL;
}

static void log_free(struct memory_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->elements[i]);
    free(log->elements);
    free(log);
}

static struct memory_log *log_new(struct memory *m, struct str name)
{
    bool room = nameset_reserve(&m->logs) == 0;
    struct memory_log *log = room ? calloc(1, sizeof(*log) + name.len + 1) : NULL;
    if (!log)
        return NULL;
    memcpy(log->name_bytes, name.ptr, name.len);
    log->name = (struct str){ log->name_bytes, name.len };
    nameset_add(&m->logs, &log->name);
    return log;
}

static void log_drop(struct memory *m, struct memory_log *log)
{
    nameset_remove(&m->logs, &log->name);
    log->gone = true;
    if (log->readers == 0)
        log_free(log);
}

static int log_push(struct memory_log *log, struct str element)
{
    struct memory_element **elements =
        array_room(log->elements, log->count, &log->cap, sizeof(*elements));
    if (elements)
        log->elements = elements;
    struct memory_element *e = elements ? malloc(sizeof(*e) + element.len) : NULL;
    if (!e)
        return BELFRY_NOMEM;
    e->len = element.len;
    memcpy(e->bytes, element.ptr, element.len);
    log->elements[log->count++] = e;
    return 0;
}

static int check(struct memory *m, const struct store_append *a, const struct memory_log *log)
{
    int r = store_check_append(a);
    if (r == 0)
        r = cellset_check(&m->cells, a->fence, now_ms(&m->base), a->epoch, BELFRY_FENCED);
    if (r < 0)
        return r;
    if (log && (log->refusing || log->torn_bytes > 0))
        return store_fail(BELFRY_IO, "memory:%.*s: must be synced first", STR_ARG(a->log));
    uint64_t next = log ? log->count : 0;
    if (next != a->seq)
        return store_fail(BELFRY_CONFLICT, "memory:%.*s: is at %llu, not %llu", STR_ARG(a->log),
                          (unsigned long long)next, (unsigned long long)a->seq);
    return 0;
}

static int append_locked(struct memory *m, const struct store_append *a)
{
    struct memory_log *log = log_find(m, a->log);
    int r = check(m, a, log);
    if (r < 0)
        return r;
    bool fresh = !log;
    if (fresh)
        log = log_new(m, a->log);
    if (!log || log_push(log, a->element) < 0) {
        if (log && fresh)
            log_drop(m, log);
        return store_fail(BELFRY_NOMEM, "memory:%.*s: no memory", STR_ARG(a->log));
    }
    if (a->durable)
        log->durable = log->count;
    if (a->ret_at)
        *a->ret_at = log->count;
    return 0;
}

static int append(struct store *s, const struct store_append *a)
{
    struct memory *m = (struct memory *)s;
    pthread_mutex_lock(&m->lock);
    int r = append_locked(m, a);
    pthread_mutex_unlock(&m->lock);
    return r;
}

static int not_found(struct str name)
{
    return store_fail(BELFRY_NOTFOUND, "memory:%.*s: no such log", STR_ARG(name));
}

static int sync_log(struct store *s, struct str name)
{
    struct memory *m = (struct memory *)s;
    pthread_mutex_lock(&m->lock);
    struct memory_log *log = log_find(m, name);
    if (log) {
        log->durable = log->count;
        log->torn_bytes = 0;
        log->refusing = false;
    }
    pthread_mutex_unlock(&m->lock);
    return log ? 0 : not_found(name);
}

/* With the lock held; gives it up for the callback. */
static int read_locked(struct memory *m, struct memory_log *log, uint64_t from, uint64_t at,
                       store_element_fn *fn, void *arg, struct store_tail *ret)
{
    int r = 0;
    if (at != 0 && (at != from + 1 || from >= log->count))
        return store_fail(BELFRY_CORRUPT, "memory:%s: offset %llu: no element %llu",
                          log->name_bytes, (unsigned long long)at, (unsigned long long)from);
    for (uint64_t i = from; r == 0 && i < log->count; i++) {
        const struct memory_element *e = log->elements[i];
        pthread_mutex_unlock(&m->lock);
        r = fn(arg, i, (struct str){ e->bytes, e->len });
        pthread_mutex_lock(&m->lock);
    }
    if (r != 0 || !ret)
        return r;
    *ret = (struct store_tail){ .elements = log->count, .torn_bytes = log->torn_bytes };
    if (log->torn_bytes > 0)
        snprintf(ret->where, sizeof ret->where, "memory:%s: element %zu", log->name_bytes,
                 log->count);
    return 0;
}

static int read_log(struct store *s, struct str name, uint64_t from, uint64_t at,
                    store_element_fn *fn, void *arg, struct store_tail *ret)
{
    struct memory *m = (struct memory *)s;
    pthread_mutex_lock(&m->lock);
    struct memory_log *log = log_find(m, name);
    int r = log ? 0 : not_found(name);
    if (log) {
        log->readers++;
        r = read_locked(m, log, from, at, fn, arg, ret);
        if (--log->readers == 0 && log->gone)
            log_free(log);
    }
    pthread_mutex_unlock(&m->lock);
    return r;
}

static int list(struct store *s, struct str prefix, store_name_fn *fn, void *arg)
{
    struct memory *m = (struct memory *)s;
    struct names names = { 0 };
    int r = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = nameset_find(&m->logs, prefix); i < m->logs.count && r == 0; i++) {
        if (!str_starts(*m->logs.items[i], prefix))
            break;
        r = names_add(&names, *m->logs.items[i]);
    }
    pthread_mutex_unlock(&m->lock);
    if (r == 0)
        r = names_each(&names, fn, arg);
    names_fini(&names);
    return r;
}

static int remove_log(struct store *s, struct str name)
{
    struct memory *m = (struct memory *)s;
    pthread_mutex_lock(&m->lock);
    struct memory_log *log = log_find(m, name);
    if (log)
        log_drop(m, log);
    pthread_mutex_unlock(&m->lock);
    return 0;
}

static int scan(struct store *s, struct str prefix, store_cell_fn *fn, void *arg)
{
    struct memory *m = (struct memory *)s;
    struct cellset found = { 0 };
    pthread_mutex_lock(&m->lock);
    int r = cellset_copy(&m->cells, prefix, now_ms(s), &found);
    pthread_mutex_unlock(&m->lock);
    if (r == 0)
        r = cellset_each(&found, fn, arg);
    cellset_fini(&found);
    return r;
}

static int cas(struct store *s, const struct store_cas *c)
{
    struct memory *m = (struct memory *)s;
    struct store_cell cell = { c->name, c->value, c->next, c->expires_ms };
    int r = store_check_cas(c);
    if (r < 0)
        return r;
    pthread_mutex_lock(&m->lock);
    r = cellset_check(&m->cells, c->name, now_ms(s), c->expect, BELFRY_CONFLICT);
    if (r == 0)
        r = cellset_add(&m->cells, &cell);
    pthread_mutex_unlock(&m->lock);
    return r;
}

static void close_memory(struct store *s)
{
    struct memory *m = (struct memory *)s;
    for (size_t i = 0; i < m->logs.count; i++)
        log_free(log_of(m->logs.items[i]));
    free(m->logs.items);
    cellset_fini(&m->cells);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const struct store_ops memory_ops = {
    .close = close_memory,
    .append = append,
    .sync = sync_log,
    .read = read_log,
    .list = list,
    .remove = remove_log,
    .scan = scan,
    .cas = cas,
    .now_ms = now_ms,
};

static int64_t wall_clock(void *arg)
{
    (void)arg;
    return time_wall_ms();
}

int memory_open(const char *path, const struct store_options *o, struct store **ret)
{
    (void)o;
    if (*path != '\0')
        return store_fail(BELFRY_INVALID, "memory:%s: a store in memory has no path", path);
    struct memory *m = calloc(1, sizeof(*m));
    if (!m)
        return store_fail(BELFRY_NOMEM, "memory: no memory");
    m->base.ops = &memory_ops;
    m->clock = wall_clock;
    pthread_mutex_init(&m->lock, NULL);
    *ret = &m->base;
    return 0;
}

static struct memory *memory_of(struct store *s)
{
    assert(s->ops == &memory_ops);
    return (struct memory *)s;
}

void memory_set_clock(struct store *s, int64_t (*clock)(void *arg), void *arg)
{
    struct memory *m = memory_of(s);
    m->clock = clock;
    m->clock_arg = arg;
}

int memory_check(struct store *s, const struct store_append *a)
{
    struct memory *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    int r = check(m, a, log_find(m, a->log));
    pthread_mutex_unlock(&m->lock);
    return r;
}

int memory_tear(struct store *s, struct str name, uint64_t torn_bytes)
{
    struct memory *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    struct memory_log *log = log_find(m, name);
    if (!log && torn_bytes > 0)
        log = log_new(m, name);
    if (log) {
        if (torn_bytes > 0)
            log->torn_bytes = torn_bytes;
        log->refusing = true;
    }
    pthread_mutex_unlock(&m->lock);
    return log || torn_bytes == 0 ? 0 : store_fail(BELFRY_NOMEM, "memory: no memory");
}

void memory_forget(struct store *s, struct str cell)
{
    struct memory *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    cellset_drop(&m->cells, cell);
    pthread_mutex_unlock(&m->lock);
}

void memory_lose(struct store *s, uint64_t (*pick)(void *arg, uint64_t bound), void *arg)
{
    struct memory *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    for (size_t i = m->logs.count; i-- > 0;) {
        struct memory_log *log = log_of(m->logs.items[i]);
        size_t keep = log->durable + (size_t)pick(arg, log->count - log->durable);
        bool lost = keep < log->count;
        while (log->count > keep)
            free(log->elements[--log->count]);
        /* The kept elements are still not durable: without a sync the next loss may take them. */
        log->refusing = false; /* Only the process that died knew it. */
        if (lost && log->count == 0)
            log_drop(m, log);
        else if (lost)
            log->torn_bytes = 0; /* The torn bytes were behind elements that are gone now. */
    }
    pthread_mutex_unlock(&m->lock);
}
