/* SPDX-License-Identifier: MIT */
/* Records about jobs that moved between memory and disk, and between runs. */
#include <assert.h>

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "record/record_cold.h"

int engine_fed(struct engine *e, const struct feed_result *r)
{
    int err;

    assert(e->place.batch.active && !e->place.batch.gathering && !e->place.batch.fed);
    if (e->place.batch.stale.failed)
        return BELFRY_NOMEM;
    err = emit_fed(e, &(struct fed_record){
                          .frontier_at = e->place.frontier.at_ms,
                          .frontier_seq = e->place.frontier.seq,
                          .graves = e->place.batch.graves,
                          .serial = e->cold.next_grave,
                          .runs = r->runs,
                          .seqs = r->seqs,
                          .tallies = r->tallies,
                          .stale = buf_view(&e->place.batch.stale),
                      });
    if (!err)
        buf_fini(&e->place.batch.stale);
    return err;
}

/* Tallies of jobs that were taken out of runs while they were merged. */
static void put_taken(struct engine *e, struct str drops, struct buf *out)
{
    struct wire_reader r = wire_reader_of(drops);

    while (r.p < r.end) {
        const struct cold_run *run = manifest_find(e, (uint32_t)wire_varint(&r));

        if (run) {
            buf_str(out, buf_view(&run->taken));
            out->failed = out->failed || run->taken.failed;
        }
    }
}

int engine_merged(struct engine *e, struct str drops, struct str runs, struct str tallies)
{
    struct buf all = { 0 };
    int err;

    put_taken(e, drops, &all); /* first, so that no count is below 0 in between */
    buf_str(&all, tallies);
    err = all.failed ? engine_plain(e, BELFRY_NOMEM)
                     : emit_merged(e, &(struct merged_record){ drops, runs, buf_view(&all) });
    buf_fini(&all);
    return err;
}
