/* SPDX-License-Identifier: MIT */
/* EXPLAIN. */
#include "verbs/handlers.h"

void run_explain(struct verb_call *c)
{
    struct reply *r = c->reply;
    struct explanation x;
    struct job_id id;
    int err = job_named(c, &id);

    if (err == BELFRY_INVALID)
        return;
    if (!err)
        err = engine_explain(c->engine, id, &x);
    if (err == BELFRY_NOTFOUND) {
        reply_null(r);
        return;
    }
    if (err) {
        verb_error(c, err, engine_detail(c->engine));
        return;
    }
    reply_map(r, 8);
    reply_text(r, "id");
    reply_id(r, id);
    reply_text(r, "state");
    reply_text(r, job_state_name(x.state));
    reply_text(r, "reason");
    reply_text(r, reason_name(x.reason));
    reply_text(r, "why");
    reply_text(r, x.why);
    reply_text(r, "until_ms");
    if (x.until_ms >= 0)
        reply_integer(r, x.until_ms);
    else
        reply_null(r);
    reply_field(r, "ready_in_queue", (int64_t)x.ready);
    reply_text(r, "deferred_until");
    if (x.deferred_ms >= 0)
        reply_integer(r, x.deferred_ms);
    else
        reply_null(r);
    reply_field(r, "deferrals", x.deferrals);
}
