/* SPDX-License-Identifier: MIT */
/* Jobs are counted by their moments, in memory and on disk: see census.h. */
#include "engine/census.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/times.h"

#define STRIPE_JOBS  4096 /* about so many jobs are visited in a round */
#define STRIPE_RULES 512  /* and so many if many of them are recurrences */
#define RULES_BYTES  ((size_t)4 << 20)
#define CENSUSES_MAX 16                    /* under way at a time */
#define TENANT_MAX   4                     /* of which so many are about one tenant */
#define CENSUS_BYTES ((uint64_t)512 << 10) /* of each, in the account of memory */

/* ---- Rules ---- */

void census_rule_put(struct buf *out, struct str name, const struct recurrence *r)
{
    struct recur_spec spec = recurrence_spec_of(name, r);
    int64_t from_ms = r->skip_ms >= r->next_ms ? r->skip_ms + 1 : r->next_ms;

    wire_put_u8(out, (uint8_t)spec.kind);
    wire_put_bytes(out, spec.text);
    wire_put_bytes(out, spec.exdate);
    wire_put_bytes(out, spec.rdate);
    wire_put_bytes(out, r->zone);
    wire_put_zigzag(out, spec.start_ms);
    wire_put_u64(out, spec.seed);
    wire_put_varint(out, r->state.n);
    wire_put_zigzag(out, r->state.at_ms);
    wire_put_zigzag(out, r->next_ms);
    wire_put_zigzag(out, from_ms);
}

bool census_rule_get(struct wire_reader *in, struct census_rule *ret)
{
    *ret = (struct census_rule){ .spec.kind = (enum recur_kind)wire_u8(in) };
    ret->spec.text = wire_bytes(in);
    ret->spec.exdate = wire_bytes(in);
    ret->spec.rdate = wire_bytes(in);
    ret->zone = wire_bytes(in);
    ret->spec.start_ms = wire_zigzag(in);
    ret->spec.seed = wire_u64(in);
    ret->state.n = wire_varint(in);
    ret->state.at_ms = wire_zigzag(in);
    ret->next_ms = wire_zigzag(in);
    ret->from_ms = wire_zigzag(in);
    return !in->bad;
}

bool census_rule_counts(const struct recurrence *r)
{
    return !r->paused && r->next_ms >= 0;
}

/* ---- Steps ---- */

size_t census_step(const struct census_ask *a, int64_t at_ms)
{
    return at_ms < a->from_ms || at_ms >= a->to_ms ? a->n
                                                   : (size_t)((at_ms - a->from_ms) / a->step_ms);
}

bool census_has(const struct census *c, struct str queue)
{
    struct str tenant, name;

    scope_split(queue, &tenant, &name);
    return (c->ask.queue.len == 0 || str_eq(c->ask.queue, name)) &&
           (str_eq(c->ask.tenant, STR(TENANT_ALL)) || str_eq(c->ask.tenant, tenant));
}

/* ---- In memory ---- */

static void census_recurrence(struct census *c, const struct job *j, uint16_t partition)
{
    struct recurrence r;
    struct job_opts o;

    if ((!c->ask.times && j->timer.at_ms >= c->ask.to_ms) ||
        !recurrence_decode(job_payload(j), partition, &r) ||
        (!c->ask.times && !census_rule_counts(&r)) || !census_has(c, r.queue))
        return;
    if (c->left.len > RULES_BYTES) {
        c->lacks = true;
        return;
    }
    job_opts_get(j, &o);
    if (c->ask.times)
        times_put(&c->left, &c->ask, j->seq, o.key, &r);
    else
        census_rule_put(&c->left, o.key, &r);
}

/* A job that was in memory when the census began, and has not been counted. */
static void census_job(const struct engine *e, struct census *c, const struct job *j)
{
    int64_t late_ms = MUTANT(e->o.mutant, FORECAST_OFF) ? 1 : 0;
    const struct queue *q = j->queue;

    if (!state_is_ahead(j->state) || (j->loaded && walk_is_since(j->loaded, c->walk)) ||
        (job_is_waste(e, j) && c->batch == e->place.batch.number) || !queue_is_of(q, c->ask.tenant))
        return;
    if (q->hidden == HIDDEN_RECURRENCE) {
        census_recurrence(c, j, e->o.partition);
        return;
    }
    size_t step = census_step(&c->ask, j->timer.at_ms - late_ms);
    if (!c->ask.times && !q->hidden && j->state == JOB_SCHEDULED && step < c->ask.n &&
        (c->ask.queue.len == 0 || str_eq(q->kind->by_name.name, c->ask.queue)))
        c->jobs[step]++;
}

