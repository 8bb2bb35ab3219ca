/* SPDX-License-Identifier: MIT */
/* Requests that wait for the end of a job. */
#include "engine/await.h"

#include "engine/place/awaited.h"
#include "engine/place/detail.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"

#define LOOK_AGAIN_MS 100 /* an expiry that is over takes effect in a slice of engine_advance */

int64_t engine_now_mono(const struct engine *e)
{
    return e->mono_ms;
}

/* A job on disk expires by time alone, which no record says. So the request looks again then. */
static int64_t wait_until(const struct engine *e, const struct job_view *v, int64_t until_ms)
{
    int64_t left_ms = v->expires_ms - e->now_ms;

    if (!state_is_ahead(v->state) || v->expires_ms < 0)
        return until_ms;
    if (left_ms < LOOK_AGAIN_MS)
        left_ms = LOOK_AGAIN_MS;
    return left_ms < until_ms - e->mono_ms ? e->mono_ms + left_ms : until_ms;
}

int engine_await(struct engine *e, const struct job_view *v, int64_t until_ms, void *owner,
                 struct waiter **ret)
{
    struct tenant *t = tenant_find(e, v->tenant);
    int err = tenant_refuses_waiter(e, t);
    struct waiter *w;

    if (err)
        return err;
    w = waiter_new(e, 0, wait_until(e, v, until_ms), owner);
    if (!w)
        return engine_plain(e, BELFRY_NOMEM);
    if (awaited_join(e, v->id.seq, t, w) < 0) {
        engine_wait_cancel(e, w);
        return engine_plain(e, BELFRY_NOMEM);
    }
    *ret = w;
    return 0;
}
