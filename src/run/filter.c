/* SPDX-License-Identifier: MIT */
#include "run/block.h"

bool filter_init(struct buf *f, uint64_t items)
{
    if (items > SIZE_MAX / FILTER_BITS)
        return false;
    size_t blocks = (size_t)(items * FILTER_BITS / 8 / FILTER_BLOCK) + 1;
    if (!buf_reserve(f, blocks * FILTER_BLOCK))
        return false;
    f->len = blocks * FILTER_BLOCK;
    memset(f->ptr, 0, f->len);
    return true;
}

/* The upper half chooses the block; which bits, all of it. */
static size_t block_of(size_t len, uint64_t hash)
{
    return (size_t)(((hash >> 32) * (len / FILTER_BLOCK)) >> 32) * FILTER_BLOCK;
}

static uint64_t bits_of(uint64_t hash)
{
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

void filter_add(struct buf *f, uint64_t hash)
{
    char *block = f->ptr + block_of(f->len, hash);
    uint64_t bits = bits_of(hash);
    for (int i = 0; i < FILTER_PROBES; i++, bits <<= 9)
        block[bits >> 58] |= (char)(1 << (bits >> 55 & 7));
}

bool run_filter_has(struct str filter, uint64_t hash)
{
    if (filter.len < FILTER_BLOCK) /* no filter: nothing is known */
        return true;
    const char *block = filter.ptr + block_of(filter.len, hash);
    uint64_t bits = bits_of(hash);
    for (int i = 0; i < FILTER_PROBES; i++, bits <<= 9) {
        if (!(block[bits >> 58] >> (bits >> 55 & 7) & 1))
            return false;
    }
    return true;
}
