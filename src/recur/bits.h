/* SPDX-License-Identifier: MIT */
/* Sets of small numbers: one word for hours, minutes and the like, six for the days of a year. */
#ifndef RECUR_BITS_H
#define RECUR_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define BITS_YEAR  366
#define BITS_WORDS 6 /* 384 bits, so there is always room behind a year */

struct bits {
    uint64_t word[BITS_WORDS];
};

static inline bool bits_has(const struct bits *b, int i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}

static inline void bits_add(struct bits *b, int i)
{
    b->word[i / 64] |= UINT64_C(1) << (i % 64);
}

/* The n lowest bits of a word, n from 0 to 64. */
static inline uint64_t bits_low(int n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static inline int bits_count_word(uint64_t word)
{
    return __builtin_popcountll(word);
}

/* The position of the i-th bit that is set, from 0; there must be so many. */
static inline int bits_select_word(uint64_t word, int i)
{
    while (i-- > 0)
        word &= word - 1;
    return __builtin_ctzll(word);
}

bool bits_empty(const struct bits *b);
void bits_and(struct bits *b, const struct bits *other);
/* Adds from .. to-1. */
void bits_add_range(struct bits *b, int from, int to);
/* Ors in a word whose bit 0 becomes bit `at`; what would be beyond the last word is lost. */
void bits_or_word(struct bits *b, int at, uint64_t word);
/* How many of from .. to-1 it has. */
int bits_count(const struct bits *b, int from, int to);
/* The first that is >= from, or -1. */
int bits_next(const struct bits *b, int from);
/* The last that is <= from, or -1; `from` may be anything. */
int bits_last(const struct bits *b, int64_t from);
/* The i-th of those >= from, counted from 0; -1 if there are not so many. */
int bits_select(const struct bits *b, int from, int i);

#endif
