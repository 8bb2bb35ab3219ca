/* SPDX-License-Identifier: MIT */
#include "verbs/overview.h"

#include <stdlib.h>

#include "verbs/handlers.h"

/* ---- Scopes ---- */

struct overviews *overviews_new(struct hash_key key)
{
    struct overviews *os = calloc(1, sizeof(*os));

    if (os) {
        named_init(&os->table, key);
        list_init(&os->all);
    }
    return os;
}

static void overview_forget(struct overviews *os, struct overview *o)
{
    table_remove(&os->table, &o->named.node);
    list_remove(&o->link);
    os->n--;
    free(o);
}

void overviews_free(struct overviews *os)
{
    if (!os)
        return;
    list_each_of_safe (struct overview, o, &os->all, link)
        overview_forget(os, o);
    table_fini(&os->table);
    free(os);
}

size_t overviews_bytes(const struct overviews *os)
{
    return os ? sizeof(*os) + os->n * sizeof(struct overview) +
                    os->table.buckets * sizeof(struct table_node *)
              : 0;
}

/* NULL: there is no memory. */
static struct overview *overview_of(struct overviews *os, struct str scope)
{
    struct overview *o = (struct overview *)named_find(&os->table, scope);

    if (!o) {
        if (os->n == OVERVIEW_SCOPES)
            overview_forget(os, container_of(os->all.next, struct overview, link));
        o = calloc(1, sizeof(*o));
        if (!o)
            return NULL;
        named_add(&os->table, &o->named, o->text, scope);
        list_init(&o->link);
        os->n++;
    }
    list_move(&os->all, &o->link);
    return o;
}

/* ---- Rankings ---- */

void ranking_add(struct ranking *r, enum overview_kind kind, struct str name, uint64_t score)
{
    struct overview_place *places = r->places[kind];
    size_t at = r->n[kind];

    if (score == 0)
        return;
    r->counts[kind]++;
    while (at > 0 && places[at - 1].score < score)
        at--;
    if (at == OVERVIEW_ROWS)
        return;
    if (r->n[kind] < OVERVIEW_ROWS)
        r->n[kind]++;
    memmove(places + at + 1, places + at, (r->n[kind] - at - 1) * sizeof(*places));
    places[at].score = score;
    places[at].len = name.len;
    memcpy(places[at].name, name.ptr, name.len);
}

/* A score is 0 if the queue is not of the kind. */
static uint64_t queue_score(const struct queue_view *v, enum overview_kind kind)
{
    uint64_t ready = v->jobs[JOB_READY], busy = ready + v->jobs[JOB_LEASED];

    switch (kind) {
    case OVERVIEW_BUSY: return busy;
    case OVERVIEW_HELD: return v->hold != HOLD_NONE ? busy : 0;
    case OVERVIEW_UNSERVED:
        return v->hold == HOLD_NONE && !v->settings->push.url.len && !v->waiters ? ready : 0;
    case OVERVIEW_DEAD: return v->jobs[JOB_DEAD];
    default: return 0;
    }
}

static uint64_t tenant_score(const struct tenant_view *v)
{
    uint64_t most = (uint64_t)v->settings->max_pending;
    bool near = most > 0 && v->pending >= most - most / 10;

    return v->shut || v->settings->paused || v->quiet_until_ms >= 0 || near ? v->pending + 1 : 0;
}

/* ---- Passes ---- */

static void pass_note(struct overview *o, struct str name)
{
    memcpy(o->after, name.ptr, name.len);
    o->after_len = name.len;
}

static int pass_queue(void *arg, const struct queue_view *v)
{
    struct overview *o = arg;

    for (int kind = 0; kind < OVERVIEW_GATED; kind++)
        ranking_add(&o->made, kind, v->name, queue_score(v, kind));
    o->made.queues++;
    pass_note(o, v->name);
    return 0;
}

static int pass_tenant(void *arg, const struct tenant_view *v)
{
    struct overview *o = arg;

    ranking_add(&o->made, OVERVIEW_GATED, v->name, tenant_score(v));
    o->made.tenants++;
    pass_note(o, v->name);
    return 0;
}

