/* SPDX-License-Identifier: MIT */
/* Queues that push: their settings, the ring in which they take turns, and their endpoints that are
 * left alone for a while. */
#include "engine/place/pushing.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/place/queue.h"
#include "engine/push.h"
#include "record/webhook.h"

static struct str keep(char **at, struct str s)
{
    struct str kept = { *at, s.len };

    if (s.len > 0) { /* else *at may be NULL */
        memcpy(*at, s.ptr, s.len);
        *at += s.len;
    }
    return kept;
}

/* Puts the queue into the ring of all queues that push, or into the ring of its kind. */
static int join_ring(struct engine *e, struct queue *q, bool pushes)
{
    struct kind *to = pushes ? kind_obtain(e, STR(PUSH_KIND)) : q->kind;
    struct kind *from = q->serves;

    if (!to)
        return BELFRY_NOMEM;
    if (to != from || q->parked) /* else it keeps its turn */
        queue_quits_ring(e, q);  /* queue_offer puts it back */
    q->serves = to;
    if (to == from)
        return 0;
    if (to != q->kind)
        to->queues++;
    if (from != q->kind) {
        from->queues--;
        kind_settle(e, from);
    }
    return 0;
}

/* Settings that are not the defaults are one piece of memory, with their texts behind them. */
struct own_settings {
    struct queue_settings s;
    char text[];
};

static size_t own_size(const struct queue_settings *s)
{
    return sizeof(struct own_settings) + s->push.url.len + s->push.headers.len +
           s->push.secrets.len;
}

size_t queue_settings_bytes(const struct queue_settings *s)
{
    return s == &queue_defaults ? 0 : pool_size(own_size(s));
}

static void own_free(struct engine *e, const struct queue_settings *s)
{
    if (s != &queue_defaults)
        pool_free(&e->place.known.pool, (void *)(uintptr_t)s, own_size(s));
}

int queue_settings_set(struct engine *e, struct queue *q, const struct queue_settings *s)
{
    const struct queue_settings *old = q->settings;
    bool usual = queue_settings_are_usual(s);
    struct own_settings *own = usual ? NULL : pool_alloc(&e->place.known.pool, own_size(s));

    if ((!usual && !own) || join_ring(e, q, s->push.url.len > 0) < 0) {
        pool_free(&e->place.known.pool, own, own_size(s));
        return BELFRY_NOMEM;
    }
    if (own) { /* The new texts may be slices of the old ones. */
        char *at = own->text;

        own->s = *s;
        own->s.push.url = keep(&at, s->push.url);
        own->s.push.headers = keep(&at, s->push.headers);
        own->s.push.secrets = keep(&at, s->push.secrets);
    }
    q->settings = own ? &own->s : &queue_defaults;
    standing_count(e, q, queue_settings_bytes(q->settings) - queue_settings_bytes(old));
    own_free(e, old);
    return 0;
}

void queue_settings_fini(struct engine *e, struct queue *q)
{
    if (q->serves != q->kind) {
        q->serves->queues--;
        kind_settle(e, q->serves);
    }
    own_free(e, q->settings);
}

/* ---- Endpoints that the host leaves alone ---- */

struct unwell {
    struct named by_key;
    struct list link;
    struct list queues; /* queues that wait for the endpoint, by queue.turn */
    int64_t until_ms;
    char text[]; /* the key */
};

static struct unwell *unwell_find(const struct engine *e, struct str key)
{
    struct named *found = named_find(&e->place.turns.unwell_table, key);

    return found ? container_of(found, struct unwell, by_key) : NULL;
}

static struct unwell *unwell_obtain(struct engine *e, struct str key)
{
    struct unwell *p = unwell_find(e, key);

    if (!p && (p = calloc(1, sizeof(*p) + key.len))) {
        named_add(&e->place.turns.unwell_table, &p->by_key, p->text, key);
        list_append(&e->place.turns.unwell_list, &p->link);
        list_init(&p->queues);
    }
    return p;
}

static void unwell_forget(struct engine *e, struct unwell *p)
{
    table_remove(&e->place.turns.unwell_table, &p->by_key.node);
    list_remove(&p->link);
    free(p);
}

/* Every queue that waits for an endpoint has its turn again, and is looked at anew then. */
static void queues_retry(struct engine *e, struct unwell *p)
{
    while (!list_empty(&p->queues)) {
        struct queue *q = container_of(p->queues.next, struct queue, turn);

        list_remove(&q->turn);
        queue_offer(e, q);
    }
}

void engine_endpoint_set(struct engine *e, struct str key, int64_t until_ms)
{
    struct unwell *p = until_ms < 0 ? unwell_find(e, key) : unwell_obtain(e, key);

    if (!p)
        return;
    p->until_ms = until_ms;
    if (until_ms < 0) {
        queues_retry(e, p);
        unwell_forget(e, p);
    }
}

/* The endpoint of a queue, if it is left alone. */
static struct unwell *queue_unwell(const struct engine *e, const struct queue *q)
{
    struct str tenant = tenant_name(q->tenant);
    struct endpoint_key key;
    struct push_url u;
    const char *why;

    if (!queue_pushes(q) || e->place.turns.unwell_table.count == 0 ||
        !push_url_parse(q->settings->push.url, &u, &why)) /* Each job has a URL of its own. */
        return NULL;
    endpoint_key_of_url(&key, tenant, &u);
    return unwell_find(e, endpoint_key_of(&key));
}

int64_t queue_endpoint_until(const struct engine *e, const struct queue *q)
{
    const struct unwell *p = queue_unwell(e, q);

    return p ? p->until_ms : -1;
}

void queue_wait_for_endpoint(struct engine *e, struct queue *q)
{
    struct unwell *p = queue_unwell(e, q);

    assert(p);
    list_append(&p->queues, &q->turn);
    q->parked = true;
}

void unwell_init(struct engine *e)
{
    named_init(&e->place.turns.unwell_table, e->o.secret);
    list_init(&e->place.turns.unwell_list);
}

void unwell_free(struct engine *e)
{
    while (!list_empty(&e->place.turns.unwell_list))
        unwell_forget(e, container_of(e->place.turns.unwell_list.next, struct unwell, link));
    table_fini(&e->place.turns.unwell_table);
}
