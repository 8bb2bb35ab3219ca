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

/* The last word has the bytes that are left, and the length. */
static inline void take_all(struct sip *s, struct str bytes, int n)
{
    const char *p = bytes.ptr, *end = p + (bytes.len & ~(size_t)7);
    uint64_t last = (uint64_t)bytes.len << 56;

    for (; p < end; p += 8)
        take(s, load(p), n);
    for (size_t i = 0; i < (bytes.len & 7); i++)
        last |= (uint64_t)(unsigned char)p[i] << (8 * i);
    take(s, last, n);
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
