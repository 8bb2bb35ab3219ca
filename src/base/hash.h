/* SPDX-License-Identifier: MIT */
/*
 * Hashing of bytes that come from outside. A client that knows a hash function can choose names
 * that all have one hash. Therefore these functions are SipHash with a secret key. Bytes that no
 * client chooses, and checksums, need no key.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct hash_key {
    uint64_t a;
    uint64_t b;
};

struct hash_wide {
    uint64_t low;
    uint64_t high;
};

/* A random key. False: the system has no random bytes. */
bool hash_key_draw(struct hash_key *ret);
/* Whether a key was given at all: a random one is never 0. */
static inline bool hash_key_is_set(struct hash_key k)
{
    return (k.a | k.b) != 0;
}

/* For tables in memory: SipHash-1-3, 64 bits. */
uint64_t hash_quick(struct hash_key k, struct str bytes);
/* For names that stand on disk, where one hash stands for one name: SipHash-2-4, 128 bits. */
struct hash_wide hash_wide(struct hash_key k, struct str bytes);

#endif
