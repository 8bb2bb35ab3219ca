/* SPDX-License-Identifier: MIT */
#include "support/fault.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/memory.h"

static const struct {
    const char *name;
    int answer;
} points[] = {
#define FAULT_POINT_ROW(name, text, answer) { text, answer },
    FAULT_POINTS(FAULT_POINT_ROW)
#undef FAULT_POINT_ROW
};

struct fault {
    struct store base;
    struct store *inner;
    fault_decide_fn *decide;
    void *arg;
    atomic_bool dead;
    pthread_mutex_t lock; /* for the random numbers */
    uint64_t random;
    atomic_uint_fast64_t offered[FAULT_POINT_COUNT];
    atomic_uint_fast64_t hits[FAULT_POINT_COUNT];
};

/* splitmix64: a number in [0, bound]. */
static uint64_t pick(void *arg, uint64_t bound)
{
    struct fault *f = arg;
    pthread_mutex_lock(&f->lock);
    uint64_t z = f->random += UINT64_C(0x9e3779b97f4a7c15);
    pthread_mutex_unlock(&f->lock);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return bound == UINT64_MAX ? z : z % (bound + 1);
}

void fault_crash(struct store *s)
{
    struct fault *f = (struct fault *)s;
    if (!atomic_exchange(&f->dead, true))
        memory_lose(f->inner, pick, f);
}

static int is_dead(const struct fault *f)
{
    return atomic_load(&f->dead) ? store_fail(BELFRY_IO, "crashed (injected)") : 0;
}

/* 0 to go on, else what the call answers; *ret_crash (may be NULL) tells the two apart where the
 * caller has to do something first. */
static int offer(struct fault *f, enum fault_point point, bool *ret_crash)
{
    int r = is_dead(f); /* decide may have killed it at the point before */
    if (r < 0)
        return r;
    atomic_fetch_add(&f->offered[point], 1);
    enum fault_action action = f->decide(f->arg, point);
    if (action == FAULT_GO || (action == FAULT_FAIL && points[point].answer == 0))
        return 0;
    atomic_fetch_add(&f->hits[point], 1);
    if (action == FAULT_FAIL)
        return store_fail(points[point].answer, "%s (injected)", points[point].name);
    if (ret_crash)
        *ret_crash = true;
    else
        fault_crash(&f->base);
    return store_fail(BELFRY_IO, "%s: crashed (injected)", points[point].name);
}

/* A write that failed: none, a part or all of the element is there, and the log is not to be
 * trusted until it is synced. */
static void fail_append(struct fault *f, const struct store_append *a)
{
    struct store_append loose = *a;
    uint64_t torn = 0;
    loose.durable = false;
    loose.ret_at = NULL;
    switch (pick(f, 2)) {
    case 0: break;
    case 1: torn = 1 + pick(f, a->element.len); break;
    default:
        if (f->inner->ops->append(f->inner, &loose) < 0)
            return;
    }
    memory_tear(f->inner, a->log, torn);
}

/* The points at which the element has not been written, in turn. */
static int before_append(struct fault *f, const struct store_append *a)
{
    static const enum fault_point order[] = { FAULT_APPEND_BEFORE, FAULT_APPEND_FULL,
                                              FAULT_APPEND_FENCED, FAULT_APPEND_INDOUBT_LOST };
    int r = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && r == 0; i++)
        r = offer(f, order[i], NULL);
    if (r < 0)
        return r;
    bool crash = false;
    r = offer(f, FAULT_APPEND_FAIL, &crash);
    if (r < 0 && !is_dead(f)) {
        fail_append(f, a);
        if (crash)
            fault_crash(&f->base);
        return store_fail(BELFRY_IO, "append.fail (injected)");
    }
    if (r < 0)
        return r;
    r = offer(f, FAULT_APPEND_TORN, &crash);
    if (crash) {
        fault_crash(&f->base); /* first: the torn element is behind all that was kept, or absent */
        if (memory_check(f->inner, a) == 0)
            memory_tear(f->inner, a->log, 1 + pick(f, a->element.len));
        store_fail(r, "append.torn: crashed (injected)");
    }
    return r;
}

static int append(struct store *s, const struct store_append *a)
{
    struct fault *f = (struct fault *)s;
    struct store_append inner = *a;
    uint64_t at = 0;
    int r = is_dead(f);
    inner.ret_at = &at;
    if (r == 0)
        r = memory_check(f->inner, a);
    if (r == 0)
        r = before_append(f, a);
    if (r == 0)
        r = f->inner->ops->append(f->inner, &inner);
    if (r == 0)
        r = offer(f, FAULT_APPEND_INDOUBT_APPLIED, NULL);
    if (r == 0)
        r = offer(f, FAULT_APPEND_AFTER, NULL);
    if (r == 0 && a->ret_at)
        *a->ret_at = at;
    return r;
}

