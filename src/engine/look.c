/* SPDX-License-Identifier: MIT */
/* Looking at jobs and queues without changing anything. */
#include "engine/internal.h"

#include <stdlib.h>

#define STRIPE_JOBS 8192 /* about what one engine_list looks at */

static void view_trail(const struct job *j, struct job_view *v)
{
    const struct trail *t = j->trail;
    struct wire_reader r = wire_reader_of(blob_str(t->history));

    v->token = t->token;
    v->lease_ms = t->lease_ms;
    v->until_ms = t->until_ms;
    v->worker = blob_str(t->worker);
    v->progress = t->progress;
    v->note = blob_str(t->note);
    v->cancelling = t->flags & TRAIL_CANCELLING;
    v->replacing = t->flags & TRAIL_REPLACING;
    v->ended_ms = t->ended_ms;
    v->keep_ms = t->hold_ms > t->keep_ms ? t->hold_ms : t->keep_ms;
    v->result = blob_str(t->result);
    v->error = blob_str(t->error);
    while (r.p < r.end && v->history_count < HISTORY_ENTRIES &&
           record_get_attempt(&r, &v->history[v->history_count]))
        v->history_count++;
}

void engine_view(const struct engine *e, const struct job *j, struct job_view *ret)
{
    struct job_opts o;

    job_opts_get(j, &o);
    /* Member by member: the history is large and mostly unused. */
    ret->id = job_id_of(e, j);
    ret->state = j->state;
    ret->queue = (struct str){ j->queue->name, j->queue->name_len };
    ret->payload = job_payload(j);
    ret->key = o.key;
    ret->priority = j->priority;
    ret->created_ms = o.created_ms;
    ret->due_ms = j->due_ms;
    ret->at_ms = j->state > JOB_LEASED ? j->due_ms : j->timer.at_ms;
    ret->attempt = j->attempt;
    ret->attempts = o.attempts >= 0 ? o.attempts : j->queue->settings.attempts;
    ret->stalls = j->stalls;
    ret->token = 0;
    ret->lease_ms = ret->until_ms = ret->ended_ms = ret->keep_ms = 0;
    ret->progress = -1;
    ret->cancelling = ret->replacing = false;
    ret->worker = ret->note = ret->result = ret->error = (struct str){ "", 0 };
    ret->history_count = 0;
    if (j->trail)
        view_trail(j, ret);
}

int engine_get(const struct engine *e, struct job_id id, struct job_view *ret)
{
    const struct job *j = job_of(e, id);

    if (!j)
        return BELFRY_NOTFOUND;
    engine_view(e, j, ret);
    return 0;
}

int engine_find_key(const struct engine *e, struct str queue, struct str key, struct job_id *ret)
{
    const struct queue *q = queue_find(e, queue);
    const struct job *j = q ? key_find(e, q, key) : NULL;

    if (!j)
        return BELFRY_NOTFOUND;
    *ret = job_id_of(e, j);
    return 0;
}

/* A page being gathered: the `limit` first matches after the cursor, as a heap with the last of
 * them on top. */
struct page {
    const struct engine *e;
    const struct list_filter *f;
    const struct list_cursor *after;
    const struct job **heap;
    size_t n;
    bool more;
};

