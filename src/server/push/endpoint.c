/* SPDX-License-Identifier: MIT */
#include "server/push/endpoint.h"

#include <stdlib.h>

#include "base/named.h"

struct endpoint {
    struct named named; /* first: by its key */
    struct list link;
    unsigned failures; /* in a row, while it is closed */
    unsigned opened;   /* times in a row; 0: it is closed */
    bool probing;      /* A request that decides is on its way. */
    int64_t until_ms;  /* of an open one */
    char key[];
};

static struct endpoint *endpoint_find(const struct endpoints *eps, struct str key)
{
    return (struct endpoint *)named_find(&eps->table, key);
}

static void endpoint_forget(struct endpoints *eps, struct endpoint *p)
{
    table_remove(&eps->table, &p->named.node);
    list_remove(&p->link);
    eps->open -= p->opened > 0;
    free(p);
}

/* Forgets the endpoint that matters least: a closed one, else the one that is tried first. */
static void forget_one(struct endpoints *eps)
{
    struct endpoint *least = NULL;

    list_each_of (struct endpoint, p, &eps->all, link)
        if (!least || (p->opened ? p->until_ms : -1) < (least->opened ? least->until_ms : -1))
            least = p;
    if (!least)
        return;
    if (least->opened > 0) {
        eps->forgot.len = least->named.name.len;
        memcpy(eps->forgot.text, least->key, eps->forgot.len);
    }
    endpoint_forget(eps, least);
}

/* NULL if out of memory: then the endpoint counts as well. */
static struct endpoint *endpoint_obtain(struct endpoints *eps, struct str key)
{
    struct endpoint *p = endpoint_find(eps, key);

    if (p)
        return p;
    if (eps->table.count >= ENDPOINTS_MAX)
        forget_one(eps);
    p = calloc(1, sizeof(*p) + key.len);
    if (!p)
        return NULL;
    named_add(&eps->table, &p->named, p->key, key);
    list_append(&eps->all, &p->link);
    return p;
}

void endpoints_init(struct endpoints *eps, uint64_t seed, struct hash_key key)
{
    *eps = (struct endpoints){ .random = seed | 1 };
    named_init(&eps->table, key);
    list_init(&eps->all);
}

void endpoints_fini(struct endpoints *eps)
{
    while (!list_empty(&eps->all))
        endpoint_forget(eps, container_of(eps->all.next, struct endpoint, link));
    table_fini(&eps->table);
}

int64_t endpoint_until(const struct endpoints *eps, struct str key, int64_t now_ms)
{
    const struct endpoint *p = endpoint_find(eps, key);

    if (!p || p->opened == 0)
        return -1;
    if (p->probing)
        return now_ms + ENDPOINT_PROBING_MS;
    return p->until_ms > now_ms ? p->until_ms : -1;
}

bool endpoint_begin(struct endpoints *eps, struct str key, int64_t now_ms)
{
    struct endpoint *p = endpoint_find(eps, key);

    if (!p || p->opened == 0)
        return true;
    if (p->probing || p->until_ms > now_ms)
        return false;
    p->probing = true;
    return true;
}

/* Three quarters to five quarters of a pause, so that not all endpoints come back at once. */
static int64_t around(struct endpoints *eps, int64_t ms)
{
    eps->random ^= eps->random << 13;
    eps->random ^= eps->random >> 7;
    eps->random ^= eps->random << 17;
    return ms - ms / 4 + (int64_t)(eps->random % (uint64_t)(ms / 2 + 1));
}

static void open_it(struct endpoints *eps, struct endpoint *p, int64_t now_ms)
{
    int64_t pause = ENDPOINT_PAUSE;

    for (unsigned i = 0; i < p->opened && pause < ENDPOINT_PAUSE_MAX; i++)
        pause *= 2;
    if (pause > ENDPOINT_PAUSE_MAX)
        pause = ENDPOINT_PAUSE_MAX;
    eps->open += p->opened == 0;
    p->opened++;
    p->probing = false;
    p->until_ms = now_ms + around(eps, pause);
}

enum endpoint_change endpoint_end(struct endpoints *eps, struct str key, int64_t now_ms, bool well)
{
    struct endpoint *p = well ? endpoint_find(eps, key) : endpoint_obtain(eps, key);
    bool was_open;

    if (!p)
        return ENDPOINT_SAME;
    was_open = p->opened > 0;
    if (well) {
        endpoint_forget(eps, p);
        return was_open ? ENDPOINT_CLOSED : ENDPOINT_SAME;
    }
    /* A request that was on its way when the circuit opened tells nothing new. */
    if (was_open ? p->probing : ++p->failures >= ENDPOINT_FAILURES)
        open_it(eps, p, now_ms);
    return !was_open && p->opened > 0 ? ENDPOINT_OPENED : ENDPOINT_SAME;
}

bool endpoint_drop(struct endpoints *eps, struct str key)
{
    struct endpoint *p = endpoint_find(eps, key);
    bool probed = p && p->probing;

    if (p)
        p->probing = false;
    return probed;
}

bool endpoints_forgot(struct endpoints *eps, struct endpoint_key *ret)
{
    bool forgot = eps->forgot.len > 0;

    *ret = eps->forgot;
    eps->forgot.len = 0;
    return forgot;
}

void endpoints_each(const struct endpoints *eps, int64_t now_ms,
                    void (*fn)(void *arg, struct str key, int64_t until_ms), void *arg)
{
    list_each_of (const struct endpoint, p, &eps->all, link)
        if (p->opened)
            fn(arg, p->named.name,
               p->probing ? now_ms : endpoint_until(eps, p->named.name, now_ms));
}

int64_t endpoints_next(const struct endpoints *eps, int64_t now_ms)
{
    int64_t next = INT64_MAX;

    if (eps->open == 0)
        return next;
    list_each_of (const struct endpoint, p, &eps->all, link)
        if (p->opened && !p->probing && p->until_ms > now_ms && p->until_ms < next)
            next = p->until_ms;
    return next;
}