static int before(struct fault *f, enum fault_point first, enum fault_point second)
{
    int r = offer(f, first, NULL);
    return r < 0 ? r : offer(f, second, NULL);
}

static int sync_log(struct store *s, struct str log)
{
    struct fault *f = (struct fault *)s;
    int r = before(f, FAULT_SYNC_BEFORE, FAULT_SYNC_FAIL);
    if (r == BELFRY_IO && !is_dead(f)) {
        memory_tear(f->inner, log, 0);
        return store_fail(r, "sync.fail (injected)");
    }
    if (r == 0)
        r = f->inner->ops->sync(f->inner, log);
    return r < 0 ? r : offer(f, FAULT_SYNC_AFTER, NULL);
}

static int read_log(struct store *s, struct str log, uint64_t from, uint64_t at,
                    store_element_fn *fn, void *arg, struct store_tail *ret)
{
    struct fault *f = (struct fault *)s;
    struct store_tail tail;
    int r = before(f, FAULT_READ_BEFORE, FAULT_READ_FAIL);
    if (r == 0)
        r = f->inner->ops->read(f->inner, log, from, at, fn, arg, &tail);
    if (r == 0)
        r = offer(f, FAULT_READ_AFTER, NULL);
    if (r == 0 && ret)
        *ret = tail;
    return r;
}

static int list(struct store *s, struct str prefix, store_name_fn *fn, void *arg)
{
    struct fault *f = (struct fault *)s;
    int r = before(f, FAULT_LIST_BEFORE, FAULT_LIST_FAIL);
    if (r == 0)
        r = f->inner->ops->list(f->inner, prefix, fn, arg);
    return r != 0 ? r : offer(f, FAULT_LIST_AFTER, NULL);
}

static int remove_log(struct store *s, struct str log)
{
    struct fault *f = (struct fault *)s;
    int r = before(f, FAULT_REMOVE_BEFORE, FAULT_REMOVE_FAIL);
    if (r == 0)
        r = f->inner->ops->remove(f->inner, log);
    return r < 0 ? r : offer(f, FAULT_REMOVE_AFTER, NULL);
}

static int scan(struct store *s, struct str prefix, store_cell_fn *fn, void *arg)
{
    struct fault *f = (struct fault *)s;
    int r = before(f, FAULT_SCAN_BEFORE, FAULT_SCAN_FAIL);
    if (r == 0)
        r = f->inner->ops->scan(f->inner, prefix, fn, arg);
    return r != 0 ? r : offer(f, FAULT_SCAN_AFTER, NULL);
}

static int cas(struct store *s, const struct store_cas *c)
{
    struct fault *f = (struct fault *)s;
    int r = before(f, FAULT_CAS_BEFORE, FAULT_CAS_INDOUBT_LOST);
    if (r == 0)
        r = offer(f, FAULT_CAS_FAIL, NULL);
    if (r == 0)
        r = f->inner->ops->cas(f->inner, c);
    if (r == 0)
        r = offer(f, FAULT_CAS_INDOUBT_APPLIED, NULL);
    return r < 0 ? r : offer(f, FAULT_CAS_AFTER, NULL);
}

static int64_t now_ms(struct store *s)
{
    struct fault *f = (struct fault *)s;
    return f->inner->ops->now_ms(f->inner);
}

static void close_fault(struct store *s)
{
    struct fault *f = (struct fault *)s;
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static const struct store_ops fault_ops = {
    .close = close_fault,
    .append = append,
    .sync = sync_log,
    .read = read_log,
    .list = list,
    .remove = remove_log,
    .scan = scan,
    .cas = cas,
    .now_ms = now_ms,
};

int fault_new(struct store *inner, uint64_t seed, fault_decide_fn *decide, void *arg,
              struct store **ret)
{
    struct fault *f = calloc(1, sizeof(*f));
    if (!f)
        return store_fail(BELFRY_NOMEM, "no memory for a fault wrapper");
    f->base.ops = &fault_ops;
    f->inner = inner;
    f->decide = decide;
    f->arg = arg;
    f->random = seed;
    pthread_mutex_init(&f->lock, NULL);
    *ret = &f->base;
    return 0;
}

void fault_revive(struct store *s)
{
    assert(s->ops == &fault_ops);
    atomic_store(&((struct fault *)s)->dead, false);
}

bool fault_dead(const struct store *s)
{
    assert(s->ops == &fault_ops);
    return atomic_load(&((const struct fault *)s)->dead);
}

uint64_t fault_offered(const struct store *s, enum fault_point point)
{
    assert(s->ops == &fault_ops);
    return atomic_load(&((const struct fault *)s)->offered[point]);
}

uint64_t fault_hits(const struct store *s, enum fault_point point)
{
    assert(s->ops == &fault_ops);
    return atomic_load(&((const struct fault *)s)->hits[point]);
}

const char *fault_name(enum fault_point point)
{
    return points[point].name;
}

bool fault_can_fail(enum fault_point point)
{
    return points[point].answer != 0;
}