/* Looks at the next queues. */
static void pass_queues(struct overview *o, const struct engine *e)
{
    uint64_t before = o->made.queues;
    char from[QUEUE_MAX_BYTES];

    memcpy(from, o->after, o->after_len);
    engine_queues(e, o->named.name, (struct str){ from, o->after_len }, OVERVIEW_STRIDE, pass_queue,
                  o);
    if (o->made.queues - before < OVERVIEW_STRIDE) {
        o->at_tenants = true;
        o->after_len = 0;
    }
}

/* Looks at the next tenants, or at the tenant of the scope. Whether there are no more. */
static bool pass_tenants(struct overview *o, const struct engine *e)
{
    uint64_t before = o->made.tenants;
    char from[QUEUE_MAX_BYTES];
    struct tenant_view v;

    memcpy(from, o->after, o->after_len);
    if (str_eq(o->named.name, STR(TENANT_ALL)))
        engine_tenants(e, (struct str){ from, o->after_len }, OVERVIEW_TENANTS, pass_tenant, o);
    else if (engine_tenant_get(e, o->named.name, &v) == 0)
        pass_tenant(o, &v);
    return o->made.tenants - before < OVERVIEW_TENANTS;
}

/* Whether so much time has passed. A clock that was set back is not waited for. */
static bool is_over(int64_t since_ms, int64_t pause_ms, int64_t now_ms)
{
    return now_ms < since_ms || now_ms - since_ms >= pause_ms;
}

/* Goes on with the pass, or begins one, if it is time. */
static void overview_move(struct overview *o, const struct engine *e, int64_t now_ms)
{
    if (o->making ? !is_over(o->moved_ms, OVERVIEW_PACE_MS, now_ms)
                  : o->is_done && !is_over(o->done.at_ms, OVERVIEW_REST_MS, now_ms))
        return;
    if (!o->making) {
        memset(&o->made, 0, sizeof(o->made));
        o->making = true;
        o->at_tenants = false;
        o->after_len = 0;
    }
    o->moved_ms = now_ms;
    if (!o->at_tenants)
        pass_queues(o, e);
    if (o->at_tenants && pass_tenants(o, e)) {
        o->done = o->made;
        o->done.at_ms = now_ms;
        o->is_done = true;
        o->making = false;
    }
}

/* ---- OVERVIEW ---- */

struct overview_view {
    const struct engine *e;
    const struct ranking *r;
    uint64_t queues, tenants;
    uint64_t held, unserved, dead, gated;
    int64_t at_ms; /* -1: no pass has ended */
    size_t limit;
};

/* The present figures of a place; false if it is no more what the pass found. */
static bool queue_now(const struct overview_view *v, enum overview_kind kind, size_t i,
                      struct queue_view *ret)
{
    const struct overview_place *p = &v->r->places[kind][i];

    return engine_queue_get(v->e, (struct str){ p->name, p->len }, ret) == 0 &&
           queue_score(ret, kind) > 0;
}

static bool tenant_now(const struct overview_view *v, size_t i, struct tenant_view *ret)
{
    const struct overview_place *p = &v->r->places[OVERVIEW_GATED][i];

    return engine_tenant_get(v->e, (struct str){ p->name, p->len }, ret) == 0 &&
           tenant_score(ret) > 0;
}

static void put_queues(struct reply *r, const struct overview_view *v, enum overview_kind kind)
{
    size_t n = v->r->n[kind] < v->limit ? v->r->n[kind] : v->limit, shown = 0;
    struct queue_view q;
    size_t from = r->ops->array_begin(r);

    for (size_t i = 0; i < n; i++)
        if (queue_now(v, kind, i, &q)) {
            shape_put(r, glance_fields, &q);
            shown++;
        }
    r->ops->array_end(r, from, shown);
}

static void put_busy(struct reply *r, const void *view)
{
    put_queues(r, view, OVERVIEW_BUSY);
}

