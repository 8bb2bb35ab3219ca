/* SPDX-License-Identifier: MIT */
/* Applying the records of a journal again. */
#include <assert.h>

#include "engine/log/apply.h"
#include "record/record_cold.h"

static int replay_record(void *arg, enum record_type type, struct str body)
{
    struct engine *e = arg;
    union {
        struct begin_record begin;
        struct job_image put;
        struct lease_record lease;
        struct extend_record extend;
        struct back_record back;
        struct end_record end;
        struct move_record move;
        struct mark_record mark;
        struct queue_record queue;
        struct tenant_record tenant;
        struct token_record token;
        struct told_record told;
        struct listen_record listen;
        struct fed_record fed;
        struct merged_record merged;
        struct loaded_record loaded;
        struct taken_record taken;
        struct str run;
        struct grave_record grave;
        struct tally_record tally;
        struct cold_record cold;
    } r;

    switch (type) {
#define REPLAY(TYPE, get, kind) \
    case RECORD_##TYPE:         \
        return record_get_##get(body, &r.kind) ? apply_##kind(e, &r.kind) : BELFRY_CORRUPT;
        REPLAY(BEGIN, begin, begin)
        REPLAY(PUT, job, put)
        REPLAY(LEASE, lease, lease)
        REPLAY(EXTEND, extend, extend)
        REPLAY(BACK, back, back)
        REPLAY(END, end, end)
        REPLAY(MOVE, move, move)
        REPLAY(MARK, mark, mark)
        REPLAY(QUEUE, queue, queue)
        REPLAY(TENANT, tenant, tenant)
        REPLAY(TOKEN, token, token)
        REPLAY(TOLD, told, told)
        REPLAY(LISTEN, listen, listen)
        REPLAY(FED, fed, fed)
        REPLAY(MERGED, merged, merged)
        REPLAY(LOADED, loaded, loaded)
        REPLAY(TAKEN, taken, taken)
        REPLAY(RUN, run, run)
        REPLAY(GRAVE, grave, grave)
        REPLAY(TALLY, tally, tally)
        REPLAY(COLD, cold, cold)
#undef REPLAY
    }
    return BELFRY_CORRUPT;
}

int engine_replay(struct engine *e, struct str commit, uint32_t segment)
{
    struct commit_head head = { 0 };
    int err;

    assert(!e->started);
    e->segment = segment;
    err = record_walk(commit, &head, replay_record, e);
    if (head.epoch > e->log.last_epoch)
        e->log.last_epoch = head.epoch;
    return err;
}
