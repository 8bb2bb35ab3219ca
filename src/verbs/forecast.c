/* SPDX-License-Identifier: MIT */
/* FORECAST. */
#include "verbs/handlers.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS_MAX 1000
#define STEP_MS   INT64_C(3600000)
#define SPAN_MS   (24 * STEP_MS)

struct step {
    int64_t from_ms;
    int64_t to_ms;
    uint64_t jobs;
};

#define OF struct step
const struct shape_field step_fields[] = {
    SHOW_MOMENT("from_ms", from_ms),
    SHOW_MOMENT("to_ms", to_ms),
    SHOW_INT("jobs", jobs),
    { 0 },
};

/* The number of steps; 0 after an error reply. The last step ends at to_ms and may be shorter. */
static size_t forecast_of(struct verb_call *c, struct forecast *ret)
{
    int64_t steps;
    char why[128];

    *ret = (struct forecast){ engine_now(c->engine), -1, STEP_MS };
    args_store(c, ret);
    if (ret->to_ms < 0)
        ret->to_ms = ret->from_ms + SPAN_MS;
    if (ret->to_ms <= ret->from_ms) {
        verb_error(c, BELFRY_INVALID, "to: expected a moment after from");
        return 0;
    }
    steps = (ret->to_ms - ret->from_ms - 1) / ret->step_ms + 1;
    if (steps <= STEPS_MAX)
        return (size_t)steps;
    snprintf(why, sizeof(why), "step: %" PRId64 " steps, the limit is %d", steps, STEPS_MAX);
    verb_error(c, BELFRY_INVALID, why);
    return 0;
}

static int ask(struct verb_call *c, int64_t from_ms, int64_t step_ms, size_t n, uint64_t *ret)
{
    if (!str_eq(c->tenant, STR(TENANT_ALL)))
        return engine_forecast_of(c->engine, c->tenant, from_ms, step_ms, n, ret);
    engine_forecast(c->engine, from_ms, step_ms, n, ret);
    return 0;
}

void run_forecast(struct verb_call *c)
{
    uint64_t jobs[STEPS_MAX];
    struct forecast f;
    size_t n = forecast_of(c, &f);
    int64_t last_ms;

    if (n == 0)
        return;
    last_ms = f.from_ms + (int64_t)(n - 1) * f.step_ms;
    if (ask(c, f.from_ms, f.step_ms, n, jobs) < 0 ||
        (f.to_ms - last_ms < f.step_ms &&
         ask(c, last_ms, f.to_ms - last_ms, 1, &jobs[n - 1]) < 0)) {
        verb_refuse(c, BELFRY_STATE,
                    "some of this tenant's jobs wait on disk, where they are counted together with "
                    "those of all: only a token of tenant * can ask, for all of them");
        return;
    }
    reply_array(c->reply, n);
    for (size_t i = 0; i < n; i++) {
        int64_t from_ms = f.from_ms + (int64_t)i * f.step_ms;
        struct step step = { from_ms, i + 1 < n ? from_ms + f.step_ms : f.to_ms, jobs[i] };

        shape_put(c->reply, step_fields, &step);
    }
}
