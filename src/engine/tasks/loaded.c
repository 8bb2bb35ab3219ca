/* SPDX-License-Identifier: MIT */
/* Jobs come from runs to memory: that is written down, and the bulks learn of it. */
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/tasks/tasks.h"
#include "record/record_cold.h"

int engine_loaded(struct engine *e, const struct load_result *r)
{
    struct loaded_record record = {
        .queue = r->backlog ? r->queue : (struct str){ 0 },
        .class = r->backlog ? r->class : 0,
        .lane = r->lane,
        .serial = e->cold.next_grave,
        .number = r->number,
        .upto_at = r->end && r->backlog ? INT64_MAX : r->upto.at_ms,
        .upto_seq = r->end && r->backlog ? UINT64_MAX : r->upto.seq,
    };
    struct buf images = { 0 };

    if (r->moves != e->cold.moves) /* a job that was read may be back there, changed */
        return 0;
    if (r->backlog && r->class == CLASS_ORDERED && batch_takes_tails(e))
        return 0; /* jobs on their way to disk may come before it */
    for (size_t i = 0; i < r->n; i++) {
        const struct cold_item *item = &r->items[i];

        if (!cold_counts(e, (struct str){ item->key, item->key_len }, item->number))
            continue;
        if (!MUTANT(e->o.mutant, CURSOR_AHEAD))
            wire_put_bytes(&images, item->body);
        record.count++;
    }
    record.images = buf_view(&images);
    int err = images.failed ? engine_plain(e, BELFRY_NOMEM) : emit_loaded(e, &record);
    if (!err && !r->backlog)
        bulks_loaded(e, record.images);
    buf_fini(&images);
    return err;
}
