/* SPDX-License-Identifier: MIT */
/* EXPLAIN. */
#include "verbs/handlers.h"

struct explained {
    struct job_id id;
    struct explanation x;
};

/* clang-format off */
#define OF struct explained
const struct shape_field explanation_fields[] = {
    SHOW_ID("id", id), SHOW_WORD("state", x.state, job_state_name, WORDS(JOB_STATES)),
    SHOW_WORD("reason", x.reason, reason_name, WORDS(REASONS)), SHOW_TEXT("why", x.why),
    SHOW_MOMENT("until_ms", x.until_ms, OR_NULL), SHOW_INT("ready_in_queue", x.ready),
    SHOW_MOMENT("deferred_until_ms", x.deferred_ms, OR_NULL), SHOW_INT("deferrals", x.deferrals),
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
