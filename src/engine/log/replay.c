/* SPDX-License-Identifier: MIT */
/* Applying the records of a journal again. */
#include <assert.h>

#include "engine/log/log.h"
#include "record/record_cold.h"

static int replay_record(void *arg, enum record_type type, struct str body)
{
    struct engine *e = arg;
    union {
#define MEMBER(NAME, number, codec, kind, type, what) type kind;
        RECORDS(MEMBER)
#undef MEMBER
    } r;

    switch (type) {
#define REPLAY(NAME, number, codec, kind, type, what) \
    case RECORD_##NAME:                               \
        return record_get_##codec(body, &r.kind) ? apply_##kind(e, &r.kind) : BELFRY_CORRUPT;
        RECORDS(REPLAY)
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
