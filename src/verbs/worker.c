/* SPDX-License-Identifier: MIT */
#include "verbs/worker.h"

#include <stdlib.h>

#include "engine/holder.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#define HOLDERS_MAX 20000 /* leased jobs that one WORKERS looks at */

/* ---- The table ---- */

struct workers *workers_new(struct hash_key key)
{
    struct workers *ws = calloc(1, sizeof(*ws));

    if (ws) {
        named_init(&ws->table, key);
        list_init(&ws->all);
    }
    return ws;
}

static void worker_forget(struct workers *ws, struct worker *w)
{
    table_remove(&ws->table, &w->named.node);
    list_remove(&w->link);
    free(w);
}

void workers_free(struct workers *ws)
{
    if (!ws)
        return;
    list_each_of_safe (struct worker, w, &ws->all, link)
        worker_forget(ws, w);
    table_fini(&ws->table);
    free(ws);
}

size_t workers_bytes(const struct workers *ws)
{
    return ws ? sizeof(*ws) + ws->table.count * sizeof(struct worker) +
                    ws->table.buckets * sizeof(struct table_node *)
              : 0;
}

/* The address without its port. */
static struct str host_of(struct str address)
{
    const char *colon = address.len ? memrchr(address.ptr, ':', address.len) : NULL;
    size_t len = colon ? (size_t)(colon - address.ptr) : address.len;

    return (struct str){ address.ptr, len < WORKER_HOST ? len : WORKER_HOST };
}

static size_t put_part(char *to, struct str part)
{
    if (part.len)
        memcpy(to, part.ptr, part.len);
    to[part.len] = '\0';
    return part.len + 1;
}

/* What a worker is known by. Names are no longer than a name may be. */
static struct str key_of(struct str tenant, struct str name, struct str host,
                         char ret[2 * NAME_MAX_BYTES + WORKER_HOST + 3])
{
    size_t len = put_part(ret, tenant);

    name.len = name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES;
    len += put_part(ret + len, name);
    len += put_part(ret + len, name.len ? STR("") : host);
    return (struct str){ ret, len };
}

/* Makes room for another worker of the tenant. */
static void make_room(struct workers *ws, struct str tenant)
{
    struct worker *silent = NULL;
    size_t all = 0, own = 0;

    list_each_of (struct worker, w, &ws->all, link) {
        bool is_own = str_eq(w->tenant, tenant);

        silent = is_own && !silent ? w : silent;
        own += is_own;
        all++;
    }
    if (own >= WORKERS_TENANT_MAX)
        worker_forget(ws, silent);
    else if (all >= WORKERS_MAX)
        worker_forget(ws, container_of(ws->all.next, struct worker, link));
}

static struct worker *worker_new(struct workers *ws, struct str key, struct str tenant,
                                 struct str name, int64_t now_ms)
{
    struct worker *w;

    make_room(ws, tenant);
    w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    named_add(&ws->table, &w->named, w->text, key);
    w->tenant = (struct str){ w->text, tenant.len };
    w->name = (struct str){ w->text + tenant.len + 1,
                            name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES };
    w->first_ms = now_ms;
    w->asked_ms = -1;
    w->slot = now_ms / WORKER_SLOT_MS;
    list_init(&w->link);
    return w;
}

/* The worker that said the last word, if this is another word of it. Workers say many in a row. */
static struct worker *seen_last(const struct workers *ws, struct str tenant, struct str name,
                                struct str address)
{
    struct worker *w = container_of(ws->all.prev, struct worker, link);

    return !list_empty(&ws->all) && str_eq(w->name, name) && str_eq(w->tenant, tenant) &&
                   str_eq(address, str_of(w->address))
               ? w
               : NULL;
}

struct worker *workers_see(struct workers *ws, struct str tenant, struct str name,
                           struct str address, int64_t now_ms)
{
    char text[2 * NAME_MAX_BYTES + WORKER_HOST + 3];
    struct worker *w = seen_last(ws, tenant, name, address);
    struct str key;

    if (w) {
        w->seen_ms = now_ms;
        return w;
    }
    key = key_of(tenant, name, host_of(address), text);
    w = (struct worker *)named_find(&ws->table, key);
    if (!w)
        w = worker_new(ws, key, tenant, name, now_ms);
    if (!w)
        return NULL;
    list_move(&ws->all, &w->link);
    w->seen_ms = now_ms;
    if (address.len < sizeof(w->address) && !str_eq(address, str_of(w->address)))
        put_part(w->address, address);
    return w;
}

struct worker *workers_find(const struct workers *ws, struct str tenant, struct str name)
{
    char text[2 * NAME_MAX_BYTES + WORKER_HOST + 3];

    return (struct worker *)named_find(&ws->table, key_of(tenant, name, STR(""), text));
}

void worker_ask(struct worker *w, struct str queues, int64_t now_ms)
{
    size_t len = queues.len;

    if (len >= WORKER_QUEUES) /* whole names only */
        for (len = WORKER_QUEUES - 1; len > 0 && queues.ptr[len] != ',';)
            len--;
    put_part(w->queues, (struct str){ queues.ptr, len });
    w->asked_ms = now_ms;
}

