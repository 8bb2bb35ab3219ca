/* SPDX-License-Identifier: MIT */
#include "record/record_cold.h"

#include "record/codec.h"
#include "record/coldkey.h"

COLD_ROW_RECORDS(CODEC)

void record_put_loaded(struct buf *out, const struct loaded_record *from)
{
    size_t mark = record_open(out, RECORD_LOADED);

    LOADED_FIELDS(PUT_FIELD)
    if (from->class == CLASS_ASIDE) {
        wire_put_u64(out, from->lane);
        wire_put_varint(out, from->serial);
    }
    record_close(out, mark);
}

bool record_get_loaded(struct str body, struct loaded_record *ret)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;

    LOADED_FIELDS(GET_FIELD)
    ret->lane = ret->class == CLASS_ASIDE ? wire_u64(r) : 0;
    ret->serial = ret->class == CLASS_ASIDE ? wire_varint(r) : 0;
    return !r->bad &&
           (ret->queue.len == 0 ? ret->class == 0
                                : ret->queue.len <= QUEUE_MAX_BYTES &&
                                      (class_is_valid(ret->class) || ret->class == CLASS_ASIDE));
}

void record_put_run(struct buf *out, const struct str *desc)
{
    size_t mark = record_open(out, RECORD_RUN);

    buf_str(out, *desc);
    record_close(out, mark);
}

bool record_get_run(struct str body, struct str *ret)
{
    *ret = body;
    return true;
}
