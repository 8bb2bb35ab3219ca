/* SPDX-License-Identifier: MIT */
/* FORECAST. */
#include "engine/census.h"
#include "verbs/handlers.h"

#include <inttypes.h>
#include <stdio.h>

#define STEP_MS INT64_C(3600000)
#define SPAN_MS (24 * STEP_MS)

struct step {
    int64_t from_ms;
    int64_t to_ms;
    uint64_t jobs;
    uint64_t recurring;
    bool partial;
};

#define OF struct step
const struct shape_field step_fields[] = {
    SHOW_MOMENT("from_ms", from_ms),  SHOW_MOMENT("to_ms", to_ms),   SHOW_INT("jobs", jobs),
    SHOW_INT("recurring", recurring), SHOW_BOOL("partial", partial), { 0 },
};

/* What the arguments ask for. False after an error reply. */
static bool forecast_of(struct verb_call *c, struct census_ask *ret)
{
    struct forecast f = { engine_now(c->engine), -1, STEP_MS, { 0 } };
    int64_t steps;
    char why[128];

    args_store(c, &f);
    if (f.to_ms < 0)
        f.to_ms = f.from_ms + SPAN_MS;
    if (f.to_ms <= f.from_ms) {
        verb_error(c, BELFRY_INVALID, "to: expected a moment after from");
        return false;
    }
    steps = (f.to_ms - f.from_ms - 1) / f.step_ms + 1;
    if (steps > CENSUS_STEPS) {
        snprintf(why, sizeof(why), "step: %" PRId64 " steps, the limit is %d", steps, CENSUS_STEPS);
        verb_error(c, BELFRY_INVALID, why);
        return false;
    }
    *ret = (struct census_ask){ .tenant = c->tenant,
                                .queue = f.queue,
                                .from_ms = f.from_ms,
                                .to_ms = f.to_ms,
                                .step_ms = f.step_ms,
                                .n = (size_t)steps };
    return true;
}

void run_forecast(struct verb_call *c)
{
    struct forecast_view v;
    struct census_ask ask;

    if (!forecast_of(c, &ask) || verb_failed(c, engine_forecast(c->engine, &ask, &v)))
        return;
    reply_array(c->reply, v.ask.n);
    for (size_t i = 0; i < v.ask.n; i++) {
        int64_t from_ms = v.ask.from_ms + (int64_t)i * v.ask.step_ms;
        struct step step = { from_ms, i + 1 < v.ask.n ? from_ms + v.ask.step_ms : v.ask.to_ms,
                             v.jobs[i] + v.recurring[i], v.recurring[i], i >= v.partial };

        shape_put(c->reply, step_fields, &step);
    }
}
