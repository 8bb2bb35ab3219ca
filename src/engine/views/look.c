/* SPDX-License-Identifier: MIT */
/* Looking at jobs without changing anything. */
#include "engine/views/look.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/holder.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/attempts.h"
#include "record/opts.h"
#include "record/record.h"

#define STRIPE_JOBS 8192 /* about so many jobs are looked at by one engine_list */
#define ROUNDS      8 /* of a walk at the most: jobs that move all the time would make it endless */

static void view_lease(const struct trail *t, struct job_view *v)
{
    v->token = t->token;
    v->lease_ms = t->lease_ms;
    v->until_ms = t->until_ms;
}

static void view_trail(const struct job *j, struct job_view *v)
{
    const struct trail *t = j->trail;

    view_lease(t, v);
    v->worker = blob_str(t->worker);
    v->progress = t->progress;
    v->note = blob_str(t->note);
    v->cancelling = t->flags & TRAIL_CANCELLING;
    v->replacing = t->flags & TRAIL_REPLACING;
    v->ended_ms = t->ended_ms;
    v->deferred_ms = state_is_ahead(v->state) && t->deferred_ms ? t->deferred_ms : -1;
    v->deferrals = t->deferrals;
    v->keep_ms = trail_gone_ms(t);
    v->result = blob_str(t->result);
    v->error = blob_str(t->error);
    v->history = blob_str(t->history);
    v->log = blob_str(t->log);
}

static void view_labels(const struct job *j, struct job_view *v)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    v->labels.tag_count = v->labels.meta_count = v->after_count = 0;
    v->recurrence = (struct str){ "", 0 };
    while (job_opt_next(&r, &o)) {
        if (o.type == OPT_TAG && v->labels.tag_count < TAGS_MAX)
            v->labels.tags[v->labels.tag_count++] = o.bytes;
        if (o.type == OPT_META && v->labels.meta_count < METAS_MAX)
            v->labels.meta[v->labels.meta_count++] = (struct meta){ o.bytes, o.value };
        if (o.type == OPT_AFTER && v->after_count < AFTER_MAX)
            v->after[v->after_count++] = (struct job_id){ o.number, v->id.partition, o.seq };
        if (o.type == OPT_NOMINAL) {
            v->recurrence = o.bytes;
            v->nominal_ms = o.number;
        }
    }
}

/* Member by member: the labels are large and mostly unused. */
static void view_job(const struct engine *e, const struct job *j, struct job_view *v)
{
    v->id = job_id_of(e, j);
    v->tenant = tenant_name(j->queue->tenant);
    v->queue = j->queue->kind->by_name.name;
    v->payload = job_payload(j);
    v->priority = j->priority;
    v->due_ms = j->due_ms;
    v->attempt = j->attempt;
}

void engine_view_lease(const struct engine *e, const struct job *j, struct job_view *ret)
{
    struct job_opts o;

    assert(j->state == JOB_LEASED);
    view_job(e, j, ret);
    view_lease(j->trail, ret);
    ret->key = ret->order = ret->recurrence = (struct str){ "", 0 };
    ret->labels.tag_count = ret->labels.meta_count = 0;
    if (job_is_bare(j))
        return;
    job_opts_get(j, &o);
    ret->key = o.key;
    ret->order = o.order;
    view_labels(j, ret);
}

void engine_view(const struct engine *e, const struct job *j, struct job_view *ret)
{
    struct job_image image;
    struct job_opts o;

    job_opts_get(j, &o);
    view_job(e, j, ret);
    ret->state = job_state_now(e, j);
    ret->key = o.key;
    ret->order = o.order;
    ret->push = o.push;
    ret->created_ms = o.created_ms;
    ret->at_ms = state_is_ended(j->state) || job_is_waiting(j) ? j->due_ms : j->timer.at_ms;
    ret->attempts = o.attempts >= 0 ? o.attempts : j->queue->settings->attempts;
    ret->stalls = j->stalls;
    ret->token = 0;
    ret->lease_ms = ret->until_ms = ret->ended_ms = ret->keep_ms = 0;
    ret->progress = -1;
    ret->cancelling = ret->replacing = false;
    ret->expires_ms = job_expires_ms(j);
    ret->notify = o.notify;
    ret->passing = j->passing;
    ret->deferred_ms = -1;
    ret->deferrals = 0;
    view_labels(j, ret);
    ret->worker = ret->note = ret->result = ret->error = ret->history = ret->log =
        (struct str){ "", 0 };
    if (j->trail)
        view_trail(j, ret);
    job_image_of(j, &image);
    ret->kept_bytes = image_bytes(&image);
}