static int compare(const struct job *a, const struct job *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void sift_down(const struct job **heap, size_t n, size_t i)
{
    for (;;) {
        size_t top = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (compare(heap[child], heap[top]) > 0)
                top = child;
        if (top == i)
            return;
        const struct job *swap = heap[i];
        heap[i] = heap[top];
        heap[top] = swap;
        i = top;
    }
}

static void heap_push(struct page *p, const struct job *j)
{
    size_t i = p->n++;

    for (; i > 0 && compare(j, p->heap[(i - 1) / 2]) > 0; i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = j;
}

static bool matches(const struct page *p, const struct job *j)
{
    const struct list_filter *f = p->f;
    const struct list_cursor *c = p->after;

    if (j->due_ms < c->due_ms || (j->due_ms == c->due_ms && j->seq <= c->seq))
        return false;
    return (f->state < 0 || (unsigned)f->state == j->state) && j->due_ms >= f->from_ms &&
           j->due_ms < f->to_ms &&
           (f->queue.len == 0 ||
            str_eq(f->queue, (struct str){ j->queue->name, j->queue->name_len }));
}

static int page_visit(void *arg, struct table_node *node)
{
    struct page *p = arg;
    const struct job *j = container_of(node, struct job, by_seq);

    if (!matches(p, j))
        return 0;
    if (p->n < p->f->limit) {
        heap_push(p, j);
        return 0;
    }
    p->more = true;
    if (compare(j, p->heap[0]) < 0) {
        p->heap[0] = j;
        sift_down(p->heap, p->n, 0);
    }
    return 0;
}

/* In order, smallest first: the classic second half of a heap sort. */
static void heap_sort(const struct job **heap, size_t n)
{
    while (n > 1) {
        const struct job *top = heap[0];

        heap[0] = heap[--n];
        heap[n] = top;
        sift_down(heap, n, 0);
    }
}

/* Where the walk goes on after a page: in this stripe behind the last job, or in the next one. */
static void cursor_advance(struct list_cursor *c, const struct page *p)
{
    if (p->more) {
        c->due_ms = p->heap[p->n - 1]->due_ms;
        c->seq = p->heap[p->n - 1]->seq;
        c->more = true;
        return;
    }
    c->stripe++;
    c->due_ms = 0;
    c->seq = 0;
    c->more = c->stripe < UINT64_C(1) << c->stripes_log2;
}

/* Stripes are visited in the order of their reversed bits: splitting each in two then keeps those
 * that were visited apart from those that were not. */
static uint64_t stripe_of(const struct list_cursor *c)
{
    uint64_t reversed = 0;

    for (unsigned i = 0; i < c->stripes_log2; i++)
        reversed |= (c->stripe >> i & 1) << (c->stripes_log2 - 1 - i);
    return reversed;
}

/* As many stripes as there are jobs for, at the start of a walk and between two stripes. */
static void split_stripes(const struct engine *e, struct list_cursor *c)
{
    while (c->due_ms == 0 && c->seq == 0 && e->jobs.count >> c->stripes_log2 > STRIPE_JOBS) {
        c->stripes_log2++;
        c->stripe *= 2;
    }
}

int engine_list(const struct engine *e, const struct list_filter *f,
                int (*fn)(void *arg, const struct job_view *v), void *arg,
                struct list_cursor *cursor)
{
    struct page p = { .e = e, .f = f, .after = cursor };
    int answer = 0;

    if (!cursor->more)
        *cursor = (struct list_cursor){ 0 };
    if (cursor->stripes_log2 > 40 || cursor->stripe >> cursor->stripes_log2)
        return BELFRY_INVALID;
    split_stripes(e, cursor);
    p.heap = malloc(f->limit * sizeof(struct job *));
    if (!p.heap)
        return BELFRY_NOMEM;
    table_each_stripe(&e->jobs, cursor->stripes_log2, stripe_of(cursor), page_visit, &p);
    heap_sort(p.heap, p.n);
    cursor_advance(cursor, &p);
    for (size_t i = 0; i < p.n && answer == 0; i++) {
        struct job_view v;

        engine_view(e, p.heap[i], &v);
        answer = fn(arg, &v);
    }
    free(p.heap);
    return answer;
}

static void queue_view_of(const struct queue *q, struct queue_view *ret)
{
    static const struct hist none;

    *ret = (struct queue_view){
        .name = { q->name, q->name_len },
        .settings = &q->settings,
        .jobs = q->jobs,
        .waiters = q->waiters,
        .counters = &q->counters,
        .lateness = q->lateness ? q->lateness : &none,
        .runtime = q->runtime ? q->runtime : &none,
    };
}

int engine_queue_get(const struct engine *e, struct str name, struct queue_view *ret)
{
    const struct queue *q = queue_find(e, name);

    if (!q)
        return BELFRY_NOTFOUND;
    queue_view_of(q, ret);
    return 0;
}

static int compare_names(struct str a, struct str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b)
{
    const struct queue *x = *(const struct queue *const *)a;
    const struct queue *y = *(const struct queue *const *)b;

    return compare_names((struct str){ x->name, x->name_len },
                         (struct str){ y->name, y->name_len });
}

int engine_queues(const struct engine *e, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct queue_view *v), void *arg)
{
    const struct queue **all = malloc((e->queue_total + 1) * sizeof(struct queue *));
    const struct list *heads[] = { &e->queues, &e->idle };
    size_t n = 0;
    int answer = 0;

    if (!all)
        return BELFRY_NOMEM;
    for (size_t i = 0; i < 2; i++) {
        const struct list *node;

        list_each (node, heads[i]) {
            const struct queue *q = container_of(node, struct queue, link);

            if (compare_names((struct str){ q->name, q->name_len }, after) > 0)
                all[n++] = q;
        }
    }
    qsort(all, n, sizeof(struct queue *), by_name);
    for (size_t i = 0; i < n && i < limit && answer == 0; i++) {
        struct queue_view v;

        queue_view_of(all[i], &v);
        answer = fn(arg, &v);
    }
    free(all);
    return answer;
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
    memcpy(ret->jobs, e->states, sizeof(ret->jobs));
    ret->queues = e->queue_total;
    ret->waiters = e->waiters;
    ret->memory_bytes =
        pool_held(&e->pool) + (e->jobs.buckets + e->keys.buckets) * sizeof(struct table_node *);
    ret->live_bytes = e->live_bytes;
    ret->counters = e->counters;
    ret->lateness = &e->lateness;
    ret->runtime = &e->runtime;
}
