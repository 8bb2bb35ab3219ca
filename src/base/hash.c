/* SPDX-License-Identifier: MIT */
/* SipHash by Aumasson and Bernstein, from its description. */
#include "base/hash.h"

#include <endian.h>
#include <string.h>
#include <sys/random.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t turn(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void rounds(struct sip *s, int n)
{
    for (int i = 0; i < n; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = turn(s->v1, 13) ^ s->v0;
        s->v3 = turn(s->v3, 16) ^ s->v2;
        s->v0 = turn(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = turn(s->v1, 17) ^ s->v2;
        s->v3 = turn(s->v3, 21) ^ s->v0;
        s->v2 = turn(s->v2, 32);
    }
}

static inline uint64_t load(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return le64toh(word);
}

static inline struct sip begin(struct hash_key k)
{
    return (struct sip){
        k.a ^ UINT64_C(0x736f6d6570736575),
        k.b ^ UINT64_C(0x646f72616e646f6d),
        k.a ^ UINT64_C(0x6c7967656e657261),
        k.b ^ UINT64_C(0x7465646279746573),
    };
}

static inline void take(struct sip *s, uint64_t word, int n)
{
    s->v3 ^= word;
    rounds(s, n);
    s->v0 ^= word;
}

/* The bytes behind the last whole word, without a loop: names are short, and this is a large part
 * of their cost. */
static inline uint64_t load_rest(struct str bytes)
{
    size_t left = bytes.len & 7;
    uint32_t first, last;

    if (left == 0)
        return 0;
    if (bytes.len >= 8) /* with bytes of the word before, which are shifted out */
        return load(bytes.ptr + bytes.len - 8) >> (64 - 8 * left);
    if (left >= 4) { /* two halves, which may overlap */
        memcpy(&first, bytes.ptr, 4);
        memcpy(&last, bytes.ptr + left - 4, 4);
        return (uint64_t)le32toh(first) | (uint64_t)le32toh(last) << (8 * (left - 4));
    }
    return (uint64_t)(unsigned char)bytes.ptr[0] |
           (uint64_t)(unsigned char)bytes.ptr[left / 2] << (8 * (left / 2)) |
           (uint64_t)(unsigned char)bytes.ptr[left - 1] << (8 * (left - 1));
}

/* The last word has the bytes that are left, and the length. */
static inline void take_all(struct sip *s, struct str bytes, int n)
{
    for (size_t i = 0; i + 8 <= bytes.len; i += 8)
        take(s, load(bytes.ptr + i), n);
    take(s, load_rest(bytes) | (uint64_t)bytes.len << 56, n);
}

static inline uint64_t joined(const struct sip *s)
{
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t hash_quick(struct hash_key k, struct str bytes)
{
    struct sip s = begin(k);

    take_all(&s, bytes, 1);
    s.v2 ^= 0xff;
    rounds(&s, 3);
    return joined(&s);
}

struct hash_wide hash_wide(struct hash_key k, struct str bytes)
{
    struct sip s = begin(k);
    struct hash_wide ret;

    s.v1 ^= 0xee;
    take_all(&s, bytes, 2);
    s.v2 ^= 0xee;
    rounds(&s, 4);
    ret.low = joined(&s);
    s.v1 ^= 0xdd;
    rounds(&s, 4);
    ret.high = joined(&s);
    return ret;
}

bool hash_key_draw(struct hash_key *ret)
{
    do
        if (getrandom(ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
            return false;
    while (!hash_key_is_set(*ret));
    return true;
}
