/* SPDX-License-Identifier: MIT */
/*
 * Figures of the running minute.
 *
 * Counters of queues and tenants grow for ever. When something happens in a queue for the first
 * time in a minute, its pulse keeps the counters as they were before. When the minute is over, the
 * differences are its figures. So counting costs a comparison, and a minute costs work only for
 * queues in which something happened:
 *
 *     running ───── the minute is over ────> ending ───── all rows are made ────> a record
 *     pulses of queues and tenants           a row is made of each pulse, some at a time
 *
 * A queue may act again before its row of the ended minute is made. Then its row is made first, so
 * counts fall into the minute in which they arose. If rows are still made when a further minute is
 * over, the running one goes on until they are.
 *
 * A minute belongs to the moment at which it began. If the clock is set, the running minute ends at
 * once. A minute that runs again because the clock was set back is added to its first part.
 */
#include "engine/place/pulse.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/place/queue.h"

#define CHUNK_ROWS 500

void pulses_init(struct engine *e)
{
    struct pulses *p = &e->pulses;

    lists_init(&p->running.queues, &p->running.tenants, &p->ending.queues, &p->ending.tenants);
}

static void minute_clear(struct minute *m)
{
    assert(list_empty(&m->queues) && list_empty(&m->tenants));
    buf_fini(&m->chunk);
    buf_fini(&m->step);
    m->server = (struct series_row){ 0 };
    m->chunk = m->step = (struct buf){ 0 };
    m->chunk_rows = 0;
    m->used = m->failed = false;
}

void pulses_free(struct engine *e)
{
    minute_clear(&e->pulses.running);
    minute_clear(&e->pulses.ending);
}

/* ---- Rows ---- */

struct ref {
    struct str name, body;
};

/* Rows of one name stay in the order in which they were made: the later is behind the other in the
 * chunk. */
static int by_name(const void *a, const void *b)
{
    const struct ref *x = a, *y = b;
    int order = str_compare(x->name, y->name);

    return order ? order : x->name.ptr < y->name.ptr ? -1 : x->name.ptr > y->name.ptr;
}

/* Writes the sum of rows of one name. There are several if a queue was forgotten in the minute, and
 * made again. */
static void write_rows(struct series_writer *w, const struct ref *refs, size_t n)
{
    struct series_row sum, row;
    struct buf body = { 0 };

    if (n == 1) {
        series_write(w, refs->name, refs->body);
        return;
    }
    series_get_row(refs->body, &sum);
    for (size_t i = 1; i < n; i++)
        if (series_get_row(refs[i].body, &row))
            series_row_add(&sum, &row);
    series_put_row(&body, &sum);
    series_write(w, refs->name, buf_view(&body));
    w->out->failed = w->out->failed || body.failed;
    buf_fini(&body);
}

/* Adds the rows of the chunk to the step, in order. */
static void chunk_flush(struct engine *e, struct minute *m)
{
    struct ref *refs = malloc((m->chunk_rows + 1) * sizeof(*refs));
    struct wire_reader r = wire_reader_of(buf_view(&m->chunk));
    struct buf rows = { 0 }, sum = { 0 }, kept = { 0 };
    size_t n = 0;

    m->failed = m->failed || !refs || m->chunk.failed;
    for (; !m->failed && n < m->chunk_rows; n++) {
        refs[n].name = wire_bytes(&r);
        refs[n].body = wire_bytes(&r);
    }
    if (!m->failed) {
        qsort(refs, n, sizeof(*refs), by_name);
        struct series_writer w = series_writer_of(&rows, 0);
        for (size_t i = 0, same; i < n; i += same) {
            for (same = 1; i + same < n && str_eq(refs[i].name, refs[i + same].name); same++)
                ;
            write_rows(&w, &refs[i], same);
        }
        series_merge(&sum, buf_view(&m->step), buf_view(&rows));
        m->failed = rows.failed || sum.failed || !series_trim(&kept, buf_view(&sum), step_most(e));
    }
    free(refs);
    buf_fini(&rows);
    buf_fini(&sum);
    buf_fini(&m->step);
    m->step = kept;
    m->chunk.len = 0;
    m->chunk_rows = 0;
}

