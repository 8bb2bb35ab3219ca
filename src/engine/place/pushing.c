/* SPDX-License-Identifier: MIT */
/* Queues that push: their settings, the ring that they give in, and what holds them. */
#include "engine/place/pushing.h"

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

/* It gives in the ring of all that push, or in that of its kind. */
static int join_ring(struct engine *e, struct queue *q, bool pushes)
{
    struct kind *to = pushes ? kind_obtain(e, STR(PUSH_KIND)) : q->kind;
    struct kind *from = q->serves;

    if (!to)
        return BELFRY_NOMEM;
    if (to != from || q->parked) /* else it keeps its turn */
        list_remove(&q->turn);   /* queue_offer puts it back */
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

int queue_push_set(struct engine *e, struct queue *q, const struct push_settings *s)
{
    size_t size = s->url.len + s->headers.len + s->secrets.len;
    char *text = size ? malloc(size) : NULL, *at = text;

    if ((size && !text) || join_ring(e, q, s->url.len > 0) < 0) {
        free(text);
        return BELFRY_NOMEM;
    }
    /* What is set may be what it has. */
    q->settings.push = (struct push_settings){
        .url = keep(&at, s->url),
        .headers = keep(&at, s->headers),
        .secrets = keep(&at, s->secrets),
        .timeout_ms = s->timeout_ms,
        .concurrency = s->concurrency,
    };
    free(q->push_text);
    q->push_text = text;
    return 0;
}

void queue_push_fini(struct engine *e, struct queue *q)
{
    if (q->serves != q->kind) {
        q->serves->queues--;
        kind_settle(e, q->serves);
    }
    free(q->push_text);
}

int64_t queue_endpoint_until(const struct engine *e, const struct queue *q)
{
    struct str tenant = tenant_name(q->tenant);

    if (!queue_pushes(q) || !e->o.endpoint_until || push_is_by_job(&q->settings.push))
        return -1;
    return e->o.endpoint_until(e->o.host, tenant, q->settings.push.url, e->now_ms);
}

bool tenant_pushes_full(const struct engine *e, const struct queue *q)
{
    struct str tenant = tenant_name(q->tenant);

    return queue_pushes(q) && e->o.pushes_full && e->o.pushes_full(e->o.host, tenant);
}
