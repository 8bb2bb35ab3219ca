/* SPDX-License-Identifier: MIT */
/* Encoders and decoders that follow from rows of fields: see field.h. They write `*from` to `out`,
 * and read `*ret` by the reader `r`, which is bad if a value is out of range. */
#ifndef RECORD_CODEC_H
#define RECORD_CODEC_H

#include "base/time.h"
#include "record/record.h"

static inline int64_t codec_moment(struct wire_reader *r, int64_t since, int64_t last)
{
    int64_t ms = (int64_t)((uint64_t)since + (uint64_t)wire_zigzag(r));

    if (ms < 0 || ms > last)
        r->bad = true;
    return ms;
}

#define PUT_NUMBER(name)      wire_put_varint(out, from->name);
#define PUT_COUNT(name)       wire_put_varint(out, from->name);
#define PUT_LATER_COUNT(name) wire_put_varint(out, from->name);
#define PUT_BITS(name)        wire_put_varint(out, from->name);
#define PUT_BYTE(name)        wire_put_u8(out, (uint8_t)from->name);
#define PUT_FLAG(name)        wire_put_u8(out, from->name);
#define PUT_IF_SET(name) \
    if (from->name)      \
        wire_put_u8(out, 1);
#define PUT_SIGNED(name)      wire_put_zigzag(out, from->name);
#define PUT_MOMENT(name)      wire_put_zigzag(out, from->name);
#define PUT_SINCE_START(name) wire_put_zigzag(out, from->name - from->start_ms);
#define PUT_SINCE_BORN(name)  wire_put_zigzag(out, from->name - from->born_ms);
#define PUT_AT(name)          wire_put_zigzag(out, from->name);
#define PUT_AT_SINCE(name)    wire_put_zigzag(out, from->name - from->due_ms);
#define PUT_BYTES(name)       wire_put_bytes(out, from->name);

#define GET_NUMBER(name)      ret->name = wire_varint(r);
#define GET_COUNT(name)       ret->name = (uint32_t)wire_varint(r);
#define GET_LATER_COUNT(name) ret->name = r->p < r->end ? (uint32_t)wire_varint(r) : 0;
#define GET_BITS(name)        ret->name = (unsigned)wire_varint(r);
#define GET_BYTE(name)        ret->name = wire_u8(r);
#define GET_FLAG(name)        ret->name = wire_u8(r) != 0;
#define GET_IF_SET(name)      ret->name = r->p < r->end && wire_u8(r) == 1;
#define GET_SIGNED(name)      ret->name = wire_zigzag(r);
#define GET_MOMENT(name)      ret->name = codec_moment(r, 0, TIME_MOMENT_MAX);
#define GET_SINCE_START(name) ret->name = codec_moment(r, ret->start_ms, TIME_MOMENT_MAX);
#define GET_SINCE_BORN(name)  ret->name = codec_moment(r, ret->born_ms, TIME_MOMENT_MAX);
#define GET_AT(name)          ret->name = codec_moment(r, 0, AT_NEVER);
#define GET_AT_SINCE(name)    ret->name = codec_moment(r, ret->due_ms, AT_NEVER);
#define GET_BYTES(name)       ret->name = wire_bytes(r);

#define PUT_FIELD(kind, name, what) PUT_##kind(name)
#define GET_FIELD(kind, name, what) GET_##kind(name)

/* Both functions of a record whose body is its rows; `good` is what has to hold besides. */
#define CODEC(TYPE, codec, type, FIELDS, good)                          \
    void record_put_##codec(struct buf *out, const type *from)          \
    {                                                                   \
        size_t mark = record_open(out, RECORD_##TYPE);                  \
                                                                        \
        FIELDS(PUT_FIELD)                                               \
        record_close(out, mark);                                        \
    }                                                                   \
    bool record_get_##codec(struct str body, type *ret)                 \
    {                                                                   \
        struct wire_reader reader = wire_reader_of(body), *r = &reader; \
                                                                        \
        FIELDS(GET_FIELD)                                               \
        return !r->bad && (good);                                       \
    }

#endif