static void chunk_add(struct engine *e, struct minute *m, struct str name,
                      const struct series_row *row)
{
    struct buf body = { 0 };

    series_put_row(&body, row);
    wire_put_bytes(&m->chunk, name);
    wire_put_bytes(&m->chunk, buf_view(&body));
    m->failed = m->failed || body.failed || m->chunk.failed;
    buf_fini(&body);
    if (++m->chunk_rows >= CHUNK_ROWS)
        chunk_flush(e, m);
}

/* Ends a pulse: its counts are those of its minute. */
static void pulse_end(struct engine *e, struct pulse *p, const struct counters *c,
                      struct series_row *ret)
{
    *ret = (struct series_row){ 0 };
#define COUNTED(name) ret->counts[SERIES_##name] = c->name - p->base[SERIES_##name];
    SERIES_COUNTS(COUNTED)
#undef COUNTED
    if (p->lateness)
        series_add_hist(ret, p->lateness);
    hist_free_few(&e->place.known.pool, p->lateness);
    p->lateness = NULL;
    list_remove(&p->link);
}

static void pulse_start(struct pulse *p, const struct counters *c, uint64_t number,
                        struct list *list)
{
    p->number = number;
#define BASE(name) p->base[SERIES_##name] = c->name;
    SERIES_COUNTS(BASE)
#undef BASE
    list_append(list, &p->link);
}

static struct minute *minute_of(struct engine *e, const struct pulse *p)
{
    struct pulses *all = &e->pulses;

    return p->number == all->number ? &all->running : &all->ending;
}

static void queue_row(struct engine *e, struct queue *q)
{
    struct minute *m = minute_of(e, &q->gauges.pulse);
    struct series_row row;

    standing_count(e, q, -hist_bytes(q->gauges.pulse.lateness));
    pulse_end(e, &q->gauges.pulse, &q->counters, &row);
    row.ready = queue_ready(q);
    row.running = q->jobs[JOB_LEASED];
    int64_t oldest_ms = row.ready > 0 ? queue_oldest_ms(q) : -1;
    if (oldest_ms >= 0)
        row.waited_ms = oldest_ms < e->now_ms ? (uint64_t)(e->now_ms - oldest_ms) + 1 : 1;
    chunk_add(e, m, queue_name(q), &row);
}

static void tenant_row(struct engine *e, struct tenant *t)
{
    struct minute *m = minute_of(e, &t->sums.gauges.pulse);
    struct str name = tenant_name(t);
    char text[QUEUE_MAX_BYTES];
    struct series_row row;

    pulse_end(e, &t->sums.gauges.pulse, &t->sums.counters, &row);
    row.ready = (uint64_t)t->sums.jobs[JOB_READY];
    row.running = t->running;
    series_row_add(&m->server, &row);
    memcpy(text, name.ptr, name.len);
    memcpy(text + name.len, "@*", 2);
    chunk_add(e, m, (struct str){ text, name.len + 2 }, &row);
}

void pulse_begin(struct engine *e, struct queue *q)
{
    struct pulses *p = &e->pulses;
    struct minute *m = &p->running;
    struct tenant *t = q->tenant;

    if (q->hidden) {
        q->gauges.pulse.number = p->number;
        return;
    }
    if (!m->used)
        m->at_ms = e->now_ms - e->now_ms % SERIES_MINUTE_MS;
    m->used = true;
    if (!list_empty(&q->gauges.pulse.link))
        queue_row(e, q);
    pulse_start(&q->gauges.pulse, &q->counters, p->number, &m->queues);
    if (t->sums.gauges.pulse.number == p->number)
        return;
    if (!list_empty(&t->sums.gauges.pulse.link))
        tenant_row(e, t);
    pulse_start(&t->sums.gauges.pulse, &t->sums.counters, p->number, &m->tenants);
}

