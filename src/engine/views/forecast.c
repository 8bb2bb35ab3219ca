/* SPDX-License-Identifier: MIT */
/* How many jobs become due, and when. */
#include <assert.h>
#include <string.h>

#include "engine/census.h"
#include "engine/cold/cold.h"
#include "engine/place/detail.h"

int engine_forecast(struct engine *e, const struct census_ask *ask, struct forecast_view *ret)
{
    struct census *c;
    int err = census_resume(e, ask, &c);

    assert(ask->n > 0 && ask->n <= CENSUS_STEPS);
    if (err)
        return err;
    ret->ask = c->ask;
    ret->ask.tenant = ret->ask.queue = (struct str){ 0 };
    memcpy(ret->jobs, c->jobs, sizeof(c->jobs));
    memcpy(ret->recurring, c->recurring, sizeof(c->recurring));
    ret->partial = c->lacks ? 0 : c->partial;
    census_free(c);
    return 0;
}
