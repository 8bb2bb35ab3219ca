/* SPDX-License-Identifier: MIT */
/* How many jobs become due, and when. */
#include <assert.h>
#include <string.h>

#include "engine/census.h"
#include "engine/cold/cold.h"
#include "engine/place/detail.h"

/* The census that the request goes on with, or a new one. */
static int census_of(struct engine *e, const struct census_ask *ask, struct census **ret)
{
    struct cold_answer *a = e->cold.answer;

    census_free(e->cold.census); /* a request that answered COLD was given up */
    e->cold.census = NULL;
    if (!a || !a->census)
        return census_begin(e, ask, ret);
    *ret = a->census;
    a->census = NULL;
    return 0;
}

int engine_forecast(struct engine *e, const struct census_ask *ask, struct forecast_view *ret)
{
    struct census *c;
    int err = census_of(e, ask, &c);

    assert(ask->n > 0 && ask->n <= CENSUS_STEPS);
    if (err == BELFRY_BUSY)
        return engine_error(e, err, "as many forecasts as can be made at a time are under way");
    if (err)
        return engine_plain(e, err);
    if (census_round(e, c)) {
        e->cold.want = (struct cold_want){ .kind = WANT_CENSUS };
        e->cold.census = c;
        return BELFRY_COLD;
    }
    ret->ask = c->ask;
    ret->ask.tenant = ret->ask.queue = (struct str){ 0 };
    memcpy(ret->jobs, c->jobs, sizeof(c->jobs));
    memcpy(ret->recurring, c->recurring, sizeof(c->recurring));
    ret->partial = c->lacks ? 0 : c->partial;
    census_free(c);
    return 0;
}
