/* SPDX-License-Identifier: MIT */
#include "engine/engine_data.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "support/verify_shares.h"

#define JOB_BYTES 8192 /* of a large job of the simulator */

struct weights {
    uint64_t all;
    uint64_t largest;
};

static int weigh(void *arg, struct table_node *node)
{
    struct weights *w = arg;
    uint64_t weight = job_weight(container_of(node, struct job, by_seq));

    w->all += weight;
    w->largest = weight > w->largest ? weight : w->largest;
    return 0;
}

/* A batch has a fifth of the memory, and one job more. That job may have left the memory. */
void shares_verify(const struct engine *e)
{
    const struct batch *b = &e->place.batch;
    struct weights w = { 0, JOB_BYTES };

    table_each_stripe(&e->place.jobs, 0, 0, weigh, &w);
    list_each_of (const struct tenant, t, &e->place.tenant_list, link)
        w.all -= t->memory_bytes;
    CHECK(w.all == 0);
    CHECK(!b->active || b->bytes <= e->o.memory_bytes / 5 + w.largest);
}
