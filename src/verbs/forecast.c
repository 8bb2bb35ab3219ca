/* SPDX-License-Identifier: MIT */
/* FORECAST. */
#include "verbs/handlers.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS_MAX 1000
#define STEP_MS   INT64_C(3600000)
#define SPAN_MS   (24 * STEP_MS)

struct forecast {
    int64_t from_ms;
    int64_t to_ms;
    int64_t step_ms;
    size_t n; /* steps; the last one ends at to_ms and may be shorter */
};

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

/* INVALID after an error reply. */
static int forecast_of(struct verb_call *c, struct forecast *ret)
{
    const struct arg_value *a = c->args;
    struct forecast f;
    int64_t steps;
    char why[128];

    f.from_ms = arg_number(&a[FORECAST_FROM], engine_now(c->engine));
    f.to_ms = arg_number(&a[FORECAST_TO], f.from_ms + SPAN_MS);
    f.step_ms = arg_number(&a[FORECAST_STEP], STEP_MS);
    if (f.to_ms <= f.from_ms) {
        verb_error(c, BELFRY_INVALID, "to: expected a moment after from");
        return BELFRY_INVALID;
    }
    steps = (f.to_ms - f.from_ms - 1) / f.step_ms + 1;
    if (steps > STEPS_MAX) {
        snprintf(why, sizeof(why), "step: %" PRId64 " steps, the limit is %d", steps, STEPS_MAX);
        verb_error(c, BELFRY_INVALID, why);
        return BELFRY_INVALID;
    }
    f.n = (size_t)steps;
    *ret = f;
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
    int64_t last_ms;

    if (forecast_of(c, &f) < 0)
        return;
    last_ms = f.from_ms + (int64_t)(f.n - 1) * f.step_ms;
    if (ask(c, f.from_ms, f.step_ms, f.n, jobs) < 0 ||
        (f.to_ms - last_ms < f.step_ms &&
         ask(c, last_ms, f.to_ms - last_ms, 1, &jobs[f.n - 1]) < 0)) {
        verb_refuse(c, BELFRY_STATE,
                    "some of this tenant's jobs wait on disk, where they are counted together with "
                    "those of all: only a token of tenant * can ask, for all of them");
        return;
    }
    reply_array(c->reply, f.n);
    for (size_t i = 0; i < f.n; i++) {
        int64_t from_ms = f.from_ms + (int64_t)i * f.step_ms;
        struct step step = { from_ms, i + 1 < f.n ? from_ms + f.step_ms : f.to_ms, jobs[i] };

        shape_put(c->reply, step_fields, &step);
    }
}
