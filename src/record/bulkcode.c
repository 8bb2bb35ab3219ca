/* SPDX-License-Identifier: MIT */
/* Bulks as bytes and words. */
#include "record/bulkcode.h"

#include "record/codec.h"
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

void bulk_encode(struct buf *out, const struct bulk *from)
{
    wire_put_u8(out, FORMAT);
    BULK_FIELDS(PUT_FIELD)
}

bool bulk_decode(struct str bytes, struct bulk *ret)
{
    struct wire_reader reader = wire_reader_of(bytes), *r = &reader;

    *ret = (struct bulk){ 0 };
    if (wire_u8(r) != FORMAT)
        return false;
    BULK_FIELDS(GET_FIELD)
    return !r->bad && ret->action < BULK_ACTION_COUNT && ret->state < BULK_STATE_COUNT &&
           ret->states != 0 && (ret->queue.len == 0 || queue_name_valid(ret->queue)) &&
           (ret->tag.len == 0 || name_valid(ret->tag));
}
