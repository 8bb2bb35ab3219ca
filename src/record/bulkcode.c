/* SPDX-License-Identifier: MIT */
/* Bulks as bytes and words. */
#include "record/bulkcode.h"

#include "record/codec.h"
#include "record/name.h"

#define FORMAT 1
/* With BULK_FILTERS: an older server must not run such a bulk without them. */
#define FORMAT_FILTERS 2

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

static bool has_filters(const struct bulk *b)
{
    return b->recurrence.len || b->key_prefix.len || b->order.len || b->worker.len ||
           b->with_error.len || b->with_error_group.len || b->ended_from_ms || b->ended_to_ms;
}

void bulk_encode(struct buf *out, const struct bulk *from)
{
    bool filters = has_filters(from);

    wire_put_u8(out, filters ? FORMAT_FILTERS : FORMAT);
    BULK_FIELDS(PUT_FIELD)
    if (filters) {
        BULK_FILTERS(PUT_FIELD)
    }
}

bool bulk_decode(struct str bytes, struct bulk *ret)
{
    struct wire_reader reader = wire_reader_of(bytes), *r = &reader;

    *ret = (struct bulk){ 0 };
    unsigned format = wire_u8(r);
    if (format != FORMAT && format != FORMAT_FILTERS)
        return false;
    BULK_FIELDS(GET_FIELD)
    if (format == FORMAT_FILTERS) {
        BULK_FILTERS(GET_FIELD)
    }
    return !r->bad && ret->action < BULK_ACTION_COUNT && ret->state < BULK_STATE_COUNT &&
           ret->states != 0 && (ret->queue.len == 0 || queue_name_valid(ret->queue)) &&
           (ret->tag.len == 0 || name_valid(ret->tag));
}
