/* SPDX-License-Identifier: MIT */
#include "recur/bits.h"

bool bits_empty(const struct bits *b)
{
    uint64_t any = 0;
    for (int w = 0; w < BITS_WORDS; w++)
        any |= b->word[w];
    return any == 0;
}

void bits_and(struct bits *b, const struct bits *other)
{
    for (int w = 0; w < BITS_WORDS; w++)
        b->word[w] &= other->word[w];
}

/* The bits of word w that are in from .. to-1. */
static uint64_t window(int w, int from, int to)
{
    int low = from - w * 64, high = to - w * 64;
    if (high <= 0 || low >= 64)
        return 0;
    return bits_low(high) & ~bits_low(low > 0 ? low : 0);
}

void bits_add_range(struct bits *b, int from, int to)
{
    for (int w = 0; w < BITS_WORDS; w++)
        b->word[w] |= window(w, from, to);
}

void bits_or_word(struct bits *b, int at, uint64_t word)
{
    int w = at / 64, shift = at % 64;
    if (w >= BITS_WORDS)
        return;
    b->word[w] |= word << shift;
    if (shift > 0 && w + 1 < BITS_WORDS)
        b->word[w + 1] |= word >> (64 - shift);
}

int bits_count(const struct bits *b, int from, int to)
{
    int n = 0;
    for (int w = 0; w < BITS_WORDS; w++)
        n += bits_count_word(b->word[w] & window(w, from, to));
    return n;
}

int bits_next(const struct bits *b, int from)
{
    for (int w = from / 64; w < BITS_WORDS; w++) {
        uint64_t word = b->word[w];
        if (w == from / 64)
            word &= ~bits_low(from % 64);
        if (word)
            return w * 64 + __builtin_ctzll(word);
    }
    return -1;
}

int bits_last(const struct bits *b, int64_t from)
{
    const int64_t end = INT64_C(64) * BITS_WORDS;
    if (from < 0)
        return -1;
    if (from >= end)
        from = end - 1;
    for (int w = (int)from / 64; w >= 0; w--) {
        uint64_t word = b->word[w];
        if (w == from / 64)
            word &= bits_low((int)from % 64 + 1);
        if (word)
            return w * 64 + 63 - __builtin_clzll(word);
    }
    return -1;
}

int bits_select(const struct bits *b, int from, int i)
{
    for (int w = from / 64; w < BITS_WORDS; w++) {
        uint64_t word = b->word[w];
        int n;
        if (w == from / 64)
            word &= ~bits_low(from % 64);
        n = bits_count_word(word);
        if (i < n)
            return w * 64 + bits_select_word(word, i);
        i -= n;
    }
    return -1;
}