/* Empties slots that are older than an hour. A clock that is set back changes nothing. */
static void turn_slots(struct worker *w, int64_t now_ms)
{
    int64_t slot = now_ms / WORKER_SLOT_MS;

    for (int n = 0; w->slot < slot && n < WORKER_SLOTS; n++) {
        w->slot = slot - w->slot > WORKER_SLOTS ? slot - WORKER_SLOTS + 1 : w->slot + 1;
        for (int kind = 0; kind < WORKER_COUNTS; kind++)
            w->counts[kind][w->slot % WORKER_SLOTS] = 0;
    }
}

void worker_count(struct worker *w, enum worker_count kind, int64_t now_ms)
{
    turn_slots(w, now_ms);
    w->counts[kind][w->slot % WORKER_SLOTS]++;
}

uint64_t worker_sum(struct worker *w, enum worker_count kind, int64_t now_ms)
{
    uint64_t sum = 0;

    turn_slots(w, now_ms);
    for (int i = 0; i < WORKER_SLOTS; i++)
        sum += w->counts[kind][i];
    return sum;
}

void workers_sweep(struct workers *ws, int64_t now_ms)
{
    list_each_of_safe (struct worker, w, &ws->all, link) {
        if (now_ms - w->seen_ms < WORKER_KEEP_MS)
            return;
        worker_forget(ws, w);
    }
}

/* ---- Words of workers ---- */

void verb_sees_ask(struct verb_call *c, struct str worker, struct str queues)
{
    int64_t now_ms = engine_now(c->engine);
    struct worker *w = c->host->workers
                           ? workers_see(c->host->workers, c->tenant, worker, c->address, now_ms)
                           : NULL;

    if (w)
        worker_ask(w, queues, now_ms);
}

struct worker *verb_sees_holder(struct verb_call *c, struct job_id id, uint64_t token)
{
    struct holder h;

    if (!c->host->workers || !engine_holder(c->engine, id, token, &h))
        return NULL;
    return workers_see(c->host->workers, h.tenant, h.worker, c->address, engine_now(c->engine));
}

/* ---- WORKERS ---- */

struct worker_view {
    const struct worker *w;
    struct str tenant;
    struct str name;
    struct str address;
    int64_t first_ms, seen_ms, asked_ms;
    int64_t running; /* -1: not known */
    uint64_t done, failed;
    bool partial;
};

static void put_queues(struct reply *r, const void *view)
{
    struct str rest = str_of(((const struct worker_view *)view)->w->queues), count = rest;
    size_t n = 0;

    for (; count.len; n++)
        str_cut(&count, ',');
    reply_array(r, n);
    while (rest.len)
        reply_bytes(r, str_cut(&rest, ','));
}

/* clang-format off */
#define OF struct worker_view
const struct shape_field worker_fields[] = {
    SHOW_TEXT("tenant", tenant), SHOW_BYTES("worker", name, OR_NULL), SHOW_TEXT("address", address),
    SHOW_OWN("queues", SHAPE_LIST, put_queues), SHOW_MOMENT("first_ms", first_ms),
    SHOW_MOMENT("seen_ms", seen_ms), SHOW_MOMENT("asked_ms", asked_ms, OR_NULL),
    SHOW_INT("running", running, OR_NULL), SHOW_INT("done", done), SHOW_INT("failed", failed),
    SHOW_BOOL("partial", partial), { 0 },
};
/* clang-format on */

static void count_running(void *arg, const struct holder *h)
{
    struct worker *w = h->worker.len ? workers_find(arg, h->tenant, h->worker) : NULL;

    if (w)
        w->running++;
}

static struct worker_view view_of(struct worker *w, int64_t now_ms, bool partial)
{
    return (struct worker_view){
        .w = w,
        .tenant = w->tenant,
        .name = w->name,
        .address = str_of(w->address),
        .first_ms = w->first_ms,
        .seen_ms = w->seen_ms,
        .asked_ms = w->asked_ms,
        .running = w->name.len ? (int64_t)w->running : -1,
        .done = worker_sum(w, WORKER_DONE, now_ms),
        .failed = worker_sum(w, WORKER_FAILED, now_ms),
        .partial = partial,
    };
}

void run_workers(struct verb_call *c)
{
    struct workers *ws = c->host->workers;
    struct page page = { .call = c, .fields = worker_fields };
    struct listing l = LISTING;
    int64_t now_ms = engine_now(c->engine);
    bool all = str_eq(c->tenant, STR(TENANT_ALL)), partial;

    args_store(c, &l);
    page_begin(&page);
    if (ws) {
        workers_sweep(ws, now_ms);
        list_each_of (struct worker, w, &ws->all, link)
            w->running = 0;
        partial = !engine_holders(c->engine, HOLDERS_MAX, count_running, ws);
        for (struct list *at = ws->all.prev; at != &ws->all && page.n < l.limit; at = at->prev) {
            struct worker *w = container_of(at, struct worker, link);
            struct worker_view v = view_of(w, now_ms, partial);

            if (all || str_eq(w->tenant, c->tenant))
                page_add(&page, &v);
        }
    }
    page_end(&page, 0, "");
}