int engine_get(struct engine *e, struct job_id id, struct job_view *ret)
{
    int err;
    const struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err;
    engine_view(e, j, ret);
    return 0;
}

int engine_find_key(struct engine *e, struct str queue, struct str order, struct str key,
                    struct job_id *ret)
{
    int err = BELFRY_NOTFOUND;
    struct queue *q = queue_find(e, queue);
    const struct job *j = q ? key_seek(e, q, order, key, false, &err) : NULL;

    if (!j)
        return err;
    if (job_is_over(e, j)) /* on disk: its key is free */
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
    uint64_t looked;
};

static int job_compare(const struct job *a, const struct job *b)
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
            if (job_compare(heap[child], heap[top]) > 0)
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

    for (; i > 0 && job_compare(j, p->heap[(i - 1) / 2]) > 0; i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = j;
}

static uint32_t walk_of(const struct list_cursor *c)
{
    return c->walk & WALKS;
}

/* The first round begins with the walk. */
static uint32_t round_of(const struct list_cursor *c)
{
    return c->walk >> WALK_BITS ? c->walk >> WALK_BITS & WALKS : walk_of(c);
}

static uint32_t rounds_of(const struct list_cursor *c)
{
    return c->walk >> 2 * WALK_BITS;
}

static bool page_matches(const struct page *p, const struct job *j)
{
    const struct list_cursor *c = p->after;

    if (job_is_waste(p->e, j) || j->due_ms < c->due_ms ||
        (j->due_ms == c->due_ms && j->seq <= c->seq))
        return false;
    if (c->phase == LIST_LOADED && walk_of(c) && !walk_is_since(j->loaded, walk_of(c)))
        return false;
    return job_passes(p->e, p->f, j);
}

