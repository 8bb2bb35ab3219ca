/* SPDX-License-Identifier: MIT */
/*
 * From disk to memory: ahead of time by the frontier, and class by class from the backlog as there
 * is room. The engine says what is to be read next; what was read enters memory together with the
 * record that moves the frontier or the class's floor.
 */
#include "engine/internal.h"

#define LOAD_BYTES   (256u << 10)
#define LOAD_MIN     1024
#define LOAD_CLASSES 64
#define FOLLOW       4 /* the frontier goes on when it is a quarter of the lookahead behind */

/* Forward only: what it has passed has been loaded. */
void frontier_set(struct engine *e, struct cold_point p)
{
    if (point_after(p, e->frontier))
        e->frontier = p;
    if (point_after(p, e->frontier_noted))
        e->frontier_noted = p;
}

static bool is_behind(const struct engine *e, const struct run_desc *d)
{
    struct cold_point last;

    return d->family == FAMILY_DUE && cold_key_point(d->last, &last) &&
           point_after(last, e->frontier);
}

/* Whether jobs on disk are due up to this moment and were not loaded. */
static bool passes_jobs(const struct engine *e, int64_t upto_ms)
{
    const struct list *node;

    list_each (node, &e->runs) {
        const struct run_desc *d = &container_of(node, struct cold_run, link)->d;
        struct cold_point first;

        if (is_behind(e, d) && cold_key_point(d->first, &first) && first.at_ms <= upto_ms)
            return true;
    }
    return false;
}

static bool batch_is_open(const struct engine *e)
{
    return e->batch.active && !e->batch.fed;
}

/* A batch that is being written holds jobs beyond the frontier: it must stay until then. */
void frontier_follow(struct engine *e)
{
    int64_t target = e->now_ms + e->o.lookahead_ms;

    if (e->frontier.at_ms < target - e->o.lookahead_ms / FOLLOW && !batch_is_open(e) &&
        !passes_jobs(e, target))
        e->frontier = (struct cold_point){ target, UINT64_MAX };
}

int64_t frontier_wake(const struct engine *e)
{
    int64_t at = e->frontier.at_ms - e->o.lookahead_ms + e->o.lookahead_ms / FOLLOW + 1;
    const struct list *node;

    if (at <= e->now_ms) /* it is being done */
        return INT64_MAX;
    list_each (node, &e->runs)
        if (is_behind(e, &container_of(node, struct cold_run, link)->d))
            return at;
    return INT64_MAX;
}

static size_t load_bytes(const struct engine *e)
{
    return e->o.memory_bytes / 16 < LOAD_BYTES ? e->o.memory_bytes / 16 : LOAD_BYTES;
}

static bool load_due(struct engine *e, struct load_want *ret)
{
    int64_t target = e->now_ms + e->o.lookahead_ms;

    frontier_follow(e);
    if (e->frontier.at_ms >= target - e->o.lookahead_ms / FOLLOW || batch_is_open(e) ||
        e->bytes[WHERE_TAIL] > e->o.memory_bytes / 2 || !passes_jobs(e, target))
        return false;
    *ret = (struct load_want){ .after = e->frontier, .upto_ms = target, .bytes = load_bytes(e) };
    return true;
}

/* Nothing of it is given out until somebody says so. */
static bool is_stopped(const struct class *c)
{
    const struct queue *q = c->queue;

    return !q->hidden && (q->settings.paused ||
                          (q->tenant->settings.maintenance && class_number(c) != CLASS_PASSING));
}

static bool is_hungry(const struct engine *e, const struct class *c)
{
    /* What cannot be given out has no use for the last of the room. */
    if (hot_room(e) == 0 && c->hot_bytes > 0 && is_stopped(c))
        return false;
    /* What is before all that comes first, without being loaded. */
    if (!class_is_on_disk(c) || tail_comes_first(c))
        return false;
    if (c == &c->queue->classes[ORDERED]) {
        if (order_waits(e, c) || memory_is_pressed(e))
            return false; /* some of it may be set aside, and has to leave again */
        if (c->ready_bytes > 0 && c->queue->first_count == 0 && c->from.at_ms <= e->now_ms &&
            !class_is_half_glutted(e, c))
            return true; /* all that is due here is behind others */
    }
    if (c->hot_bytes == 0 || c->hot_bytes < hot_room(e) / 16)
        return true;
    /* Nor may what was loaded too early, by a clock that was set back since, keep out what is due.
     */
    if (c->ready_bytes == 0 && c->from.at_ms <= e->now_ms)
        return true;
    /* What becomes due comes, though the class has its share of what is due later. */
    return c->near.at_ms <= e->now_ms && c->near_bytes <= hot_room(e) / 8 + class_least(e);
}

/* A class that has jobs on disk and few in memory; first of all one that has none there and could
 * give them out. */
static struct class *hungriest(struct engine *e)
{
    struct class *best = NULL;

    for (int i = 0; i < LOAD_CLASSES && !list_empty(&e->closed); i++) {
        struct class *c = container_of(e->closed.next, struct class, link);

        list_remove(&c->link);
        list_append(&e->closed, &c->link);
        if (!is_hungry(e, c))
            continue;
        if (c->ready_bytes == 0 && !is_stopped(c))
            return c;
        best = best ? best : c;
    }
    return best;
}

static bool load_class(struct engine *e, struct load_want *ret)
{
    struct class *c = hungriest(e);
    uint64_t room = hot_room(e) / 8;

    if (!c)
        return false;
    *ret = (struct load_want){
        .backlog = true,
        .queue = { c->queue->name, c->queue->name_len },
        .class = class_number(c),
        .bytes = room > load_bytes(e) ? load_bytes(e)
                 : room < LOAD_MIN    ? LOAD_MIN
                                      : room,
    };
    return true;
}

