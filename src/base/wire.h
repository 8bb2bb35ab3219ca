/* SPDX-License-Identifier: MIT */
/* Numbers and byte strings in records: little-endian fixed widths, LEB128 varints, length-prefixed
 * bytes. Writers append to a buf. A reader never reads past its end: after the first short or
 * malformed item it is `bad` and every further read gives zero. So a decoder checks once. */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include "base/buf.h"

struct wire_reader {
    const unsigned char *p;
    const unsigned char *end;
    bool bad;
};

static inline struct wire_reader wire_reader_of(struct str s)
{
    const unsigned char *p = (const unsigned char *)(s.ptr ? s.ptr : "");
    return (struct wire_reader){ p, p + s.len, false };
}

static inline void wire_put_u8(struct buf *b, uint8_t v)
{
    buf_append(b, &v, 1);
}

static inline void wire_put_u16(struct buf *b, uint16_t v)
{
    buf_append(b, &v, 2);
}

static inline void wire_put_u32(struct buf *b, uint32_t v)
{
    buf_append(b, &v, 4); /* every supported machine is little-endian; see CMakeLists.txt */
}

static inline void wire_put_u64(struct buf *b, uint64_t v)
{
    buf_append(b, &v, 8);
}

#define WIRE_VARINT_MAX 10

/* Writes a varint to p, which has room for WIRE_VARINT_MAX bytes; returns its end. */
static inline char *wire_varint_to(char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)v;
    return p;
}

static inline void wire_put_varint(struct buf *b, uint64_t v)
{
    if (buf_reserve(b, WIRE_VARINT_MAX))
        b->len = (size_t)(wire_varint_to(b->ptr + b->len, v) - b->ptr);
}

/* A signed number as an unsigned one that is small if it is near 0. */
static inline uint64_t wire_zigzag_of(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline void wire_put_zigzag(struct buf *b, int64_t v)
{
    wire_put_varint(b, wire_zigzag_of(v));
}

static inline void wire_put_bytes(struct buf *b, struct str s)
{
    wire_put_varint(b, s.len);
    buf_str(b, s);
}

static inline uint64_t wire_fixed(struct wire_reader *r, size_t width)
{
    uint64_t v = 0;
    if (r->bad || (size_t)(r->end - r->p) < width) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, r->p, width);
    r->p += width;
    return v;
}

static inline uint8_t wire_u8(struct wire_reader *r)
{
    return (uint8_t)wire_fixed(r, 1);
}

static inline uint16_t wire_u16(struct wire_reader *r)
{
    return (uint16_t)wire_fixed(r, 2);
}

static inline uint32_t wire_u32(struct wire_reader *r)
{
    return (uint32_t)wire_fixed(r, 4);
}

static inline uint64_t wire_u64(struct wire_reader *r)
{
    return wire_fixed(r, 8);
}

static inline uint64_t wire_varint(struct wire_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = wire_u8(r);
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return r->bad ? 0 : v;
    }
    r->bad = true;
    return 0;
}

static inline int64_t wire_zigzag(struct wire_reader *r)
{
    uint64_t v = wire_varint(r);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* The answer borrows from the reader's bytes. */
static inline struct str wire_bytes(struct wire_reader *r)
{
    uint64_t len = wire_varint(r);
    struct str s = { (const char *)r->p, 0 };
    if (r->bad || len > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return s;
    }
    s.len = (size_t)len;
    r->p += len;
    return s;
}

#endif