static int page_visit(void *arg, struct table_node *node)
{
    struct page *p = arg;
    const struct job *j = container_of(node, struct job, by_seq);

    p->looked++;
    if (!page_matches(p, j))
        return 0;
    if (p->n < p->f->limit) {
        heap_push(p, j);
        return 0;
    }
    p->more = true;
    if (job_compare(j, p->heap[0]) < 0) {
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

/* Whether a family can have jobs of these states. */
static bool family_fits(char family, unsigned states)
{
    switch (family) {
    case FAMILY_BACKLOG: /* some may have expired there */
    case FAMILY_ASIDE: return states & (JOB_BIT(READY) | JOB_BIT(SCHEDULED) | JOB_BIT(EXPIRED));
    case FAMILY_DUE: return states & (JOB_AHEAD | JOB_BIT(EXPIRED));
    case FAMILY_PAST: return states & (JOB_ENDED & ~JOB_BIT(DEAD));
    default: return states & (JOB_BIT(DEAD) | JOB_BIT(DONE) | JOB_BIT(CANCELLED));
    }
}

static char next_family(char family, const struct list_filter *f)
{
    const char *last = memchr(walk_families, family, WALK_FAMILIES);

    for (size_t i = last ? (size_t)(last - walk_families) + 1 : 0; i < WALK_FAMILIES; i++)
        if (family_fits(walk_families[i], filter_states(f)))
            return walk_families[i];
    return 0;
}

/* Whether jobs came from disk since the walk began. */
static bool was_loaded(const struct engine *e, const struct list_cursor *c)
{
    return e->cold.walk_loaded || e->cold.walk != walk_of(c);
}

/* Jobs went back to disk where the walk has been: it goes there again, for jobs that came after it
 * began. Memory is looked at first, as its jobs may go back, too. */
static void next_round(struct engine *e, const struct list_filter *f, struct list_cursor *c)
{
    char first = walk_missed(e, round_of(c));

    c->walk = walk_of(c) | walk_begin(e) << WALK_BITS | (rounds_of(c) + 1) << 2 * WALK_BITS;
    c->key[0] = family_fits(first, filter_states(f)) ? first : next_family(first, f);
    c->key_len = 1;
    c->more = c->key[0] != 0;
}

/* Where the walk goes on after a page: in this stripe behind the last job, or in the next one, or
 * on disk. */
static void cursor_advance(struct engine *e, struct list_cursor *c, const struct page *p)
{
    c->more = true;
    if (p->more) {
        c->due_ms = p->heap[p->n - 1]->due_ms;
        c->seq = p->heap[p->n - 1]->seq;
        return;
    }
    c->stripe++;
    c->due_ms = 0;
    c->seq = 0;
    if (c->stripe < UINT64_C(1) << c->stripes_log2)
        return;
    c->stripe = c->stripes_log2 = 0;
    if (c->phase == LIST_LOADED && c->key_len == 0 && !p->f->once && rounds_of(c) < ROUNDS &&
        walk_missed(e, round_of(c))) {
        next_round(e, p->f, c);
        return;
    }
    if (c->phase == LIST_LOADED)
        c->more = c->key_len > 0;
    else
        c->more = !list_empty(&e->cold.runs) || was_loaded(e, c);
    c->phase = LIST_DISK;
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

/* Makes as many stripes as there are jobs for, at the start of a walk and between two stripes. */
static void split_stripes(const struct engine *e, struct list_cursor *c, size_t size)
{
    while (c->due_ms == 0 && c->seq == 0 && e->place.jobs.count >> c->stripes_log2 > size) {
        c->stripes_log2++;
        c->stripe *= 2;
    }
}

typedef int job_fn(void *arg, const struct job_view *v);

static int list_memory(struct engine *e, const struct list_filter *f, job_fn *fn, void *arg,
                       struct list_cursor *cursor)
{
    struct page p = { .e = e, .f = f, .after = cursor };
    size_t shown = 0;
    bool first;
    int answer = 0;

    if (cursor->stripes_log2 > 40 || cursor->stripe >> cursor->stripes_log2)
        return BELFRY_INVALID;
    split_stripes(e, cursor, f->stripe ? f->stripe : STRIPE_JOBS);
    p.heap = malloc(f->limit * sizeof(struct job *));
    if (!p.heap)
        return BELFRY_NOMEM;
    table_each_stripe(&e->place.jobs, cursor->stripes_log2, stripe_of(cursor), page_visit, &p);
    heap_sort(p.heap, p.n);
    first = cursor->phase == LIST_MEMORY && cursor->due_ms == 0 && cursor->seq == 0;
    if (f->looked && first) /* the other pages of a stripe look at its jobs again */
        *f->looked += p.looked;
    while (shown < p.n && answer == 0) {
        struct job_view v;

        engine_view(e, p.heap[shown++], &v);
        answer = fn(arg, &v);
    }
    if (!MUTANT(e->o.mutant, CUT_SKIPS)) {
        p.more = p.more || shown < p.n;
        p.n = shown;
    }
    cursor_advance(e, cursor, &p);
    free(p.heap);
    return answer;
}

_Static_assert(sizeof(((struct list_cursor *)0)->key) >= COLD_KEY_MAX, "a cursor has any key");

/* Jobs of one family behind the cursor; of one queue only, where keys begin with it. */
static void want_page(struct engine *e, const struct list_filter *f, const struct list_cursor *c)
{
    struct cold_key k = { .len = c->key_len };

    memcpy(k.bytes, c->key, c->key_len);
    e->cold.want = (struct cold_want){
        .kind = WANT_PAGE,
        .limit = f->limit,
        .prefix_len = 1,
        .now_ms = e->now_ms,
        .since = c->walk >> WALK_BITS ? c->since : 0,
    };
    if (f->queue.len && k.bytes[0] != FAMILY_DUE) {
        if (k.len == 1)
            cold_key_queue(&k, k.bytes[0], f->queue, 1, (struct cold_point){ 0, 0 });
        e->cold.want.prefix_len = f->queue.len + 2;
        if (c->key_len == 1)
            k.len = f->queue.len + 2;
    } else if (k.len == 1 && k.bytes[0] == FAMILY_DUE && f->from_ms > 0) {
        /* A job that was put off is behind its due time, never before it. */
        cold_key_due(&k, (struct cold_point){ f->from_ms, 0 });
    }
    e->cold.want.after_len = k.len;
    memcpy(e->cold.want.after, k.bytes, k.len);
}

/* Shows items of the answer, and counts the items that it has finished. */
static int show_page(struct engine *e, const struct list_filter *f, job_fn *fn, void *arg,
                     size_t *ret_shown)
{
    size_t i = 0;
    int answer = 0;

    if (f->looked)
        *f->looked += e->cold.answer->n;
    while (i < e->cold.answer->n && answer == 0) {
        struct job_image image;
        struct job_view v;

        if (!record_get_job(e->cold.answer->items[i++].body, &image))
            continue;
        struct queue *q = queue_obtain(e, image.queue);
        struct job *j = q ? job_new(e, &image, q) : NULL;
        if (!j)
            return BELFRY_NOMEM;
        if (job_passes(e, f, j)) {
            engine_view(e, j, &v);
            answer = fn(arg, &v);
        }
        job_free(e, j);
    }
    *ret_shown = i;
    return answer;
}

static void cursor_stand(struct list_cursor *c, const char *key, size_t len)
{
    c->key_len = (uint16_t)len;
    memcpy(c->key, key, len);
}

/* Ready jobs among those by due time are those that loading is behind with. */
static bool page_is_last(const struct engine *e, const struct list_filter *f)
{
    struct str last = { e->cold.answer->last, e->cold.answer->last_len };
    struct cold_point p;

    return !e->cold.answer->more ||
           (filter_states(f) == JOB_BIT(READY) && last.ptr[0] == FAMILY_DUE &&
            cold_key_point(last, &p) && p.at_ms > e->now_ms);
}

/* Jobs go from D to memory, from there to B, to memory, to A, and back to memory. Loaded jobs are
 * looked at in between, and at the end. */
static void next_run_family(const struct engine *e, const struct list_filter *f,
                            struct list_cursor *c)
{
    char next = next_family(c->key[0], f);
    bool looks =
        was_loaded(e, c) && (c->key[0] == FAMILY_DUE || c->key[0] == FAMILY_BACKLOG || !next);

    *c = (struct list_cursor){ .more = next || looks,
                               .phase = looks ? LIST_LOADED : LIST_DISK,
                               .walk = c->walk,
                               .since = c->since,
                               .epoch = c->epoch,
                               .key_len = next != 0 };
    c->key[0] = next;
}

static int list_disk(struct engine *e, const struct list_filter *f, job_fn *fn, void *arg,
                     struct list_cursor *cursor)
{
    struct cold_answer *a = e->cold.answer;
    size_t shown;

    if (cursor->key_len == 0) {
        cursor->key[0] = next_family(0, f);
        cursor->key_len = 1;
        if (cursor->key[0] == 0) { /* leased ones are in memory only */
            *cursor = (struct list_cursor){ 0 };
            return 0;
        }
    }
    if (cursor->key_len > COLD_KEY_MAX || !memchr(walk_families, cursor->key[0], WALK_FAMILIES))
        return BELFRY_INVALID;
    want_page(e, f, cursor);
    if (!want_is_answered(e))
        return BELFRY_COLD;
    int answer = show_page(e, f, fn, arg, &shown);
    cursor->more = true;
    if (answer > 0 && shown < a->n)
        cursor_stand(cursor, a->items[shown - 1].key, a->items[shown - 1].key_len);
    else if (!page_is_last(e, f))
        cursor_stand(cursor, a->last, a->last_len);
    else
        next_run_family(e, f, cursor);
    return answer;
}

/* The engine was restarted, and does not know which jobs were loaded during the walk, or went back.
 * So the walk goes through all jobs on disk, and then through all in memory. */
static void walk_resume(const struct engine *e, struct list_cursor *c)
{
    c->walk = c->since = 0;
    c->epoch = e->o.epoch;
    if (c->phase != LIST_MEMORY)
        *c = (struct list_cursor){ .more = true, .phase = LIST_DISK, .epoch = e->o.epoch };
}

int engine_list(struct engine *e, const struct list_filter *f,
                int (*fn)(void *arg, const struct job_view *v), void *arg,
                struct list_cursor *cursor)
{
    if (cursor->more && cursor->phase > LIST_LOADED)
        return BELFRY_INVALID;
    if (!cursor->more)
        *cursor = (struct list_cursor){ .walk = walk_begin(e),
                                        .since = walk_newest(e),
                                        .epoch = e->o.epoch };
    else if (cursor->epoch != e->o.epoch)
        walk_resume(e, cursor);
    switch (cursor->phase) {
    case LIST_MEMORY:
    case LIST_LOADED: return list_memory(e, f, fn, arg, cursor);
    case LIST_DISK: return list_disk(e, f, fn, arg, cursor);
    default: return BELFRY_INVALID;
    }
}