/* Both take turns. */
bool engine_load_next(struct engine *e, bool due_too, struct load_want *ret)
{
    e->load_turn = !e->load_turn;
    if (e->load_turn && due_too && load_due(e, ret))
        return true;
    return asides_load(e, ret) || load_class(e, ret) || (due_too && load_due(e, ret));
}

int engine_loaded(struct engine *e, const struct load_result *r)
{
    struct loaded_record record = {
        .queue = r->backlog ? r->queue : (struct str){ 0 },
        .class = r->backlog ? r->class : 0,
        .lane = r->lane,
        .serial = e->next_grave,
        .number = r->number,
        .upto_at = r->end && r->backlog ? INT64_MAX : r->upto.at_ms,
        .upto_seq = r->end && r->backlog ? UINT64_MAX : r->upto.seq,
    };
    struct buf images = { 0 };
    int err;

    if (r->moves != e->moves) /* what was read may have been taken out and put back, changed */
        return 0;
    if (r->backlog && r->class == CLASS_ORDERED && batch_takes_tails(e))
        return 0; /* what is on its way to disk may come before it */
    for (size_t i = 0; i < r->n; i++) {
        const struct cold_item *item = &r->items[i];

        if (!cold_counts(e, (struct str){ item->key, item->key_len }, item->number))
            continue;
        if (!MUTANT(e->o.mutant, CURSOR_AHEAD))
            wire_put_bytes(&images, item->body);
        record.count++;
    }
    record.images = buf_view(&images);
    err = images.failed ? engine_plain(e, BELFRY_NOMEM) : emit_loaded(e, &record);
    buf_fini(&images);
    return err;
}

/* How much of a run is due before a moment, by its summary: it has equally many entries between any
 * two neighbouring points. */
static double part_before(const struct run_desc *d, int64_t ms)
{
    unsigned n = d->spread_count;

    if (n == 0 || ms <= d->spread[0])
        return 0;
    for (unsigned i = 1; i < n; i++) {
        if (ms <= d->spread[i]) {
            double width = (double)(d->spread[i] - d->spread[i - 1]);

            return (i - 1 + (width > 0 ? (double)(ms - d->spread[i - 1]) / width : 1)) / (n - 1);
        }
    }
    return 1;
}

static uint64_t run_jobs(const struct engine *e, const struct run_desc *d, int64_t from, int64_t to)
{
    /* What the frontier has passed is in memory, or gone. */
    int64_t start = from > e->frontier.at_ms ? from : e->frontier.at_ms + 1;

    if (d->family != FAMILY_DUE || start >= to)
        return 0;
    return (uint64_t)((part_before(d, to) - part_before(d, start)) * (double)d->entries + 0.5);
}

#define SAMPLE_JOBS 16384

struct sample {
    int64_t from_ms;
    int64_t step_ms;
    size_t n;
    uint64_t *ret;
    uint64_t weight;
    const struct engine *e;
    struct str tenant;
};

static int sample_job(void *arg, struct table_node *node)
{
    struct sample *s = arg;
    const struct job *j = container_of(node, struct job, by_seq);
    int late_ms = MUTANT(s->e->o.mutant, FORECAST_OFF) ? 1 : 0;

    if (j->state == JOB_SCHEDULED && !j->queue->hidden && !job_is_waste(s->e, j) &&
        queue_is_of(j->queue, s->tenant) && j->timer.at_ms >= s->from_ms + late_ms &&
        (uint64_t)(j->timer.at_ms - s->from_ms) / (uint64_t)s->step_ms < s->n)
        s->ret[(j->timer.at_ms - s->from_ms) / s->step_ms] += s->weight;
    return 0;
}

/* Whether some of its jobs that are not due yet are on disk. */
static bool tenant_waits_on_disk(const struct engine *e, struct str tenant)
{
    const struct tenant *t = tenant_find(e, tenant);
    const struct list *node;

    if (!t)
        return false;
    list_each (node, &t->queues) {
        const struct queue *q = container_of(node, struct queue, of_tenant);

        if (!q->hidden && q->cold[COLD_DUE] > 0)
            return true;
    }
    return false;
}

static void sample_all(const struct engine *e, struct sample *s)
{
    unsigned log2 = 0;

    while (e->jobs.count >> log2 > SAMPLE_JOBS)
        log2++;
    s->weight = UINT64_C(1) << log2;
    table_each_stripe(&e->jobs, log2, 0, sample_job, s);
}

int engine_forecast_of(const struct engine *e, struct str tenant, int64_t from_ms, int64_t step_ms,
                       size_t n, uint64_t *ret)
{
    struct sample s = { from_ms, step_ms, n, ret, 1, e, tenant };

    if (tenant_waits_on_disk(e, tenant))
        return BELFRY_STATE;
    memset(ret, 0, n * sizeof(*ret));
    sample_all(e, &s);
    return 0;
}

void engine_forecast(const struct engine *e, int64_t from_ms, int64_t step_ms, size_t n,
                     uint64_t *ret)
{
    struct sample s = { from_ms, step_ms, n, ret, 1, e, STR(TENANT_ALL) };
    const struct list *node;

    memset(ret, 0, n * sizeof(*ret));
    list_each (node, &e->runs)
        for (size_t i = 0; i < n; i++)
            ret[i] +=
                run_jobs(e, &container_of(node, struct cold_run, link)->d,
                         from_ms + (int64_t)i * step_ms, from_ms + (int64_t)(i + 1) * step_ms);
    sample_all(e, &s);
}