static void put_held(struct reply *r, const void *view)
{
    put_queues(r, view, OVERVIEW_HELD);
}

static void put_unserved(struct reply *r, const void *view)
{
    put_queues(r, view, OVERVIEW_UNSERVED);
}

static void put_dead(struct reply *r, const void *view)
{
    put_queues(r, view, OVERVIEW_DEAD);
}

static void put_gated(struct reply *r, const void *view)
{
    const struct overview_view *v = view;
    size_t n = v->r->n[OVERVIEW_GATED] < v->limit ? v->r->n[OVERVIEW_GATED] : v->limit, shown = 0;
    struct tenant_view t;
    size_t from = r->ops->array_begin(r);

    for (size_t i = 0; i < n; i++)
        if (tenant_now(v, i, &t)) {
            shape_put(r, tenant_fields, &t);
            shown++;
        }
    r->ops->array_end(r, from, shown);
}

/* clang-format off */
#define OF struct counters
static const struct shape_field total_fields[] = {
    SHOW_INT("total_scheduled", scheduled), SHOW_INT("total_succeeded", succeeded), SHOW_INT("total_failed", failed),
    SHOW_INT("total_stalled", stalled), SHOW_INT("total_deferred", deferred), { 0 },
};
#undef OF
#define OF struct queue_settings
static const struct shape_field setting_fields[] = {
    SHOW_INT("max_running", max_running), SHOW_TEXT("push_url", push.url, OR_NULL), { 0 },
};
#undef OF
#define STATE(name, text, part, next) SHOW_INT(text, jobs[JOB_##name]),
#define OF struct queue_view
const struct shape_field glance_fields[] = {
    SHOW_TENANT(name), SHOW_QUEUE(name), SHOW_WORD("held_by", hold, hold_text, OR_NULL),
    JOB_STATES(STATE)
    SHOW_INT("waiting_workers", waiters), SHOW_MOMENT("oldest_ms", oldest_ms, OR_NULL),
    SHOW_MOMENT("asked_ms", asked_ms, OR_NULL),
    SHOW_PART(settings, struct queue_settings, setting_fields),
    SHOW_PART(counters, struct counters, total_fields), { 0 },
};
#undef OF
#define OF struct overview_view
const struct shape_field overview_fields[] = {
    SHOW_MOMENT("at_ms", at_ms, OR_NULL), SHOW_INT("queues", queues), SHOW_INT("tenants", tenants),
    SHOW_INT("held_queues", held), SHOW_INT("unserved_queues", unserved), SHOW_INT("dead_queues", dead),
    SHOW_INT("gated_tenants", gated),
    SHOW_MAPS("busy", "Glance", put_busy), SHOW_MAPS("held", "Glance", put_held), SHOW_MAPS("unserved", "Glance", put_unserved),
    SHOW_MAPS("dead", "Glance", put_dead), SHOW_MAPS("gated", "Tenant", put_gated), { 0 },
};
/* clang-format on */

static void ranking_show(struct verb_call *c, const struct ranking *r, size_t limit, bool is_done)
{
    struct overview_view v = {
        .e = c->engine,
        .r = r,
        .queues = r->queues,
        .tenants = r->tenants,
        .held = r->counts[OVERVIEW_HELD],
        .unserved = r->counts[OVERVIEW_UNSERVED],
        .dead = r->counts[OVERVIEW_DEAD],
        .gated = r->counts[OVERVIEW_GATED],
        .at_ms = is_done ? r->at_ms : -1,
        .limit = limit,
    };

    shape_put(c->reply, overview_fields, &v);
}

void run_overview(struct verb_call *c)
{
    struct overview *o = c->host->overviews ? overview_of(c->host->overviews, c->tenant) : NULL;
    struct listing l = LISTING;

    args_store(c, &l);
    if (!o) {
        verb_error(c, BELFRY_NOMEM, NULL);
        return;
    }
    overview_move(o, c->engine, engine_now(c->engine));
    ranking_show(c, o->is_done ? &o->done : &o->made, l.limit, o->is_done);
}
