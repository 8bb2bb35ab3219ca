/* SPDX-License-Identifier: MIT */
#include "engine/push.h"

#include <stdlib.h>

#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/opts.h"
#include "record/webhook.h"

int push_settings_check(struct engine *e, const struct push_settings *s)
{
    const char *field, *why = push_settings_why(s, &field);

    /* Else a producer could have them sent to a place of its choice. */
    if (!why && push_is_by_job(s) && s->headers.len > 0)
        return engine_error(e, BELFRY_INVALID,
                            "push_headers: expected none where push_url is `job`: whoever "
                            "schedules a job would have them sent to any URL");
    return why ? engine_error(e, BELFRY_INVALID, "%s: %s", field, why) : 0;
}

int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s)
{
    bool by_job = q && str_eq(q->settings->push.url, STR(PUSH_BY_JOB));
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

struct str engine_push_url(const struct engine *e, const struct job *j,
                           const struct push_settings **ret)
{
    const struct push_settings *s = &j->queue->settings->push;
    struct job_opts o;

    (void)e;
    *ret = s;
    if (!str_eq(s->url, STR(PUSH_BY_JOB)))
        return s->url;
    job_opts_get(j, &o);
    return o.push;
}

void engine_pushes_set(struct engine *e, struct str tenant, bool full)
{
    struct tenant *t = tenant_find(e, tenant);

    if (!t)
        return;
    t->pushes_full = full;
    if (!full) {
        tenant_unpark(e, t);
        tenant_settle(e, t);
    }
}

bool engine_pushes(const struct engine *e, struct str name)
{
    const struct queue *q = queue_find(e, name);

    return q && queue_pushes(q);
}