/* Stripes are visited in the order of their numbers, so a job's stripe tells whether it was. */
static bool was_visited(const struct census *c, const struct job *j)
{
    return (j->seq & ((UINT64_C(1) << c->stripes_log2) - 1)) < c->stripe;
}

struct visit {
    const struct engine *e;
    struct census *c;
};

static int visit_job(void *arg, struct table_node *node)
{
    const struct visit *v = arg;

    census_job(v->e, v->c, container_of(node, struct job, by_seq));
    return 0;
}

void censuses_leave(struct engine *e, const struct job *j)
{
    list_each_of (struct census, c, &e->cold.censuses, link)
        if (!was_visited(c, j) && !MUTANT(e->o.mutant, CENSUS_LEFT))
            census_job(e, c, j);
}

/* ---- From disk ---- */

static int by_point(const void *a, const void *b)
{
    const struct cold_point *x = a, *y = b;

    return point_after(*x, *y) ? 1 : point_after(*y, *x) ? -1 : 0;
}

/* Graves go when they are fed, or when the frontier has passed them. So the census keeps those that
 * there were. There are some ten thousand at most: see GRAVES_MAX. NOMEM. */
static int census_graves(const struct engine *e, struct census *c)
{
    c->graves = malloc((e->cold.graves.count + 1) * sizeof(*c->graves));
    if (!c->graves)
        return BELFRY_NOMEM;
    list_each_of (const struct grave, g, &e->cold.grave_list, link) {
        struct cold_point *p = &c->graves[c->grave_count];

        c->grave_count += g->key[0] == FAMILY_DUE &&
                          cold_key_point((struct str){ g->key, g->len }, p) &&
                          point_after(*p, e->place.frontier);
    }
    qsort(c->graves, c->grave_count, sizeof(*c->graves), by_point);
    return 0;
}

/* Whether an entry counted when the census began. */
static bool census_counts(const struct census *c, struct cold_point p)
{
    return !bsearch(&p, c->graves, c->grave_count, sizeof(p), by_point);
}

/* A merge that ends meanwhile would leave out the jobs that were loaded since. NOMEM. */
static int census_pin(const struct engine *e, struct census *c)
{
    c->runs = malloc((list_length(&e->cold.runs) + 1) * sizeof(struct cold_run *));
    if (!c->runs)
        return BELFRY_NOMEM;
    list_each_of (struct cold_run, r, &e->cold.runs, link)
        if (r->d.family == FAMILY_DUE && !r->unreadable) {
            r->pins++;
            c->runs[c->run_count++] = r;
        }
    return 0;
}

static void census_take(struct census *c)
{
    struct wire_reader in = wire_reader_of(buf_view(&c->found));

    for (size_t i = 0; i < c->point_count; i++) {
        size_t step = census_step(&c->ask, c->points[i].at_ms);

        if (step < c->ask.n && census_counts(c, c->points[i]))
            c->jobs[step]++;
    }
    c->point_count = 0;
    while (in.p < in.end) {
        struct cold_point p = { wire_zigzag(&in), wire_varint(&in) };
        struct str rule = wire_bytes(&in);

        if (census_counts(c, p)) {
            buf_str(&c->left, rule);
            c->hidden--;
        }
    }
    if (c->ask.times && c->hidden <= 0) /* the rest of D has no recurrences */
        c->disk_done = true;
    buf_reset(&c->found, 0);
}

/* ---- Rounds ---- */

/* Does the engine's part of a round. True: another round is needed. */
static bool census_round(struct engine *e, struct census *c)
{
    struct visit v = { e, c };

    census_take(c);
    c->lacks = c->lacks || c->left.failed || c->rules.failed || c->found.failed;
    if (c->rules_at == c->rules.len) {
        if (c->stripe >> c->stripes_log2 == 0) {
            table_each_stripe(&e->place.jobs, c->stripes_log2, c->stripe, visit_job, &v);
            c->stripe++;
        }
        buf_fini(&c->rules);
        c->rules = c->left;
        c->left = (struct buf){ 0 };
        c->rules_at = 0;
    }
    return c->rules.len > 0 || !c->disk_done || c->stripe >> c->stripes_log2 == 0;
}

/* How many censuses are under way, and how many of them are about a tenant. */
static int census_check(struct engine *e, struct str tenant)
{
    size_t all = 0, own = 0;

    list_each_of (const struct census, c, &e->cold.censuses, link) {
        all++;
        own += str_eq(c->ask.tenant, tenant);
    }
    return all < CENSUSES_MAX && own < TENANT_MAX ? 0 : BELFRY_BUSY;
}