void pulse_queue_gone(struct engine *e, struct queue *q)
{
    if (!list_empty(&q->gauges.pulse.link) && !e->pulses.closed)
        queue_row(e, q);
    hist_free_few(&e->place.known.pool, q->gauges.pulse.lateness);
    list_remove(&q->gauges.pulse.link);
}

void pulse_tenant_gone(struct engine *e, struct tenant *t)
{
    if (!list_empty(&t->sums.gauges.pulse.link) && !e->pulses.closed)
        tenant_row(e, t);
    hist_free_few(&e->place.known.pool, t->sums.gauges.pulse.lateness);
    list_remove(&t->sums.gauges.pulse.link);
}

/* Whether a pulse has counted something. */
static bool pulse_counted(const struct pulse *p, const struct counters *c)
{
    bool counted = p->lateness != NULL;

#define DIFFERS(name) counted = counted || c->name != p->base[SERIES_##name];
    SERIES_COUNTS(DIFFERS)
#undef DIFFERS
    return counted;
}

static void pulse_undo(struct pulse *p)
{
    list_remove(&p->link);
    p->number = 0;
}

void pulses_settle(struct engine *e)
{
    struct minute *m = &e->pulses.running;
    struct list *node, *next;

    for (node = m->queues.next; node != &m->queues; node = next) {
        struct queue *q = container_of(node, struct queue, gauges.pulse.link);

        next = node->next;
        if (!pulse_counted(&q->gauges.pulse, &q->counters))
            pulse_undo(&q->gauges.pulse);
    }
    for (node = m->tenants.next; node != &m->tenants; node = next) {
        struct tenant *t = container_of(node, struct tenant, sums.gauges.pulse.link);

        next = node->next;
        if (!pulse_counted(&t->sums.gauges.pulse, &t->sums.counters))
            pulse_undo(&t->sums.gauges.pulse);
    }
    m->used = !list_empty(&m->queues) || !list_empty(&m->tenants) || m->chunk_rows > 0;
}

/* ---- The end of a minute ---- */

void minute_end(struct engine *e)
{
    struct pulses *p = &e->pulses;
    struct minute *now = &p->running, *then = &p->ending;

    assert(!then->used && list_empty(&then->queues) && list_empty(&then->tenants));
    then->used = now->used;
    then->failed = now->failed;
    then->at_ms = now->at_ms;
    then->server = now->server;
    then->chunk = now->chunk;
    then->chunk_rows = now->chunk_rows;
    then->step = now->step;
    list_splice(&then->queues, &now->queues);
    list_splice(&then->tenants, &now->tenants);
    now->chunk = now->step = (struct buf){ 0 };
    minute_clear(now);
    p->number++;
}

bool minute_gather(struct engine *e, int max)
{
    struct minute *m = &e->pulses.ending;

    for (; max > 0 && !list_empty(&m->queues); max--)
        queue_row(e, container_of(m->queues.next, struct queue, gauges.pulse.link));
    for (; max > 0 && !list_empty(&m->tenants); max--)
        tenant_row(e, container_of(m->tenants.next, struct tenant, sums.gauges.pulse.link));
    if (max <= 0)
        return true;
    m->server.ready = e->place.states[JOB_READY];
    for (int i = 0; i < COLD_SLOTS; i++)
        if (cold_state((enum cold_slot)i) == JOB_READY)
            m->server.ready += (uint64_t)(e->cold.counts[i] - e->cold.hidden_counts[i]);
    m->server.running = e->place.states[JOB_LEASED];
    chunk_add(e, m, (struct str){ "", 0 }, &m->server);
    chunk_flush(e, m);
    return false;
}

void minute_forget(struct engine *e)
{
    minute_clear(&e->pulses.ending);
}
