/* SPDX-License-Identifier: MIT */
#include "run/block.h"

#include <stdlib.h>

/* How many bytes two keys have in common at their beginnings. */
static size_t shared_bytes(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x;
        uint64_t y;
        memcpy(&x, a.ptr + i, 8);
        memcpy(&y, b.ptr + i, 8);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (i < n && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

void block_put_entry(struct buf *b, uint32_t base, struct str before, const struct run_entry *e)
{
    if (!buf_reserve(b, block_entry_max(e)))
        return;
    size_t shared = shared_bytes(before, e->key);
    size_t rest = e->key.len - shared;
    char *p = b->ptr + b->len;
    p = wire_varint_to(p, shared);
    p = wire_varint_to(p, rest);
    p = wire_varint_to(p, wire_zigzag_of((int64_t)e->version - (int64_t)base));
    p = wire_varint_to(p, (uint64_t)e->value.len * 2 + e->grave);
    memcpy(p, e->key.ptr + shared, rest);
    p += rest;
    if (e->value.len > 0)
        memcpy(p, e->value.ptr, e->value.len);
    b->len = (size_t)(p - b->ptr) + e->value.len;
}

/* wire_varint, with the usual one-byte case in the caller. */
static inline uint64_t next_varint(struct wire_reader *in)
{
    if (in->p < in->end && *in->p < 0x80)
        return *in->p++;
    return wire_varint(in);
}

/* Makes `key` the next one: `rest` bytes at `from` behind its first `shared`. It must rise. */
static inline bool next_key(struct buf *key, uint64_t shared, const unsigned char *from,
                            uint64_t rest)
{
    if (shared > key->len || rest == 0 || rest > RUN_KEY_MAX - shared)
        return false;
    if (shared < key->len && *from <= (unsigned char)key->ptr[shared])
        return false;
    memcpy(key->ptr + shared, from, rest);
    key->len = (size_t)(shared + rest);
    return true;
}

bool block_entries_init(struct block_entries *b, struct str element)
{
    b->in = wire_reader_of(element);
    if (!block_is(&b->in, BLOCK_DATA))
        return false;
    uint64_t base = wire_varint(&b->in);
    b->base = (uint32_t)base;
    return !b->in.bad && base <= UINT32_MAX;
}

int block_next_entry(struct block_entries *b, struct buf *key, struct run_entry *ret)
{
    struct wire_reader *in = &b->in;
    if (in->p == in->end)
        return 0;
    uint64_t shared = next_varint(in);
    uint64_t rest = next_varint(in);
    uint64_t delta = next_varint(in);
    uint64_t size = next_varint(in);
    uint64_t left = (uint64_t)(in->end - in->p);
    if (in->bad || rest > left || size / 2 > left - rest || !next_key(key, shared, in->p, rest))
        return BELFRY_CORRUPT;
    uint64_t version = b->base + ((delta >> 1) ^ -(delta & 1));
    if (version > UINT32_MAX || ((size & 1) && size != 1))
        return BELFRY_CORRUPT;
    ret->key = buf_view(key);
    ret->version = (uint32_t)version;
    ret->grave = size & 1;
    ret->value = (struct str){ (const char *)in->p + rest, (size_t)(size / 2) };
    in->p += rest + size / 2;
    return 1;
}

void block_put_name(struct block_names *n, struct str key, uint64_t at)
{
    size_t shared = shared_bytes(buf_view(&n->last), key);
    wire_put_varint(n->out, shared);
    wire_put_varint(n->out, key.len - shared);
    wire_put_zigzag(n->out, (int64_t)(at - n->at));
    buf_append(n->out, key.ptr + shared, key.len - shared);
    n->last.len = 0;
    buf_str(&n->last, key);
    n->at = at;
}

bool block_next_name(struct wire_reader *in, struct buf *key, uint64_t *at)
{
    uint64_t shared = next_varint(in);
    uint64_t rest = next_varint(in);
    *at += (uint64_t)wire_zigzag(in);
    if (in->bad || rest > (uint64_t)(in->end - in->p) || !next_key(key, shared, in->p, rest))
        return false;
    in->p += rest;
    return true;
}

/* Names of index blocks: all keys in one buffer, so that they can be searched. */
static int decode_names(struct wire_reader *in, struct block_root *ret)
{
    struct buf key = { 0 };
    uint64_t at = 0;
    int r = buf_reserve(&key, RUN_KEY_MAX) ? 0 : BELFRY_NOMEM;
    for (uint64_t i = 0; r == 0 && i < ret->index; i++) {
        if (!block_next_name(in, &key, &at) || ret->keys.len > UINT32_MAX - RUN_KEY_MAX) {
            r = BELFRY_CORRUPT;
            break;
        }
        ret->names[i] = (struct block_name){ (uint32_t)ret->keys.len, (uint32_t)key.len, at };
        buf_str(&ret->keys, buf_view(&key));
        if (ret->keys.failed)
            r = BELFRY_NOMEM;
    }
    buf_fini(&key);
    return r;
}

static void decode_counts(struct wire_reader *in, struct block_root *ret)
{
    ret->data = wire_varint(in);
    ret->index = wire_varint(in);
    ret->filters = wire_varint(in);
    ret->filter_bytes = wire_varint(in);
    ret->entries = wire_varint(in);
    ret->graves = wire_varint(in);
    ret->bytes = wire_varint(in);
}

/* Each named block takes bytes. So a count that the element has no room for is refused before
 * memory is allocated for it. */
static bool counts_possible(const struct wire_reader *in, const struct block_root *r)
{
    uint64_t left = (uint64_t)(in->end - in->p);
    return !in->bad && r->index >= 1 && r->data >= r->index && r->entries >= r->data &&
           r->graves <= r->entries && r->index <= left && r->filters <= left &&
           (r->filters > 0) == (r->filter_bytes > 0);
}

int block_root_decode(struct str element, struct block_root *ret)
{
    struct wire_reader in = wire_reader_of(element);
    uint64_t at = 0;
    *ret = (struct block_root){ 0 };
    if (!block_is(&in, BLOCK_ROOT) || wire_u8(&in) != BLOCK_FORMAT)
        return BELFRY_CORRUPT;
    decode_counts(&in, ret);
    if (!counts_possible(&in, ret))
        return BELFRY_CORRUPT;
    ret->names = calloc((size_t)ret->index, sizeof(*ret->names));
    ret->filter_at = calloc((size_t)ret->filters + 1, sizeof(*ret->filter_at));
    if (!ret->names || !ret->filter_at)
        return BELFRY_NOMEM;
    int r = decode_names(&in, ret);
    if (r < 0)
        return r;
    for (uint64_t i = 0; i < ret->filters; i++)
        ret->filter_at[i] = at += (uint64_t)wire_zigzag(&in);
    return in.bad || in.p != in.end ? BELFRY_CORRUPT : 0;
}

void block_root_fini(struct block_root *r)
{
    free(r->names);
    free(r->filter_at);
    buf_fini(&r->keys);
}
