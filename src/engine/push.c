/* SPDX-License-Identifier: MIT */
#include "engine/push.h"

#include <stdlib.h>

#include "engine/internal.h"

int push_settings_check(struct engine *e, const struct push_settings *s)
{
    const char *field, *why = push_settings_why(s, &field);

    /* Else whoever adds a job has them sent to a place of their choice. */
    if (!why && push_is_by_job(s) && s->headers.len > 0)
        return engine_error(e, BELFRY_INVALID,
                            "push_headers: expected none where push_url is `job`: whoever "
                            "schedules a job would have them sent to any URL");
    return why ? engine_error(e, BELFRY_INVALID, "%s: %s", field, why) : 0;
}

int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s)
{
    bool by_job = q && str_eq(q->settings.push.url, STR(PUSH_BY_JOB));
    struct push_url u;
    const char *why;

    if (s->push.len == 0)
        return by_job ? engine_error(e, BELFRY_INVALID,
                                     "push: expected a URL, as the queue's push_url is `job`")
                      : 0;
    if (!push_url_parse(s->push, &u, &why))
        return engine_error(e, BELFRY_INVALID, "push: %s", why);
    return by_job ? 0
                  : engine_error(e, BELFRY_INVALID,
                                 "push: a job has a URL of its own only where the queue's push_url "
                                 "is `job`");
}

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
    struct str tenant = { q->tenant->name, q->tenant->name_len };

    if (!queue_pushes(q) || !e->o.endpoint_until || push_is_by_job(&q->settings.push))
        return -1;
    return e->o.endpoint_until(e->o.host, tenant, q->settings.push.url, e->now_ms);
}

bool tenant_pushes_full(const struct engine *e, const struct queue *q)
{
    struct str tenant = { q->tenant->name, q->tenant->name_len };

    return queue_pushes(q) && e->o.pushes_full && e->o.pushes_full(e->o.host, tenant);
}

struct str engine_push_url(const struct engine *e, const struct job *j,
                           const struct push_settings **ret)
{
    const struct push_settings *s = &j->queue->settings.push;
    struct job_opts o;

    (void)e;
    *ret = s;
    if (!str_eq(s->url, STR(PUSH_BY_JOB)))
        return s->url;
    job_opts_get(j, &o);
    return o.push;
}

void engine_push_wake(struct engine *e)
{
    while (!list_empty(&e->unwell)) {
        struct queue *q = container_of(e->unwell.next, struct queue, turn);

        list_remove(&q->turn);
        queue_offer(e, q);
    }
}

void engine_push_room(struct engine *e, struct str tenant)
{
    struct tenant *t = tenant_find(e, tenant);

    if (t)
        tenant_unpark(e, t);
}

bool engine_pushes(const struct engine *e, struct str name)
{
    const struct queue *q = queue_find(e, name);

    return q && queue_pushes(q);
}
