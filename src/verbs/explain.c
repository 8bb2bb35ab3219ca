/* SPDX-License-Identifier: MIT */
/* EXPLAIN. */
#include "verbs/handlers.h"

struct explained {
    struct job_id id;
    struct explanation x;
};

/* clang-format off */
#define OF struct cause
const struct shape_field cause_fields[] = {
    SHOW_WORD("reason", reason, reason_name, WORDS(REASONS)), SHOW_TEXT("why", why),
    SHOW_MOMENT("until_ms", until_ms, OR_NULL), { 0 },
};
#undef OF
/* clang-format on */

static void put_then(struct reply *r, const void *view)
{
    const struct explanation *x = &((const struct explained *)view)->x;

    reply_array(r, x->cause_count - 1);
    for (size_t i = 1; i < x->cause_count; i++)
        shape_put(r, cause_fields, &x->causes[i]);
}

/* clang-format off */
#define OF struct explained
const struct shape_field explanation_fields[] = {
    SHOW_ID("id", id), SHOW_WORD("state", x.state, job_state_name, WORDS(JOB_STATES)),
    SHOW_WORD("reason", x.reason, reason_name, WORDS(REASONS)), SHOW_TEXT("why", x.why),
    SHOW_MOMENT("until_ms", x.until_ms, OR_NULL), SHOW_INT("ready_in_queue", x.ready),
    SHOW_MOMENT("deferred_until_ms", x.deferred_ms, OR_NULL), SHOW_INT("deferrals", x.deferrals),
    SHOW_MAPS("then", "Cause", put_then), SHOW_MOMENT("at_ms", x.at_ms, OR_NULL),
    SHOW_INT("ahead", x.ahead, OR_NULL), SHOW_INT("ahead_most", x.ahead_most, OR_NULL),
    SHOW_ID("first", x.first, OR_NULL), SHOW_MOMENT("asked_ms", x.asked_ms, OR_NULL),
    SHOW_INT("attempt", x.attempt), SHOW_INT("attempts", x.attempts), SHOW_BYTES("error", x.error, OR_NULL),
    SHOW_MOMENT("ended_ms", x.ended_ms, OR_NULL), SHOW_ID("parent", x.parent, OR_NULL),
    { 0 },
};
/* clang-format on */

void run_explain(struct verb_call *c)
{
    struct explained shown;
    int err = job_named(c, &shown.id);

    if (!err)
        err = engine_explain(c->engine, shown.id, &shown.x);
    if (!verb_missing(c, err))
        shape_put(c->reply, explanation_fields, &shown);
}