/* The names of the request last only as long as its execution. */
static void census_keep(struct census *c, const struct census_ask *ask)
{
    c->ask = *ask;
    memcpy(c->tenant, ask->tenant.ptr, ask->tenant.len);
    c->ask.tenant.ptr = c->tenant;
    if (ask->queue.len > 0)
        memcpy(c->queue, ask->queue.ptr, ask->queue.len);
    c->ask.queue.ptr = c->queue;
}

static int census_begin(struct engine *e, const struct census_ask *ask, struct census **ret)
{
    size_t stripe = e->place.hidden_jobs > e->place.jobs.count / 16 ? STRIPE_RULES : STRIPE_JOBS;
    int err = census_check(e, ask->tenant);
    struct census *c = err ? NULL : calloc(1, sizeof(*c));

    if (!c)
        return err ? err : BELFRY_NOMEM;
    list_init(&c->link);
    c->points = malloc(CENSUS_PAGE * sizeof(*c->points));
    if (ask->times)
        c->times = malloc(ask->times * sizeof(*c->times));
    if (!c->points || (ask->times && !c->times) || census_graves(e, c) < 0 ||
        census_pin(e, c) < 0) {
        census_free(c);
        return BELFRY_NOMEM;
    }
    census_keep(c, ask);
    c->partial = ask->n;
    c->walk = walk_begin(e);
    c->batch = e->place.batch.fed ? e->place.batch.number : 0;
    while (e->place.jobs.count >> c->stripes_log2 > (size_t)engine_slice(e, (int)stripe))
        c->stripes_log2++;
    c->disk_done = e->cold.counts[COLD_DUE] == 0;
    c->hidden = e->cold.hidden_counts[COLD_DUE];
    /* A recurrence whose next time is behind the window may have had some in it. */
    c->disk_to_ms = ask->times && ask->from_ms <= e->now_ms ? INT64_MAX : ask->to_ms;
    /* A recurrence before the first step may have times in it. */
    bool near = e->cold.hidden_counts[COLD_DUE] > 0 || ask->from_ms <= e->place.frontier.at_ms;
    cold_key_due(&c->after, near ? e->place.frontier : (struct cold_point){ ask->from_ms, 0 });
    list_append(&e->cold.censuses, &c->link);
    *ret = c;
    return 0;
}

void census_free(struct census *c)
{
    if (!c)
        return;
    list_remove(&c->link);
    buf_fini(&c->left);
    buf_fini(&c->rules);
    buf_fini(&c->found);
    for (size_t i = 0; i < c->run_count; i++)
        c->runs[i]->pins--;
    free(c->times);
    free(c->runs);
    free(c->graves);
    free(c->points);
    free(c);
}

void censuses_free(struct engine *e)
{
    while (!list_empty(&e->cold.censuses))
        census_free(container_of(e->cold.censuses.next, struct census, link));
    e->cold.census = NULL;
}

uint64_t censuses_bytes(const struct engine *e)
{
    uint64_t bytes = 0;

    list_each_of (const struct census, c, &e->cold.censuses, link)
        bytes += CENSUS_BYTES + c->ask.times * sizeof(*c->times);
    return bytes;
}

struct census *engine_census(struct engine *e)
{
    struct census *c = e->cold.want.kind == WANT_CENSUS ? e->cold.census : NULL;

    if (c)
        e->cold.census = NULL;
    return c;
}

/* The census that the request goes on with, or a new one. */
static int census_of(struct engine *e, const struct census_ask *ask, struct census **ret)
{
    struct cold_answer *a = e->cold.answer;

    census_free(e->cold.census); /* a request that answered COLD was given up */
    e->cold.census = NULL;
    if (!a || !a->census)
        return census_begin(e, ask, ret);
    *ret = a->census;
    a->census = NULL;
    return 0;
}

int census_resume(struct engine *e, const struct census_ask *ask, struct census **ret)
{
    struct census *c;
    int err = census_of(e, ask, &c);

    if (err == BELFRY_BUSY)
        return engine_error(
            e, err,
            "as many requests of FORECAST and OCCURRENCES as can be made at a time are "
            "under way");
    if (err)
        return engine_plain(e, err);
    if (census_round(e, c)) {
        e->cold.want = (struct cold_want){ .kind = WANT_CENSUS };
        e->cold.census = c;
        return BELFRY_COLD;
    }
    *ret = c;
    return 0;
}
