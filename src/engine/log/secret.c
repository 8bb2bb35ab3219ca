/* SPDX-License-Identifier: MIT */
/* The secret of the data directory. It is drawn once, stands in every segment, and never changes.
 * See struct cold_names. */
#include "engine/cold/cold.h"
#include "engine/engine.h"
#include "engine/log/log.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "record/opts.h"

static struct secret_record secret_of(const struct engine *e)
{
    return (struct secret_record){ e->naming.key.a, e->naming.key.b, e->naming.first };
}

void engine_put_secret(const struct engine *e, struct buf *out)
{
    struct secret_record r = secret_of(e);

    if (hash_key_is_set(e->naming.key) && !MUTANT(e->o.mutant, SECRET_LOST))
        record_put_secret(out, &r);
}

int secret_repeat(struct engine *e)
{
    struct secret_record r = secret_of(e);

    return hash_key_is_set(e->naming.key) && !MUTANT(e->o.mutant, SECRET_LOST) ? emit_secret(e, &r)
                                                                               : 0;
}

/* Before the engine starts, only leased jobs and those that own a lane are in lanes. */
static int name_lane(void *arg, struct table_node *node)
{
    struct engine *e = arg;
    struct job *j = container_of(node, struct job, by_seq);
    struct job_opts o;

    if (j->ordered) {
        bool in = spot_of(j)->member != SPOT_NONE;

        lane_set(e, j, false);
        job_opts_get(j, &o);
        spot_init(e, j, o.order);
        lane_set(e, j, in);
    }
    return 0;
}

int apply_secret(struct engine *e, const struct secret_record *r)
{
    if (hash_key_is_set(e->naming.key))
        return e->naming.key.a == r->a && e->naming.key.b == r->b ? 0 : BELFRY_CORRUPT;
    e->naming = (struct cold_names){ { r->a, r->b }, r->first };
    if (r->first > e->cold.next_file)
        e->cold.next_file = r->first;
    if (!MUTANT(e->o.mutant, LANES_UNNAMED))
        table_each_stripe(&e->place.jobs, 0, 0, name_lane, e);
    return 0;
}

int engine_name_secretly(struct engine *e)
{
    struct secret_record r = { e->o.secret.a, e->o.secret.b, e->cold.next_file };

    if (hash_key_is_set(e->naming.key) || !hash_key_is_set(e->o.secret) ||
        !engine_aside_is_empty(e))
        return 0;
    return emit_secret(e, &r);
}

const struct cold_names *engine_naming(const struct engine *e)
{
    return &e->naming;
}
