/* SPDX-License-Identifier: MIT */
#include "engine/holder.h"

#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/views/look.h"

static struct holder holder_of(const struct trail *t)
{
    return (struct holder){ tenant_name(t->job->queue->tenant), blob_str(t->worker) };
}

bool engine_holder(const struct engine *e, struct job_id id, uint64_t token, struct holder *ret)
{
    const struct job *j = job_of(e, id);

    if (!j || j->state != JOB_LEASED || j->trail->token != token)
        return false;
    *ret = holder_of(j->trail);
    return !e->scope.ptr || str_eq(e->scope, ret->tenant);
}

bool engine_holders(const struct engine *e, size_t most,
                    void (*fn)(void *arg, const struct holder *h), void *arg)
{
    list_each_of (struct trail, t, &e->place.leased, link) {
        struct holder h = holder_of(t);

        if (most-- == 0)
            return false;
        fn(arg, &h);
    }
    return true;
}
