/* SPDX-License-Identifier: MIT */
/* Encoders and decoders that follow from rows of fields: see field.h. They write `*from` to `out`,
 * and read `*ret` by the reader `r`, which is bad if a value is out of range. */
#ifndef RECORD_CODEC_H
#define RECORD_CODEC_H

#include "base/time.h"
#include "base/wire.h"
#include "record/field.h"
#include "record/jobstate.h"

/* A number that is stored less `since`, and that is in [least, most]. */
static inline int64_t codec_since(struct wire_reader *r, int64_t since, int64_t least, int64_t most)
{
    int64_t ms = (int64_t)((uint64_t)since + (uint64_t)wire_zigzag(r));

    if (ms < least || ms > most)
        r->bad = true;
    return ms;
}

static inline int64_t codec_moment(struct wire_reader *r, int64_t since)
{
    return codec_since(r, since, 0, TIME_MOMENT_MAX);
}

#define PUT_NUMBER(name) wire_put_varint(out, from->name);
#define PUT_COUNT        PUT_NUMBER
#define PUT_LATER_COUNT  PUT_NUMBER
#define PUT_BITS         PUT_NUMBER
#define PUT_PLAIN(name)  wire_put_varint(out, (uint64_t)from->name);
#define PUT_BYTE(name)   wire_put_u8(out, (uint8_t)from->name);
#define PUT_ENUM(tag)    PUT_BYTE
#define PUT_LETTER       PUT_BYTE
#define PUT_FLAG         PUT_BYTE
#define PUT_IF_SET(name) \
    if (from->name)      \
        wire_put_u8(out, 1);
#define PUT_SIGNED(name)      wire_put_zigzag(out, from->name);
#define PUT_LATER_SIGNED      PUT_SIGNED
#define PUT_MOMENT            PUT_SIGNED
#define PUT_OPTIONAL          PUT_SIGNED
#define PUT_SINCE_START(name) wire_put_zigzag(out, from->name - from->start_ms);
#define PUT_FROM_START        PUT_SINCE_START
#define PUT_SINCE_BORN(name)  wire_put_zigzag(out, from->name - from->born_ms);
#define PUT_AT                PUT_SIGNED
#define PUT_AT_SINCE(name)    wire_put_zigzag(out, from->name - from->due_ms);
#define PUT_BYTES(name)       wire_put_bytes(out, from->name);
#define PUT_LATER_BYTES(name) \
    if (from->name.len > 0)   \
        wire_put_bytes(out, from->name);

#define GET_NUMBER(name)       ret->name = wire_varint(r);
#define GET_COUNT(name)        ret->name = (uint32_t)wire_varint(r);
#define GET_LATER_COUNT(name)  ret->name = r->p < r->end ? (uint32_t)wire_varint(r) : 0;
#define GET_BITS(name)         ret->name = (unsigned)wire_varint(r);
#define GET_PLAIN(name)        ret->name = (int64_t)wire_varint(r);
#define GET_BYTE(name)         ret->name = wire_u8(r);
#define GET_ENUM(tag)          GET_LETTER
#define GET_LETTER(name)       ret->name = (__typeof__(ret->name))wire_u8(r);
#define GET_FLAG(name)         ret->name = wire_u8(r) != 0;
#define GET_IF_SET(name)       ret->name = r->p < r->end && wire_u8(r) == 1;
#define GET_SIGNED(name)       ret->name = wire_zigzag(r);
#define GET_LATER_SIGNED(name) ret->name = r->p < r->end ? wire_zigzag(r) : -1;
#define GET_MOMENT(name)       ret->name = codec_moment(r, 0);
#define GET_OPTIONAL(name)     ret->name = codec_since(r, 0, -1, TIME_MOMENT_MAX);
#define GET_SINCE_START(name)  ret->name = codec_moment(r, ret->start_ms);
#define GET_FROM_START(name)   ret->name = codec_since(r, ret->start_ms, INT64_MIN, INT64_MAX);
#define GET_SINCE_BORN(name)   ret->name = codec_moment(r, ret->born_ms);
#define GET_AT(name)           ret->name = codec_since(r, 0, 0, AT_NEVER);
#define GET_AT_SINCE(name)     ret->name = codec_since(r, ret->due_ms, 0, AT_NEVER);
#define GET_BYTES(name)        ret->name = wire_bytes(r);
#define GET_LATER_BYTES(name)  ret->name = r->p < r->end ? wire_bytes(r) : (struct str){ 0 };

#define PUT_FIELD(kind, name, what) PUT_##kind(name)
#define GET_FIELD(kind, name, what) GET_##kind(name)

/* Both functions of a record (record.h) whose body is its rows. `good` is a condition on `ret` that
 * has to hold besides. */
#define CODEC(TYPE, codec, FIELDS, good)                                        \
    void record_put_##codec(struct buf *out, const struct codec##_record *from) \
    {                                                                           \
        size_t mark = record_open(out, RECORD_##TYPE);                          \
                                                                                \
        FIELDS(PUT_FIELD)                                                       \
        record_close(out, mark);                                                \
    }                                                                           \
    bool record_get_##codec(struct str body, struct codec##_record *ret)        \
    {                                                                           \
        struct wire_reader reader = wire_reader_of(body), *r = &reader;         \
                                                                                \
        FIELDS(GET_FIELD)                                                       \
        return !r->bad && (good);                                               \
    }

#endif
