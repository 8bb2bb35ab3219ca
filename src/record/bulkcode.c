/* SPDX-License-Identifier: MIT */
/* Bulks as bytes and words. */
#include "record/bulkcode.h"

#include "base/wire.h"
#include "record/name.h"

#define FORMAT 1

const char *bulk_action_name(enum bulk_action a)
{
    static const char *const words[] = {
#define WORD(name, word, states) word,
        BULK_ACTIONS(WORD)
#undef WORD
    };
    return words[a];
}

const char *bulk_state_name(enum bulk_state s)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        BULK_STATES(WORD)
#undef WORD
    };
    return words[s];
}

void bulk_encode(struct buf *out, const struct bulk *b)
{
    wire_put_u8(out, FORMAT);
    wire_put_u8(out, (uint8_t)b->action);
    wire_put_u8(out, b->dry);
    wire_put_u8(out, (uint8_t)b->state);
    wire_put_bytes(out, b->queue);
    wire_put_varint(out, b->states);
    wire_put_bytes(out, b->tag);
    wire_put_zigzag(out, b->from_ms);
    wire_put_zigzag(out, b->to_ms);
    wire_put_zigzag(out, b->due_ms);
    wire_put_varint(out, b->token);
    wire_put_varint(out, b->looked);
    wire_put_varint(out, b->matched);
    wire_put_varint(out, b->changed);
    wire_put_varint(out, b->skipped);
    wire_put_varint(out, b->walks);
    wire_put_zigzag(out, b->ended_ms);
    wire_put_bytes(out, b->error);
}

bool bulk_decode(struct str bytes, struct bulk *ret)
{
    struct wire_reader r = wire_reader_of(bytes);
    unsigned action, state;

    *ret = (struct bulk){ 0 };
    if (wire_u8(&r) != FORMAT)
        return false;
    action = wire_u8(&r);
    ret->dry = wire_u8(&r) != 0;
    state = wire_u8(&r);
    ret->queue = wire_bytes(&r);
    ret->states = (unsigned)wire_varint(&r);
    ret->tag = wire_bytes(&r);
    ret->from_ms = wire_zigzag(&r);
    ret->to_ms = wire_zigzag(&r);
    ret->due_ms = wire_zigzag(&r);
    ret->token = wire_varint(&r);
    ret->looked = wire_varint(&r);
    ret->matched = wire_varint(&r);
    ret->changed = wire_varint(&r);
    ret->skipped = wire_varint(&r);
    ret->walks = wire_varint(&r);
    ret->ended_ms = wire_zigzag(&r);
    ret->error = wire_bytes(&r);
    ret->action = (enum bulk_action)action;
    ret->state = (enum bulk_state)state;
    return !r.bad && action < BULK_ACTION_COUNT && state < BULK_STATE_COUNT && ret->states != 0 &&
           (ret->queue.len == 0 || queue_name_valid(ret->queue)) &&
           (ret->tag.len == 0 || name_valid(ret->tag));
}
