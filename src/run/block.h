/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a run's elements. Each begins with its kind; numbers are varints; signed
 * numbers are marked `zigzag`.
 *
 *     data    | 1 | base | entry | entry | ...
 *             entry:  | shared | rest | version - base, zigzag | size * 2 + grave | key | value |
 *     index   | 2 | number of the first data block it names | name | name | ...
 *     filter  | 3 | bits |                                        (filter.c)
 *     root    | 4 | format | data, index and filter blocks | bytes of the filter | entries | graves
 *             | bytes of all elements before the root | name of each index block | position of each
 *             filter block |
 *     name:   | shared | rest | position, zigzag | key |
 *
 * A key is the first `shared` bytes of the key before it in its block, and `rest` more. A position
 * is the one that the store told when the block was appended, as the difference to the position
 * before it.
 *
 * Bytes are not trusted: readers answer false for bytes that no writer writes, such as keys
 * that do not rise, and never look beyond the end.
 */
#ifndef RUN_BLOCK_H
#define RUN_BLOCK_H

#include "base/wire.h"
#include "run/run.h"

#define BLOCK_FORMAT 1

enum block_kind {
    BLOCK_DATA = 1,
    BLOCK_INDEX,
    BLOCK_FILTER,
    BLOCK_ROOT,
};

/* Reads the kind, with which each element begins. */
static inline bool block_is(struct wire_reader *r, enum block_kind kind)
{
    return wire_u8(r) == kind && !r->bad;
}

/* ---- Entries of a data block ---- */

/* The block as far as it was read. */
struct block_entries {
    struct wire_reader in;
    uint32_t base;
};

/* Appends an entry; `before` is the key before it in the block (empty: it is the first). */
void block_put_entry(struct buf *b, uint32_t base, struct str before, const struct run_entry *e);
/* The most bytes that block_put_entry() appends: four numbers, key and value. */
static inline size_t block_entry_max(const struct run_entry *e)
{
    return (size_t)40 + e->key.len + e->value.len;
}

bool block_entries_init(struct block_entries *b, struct str element);
/* Reads the next entry. 1: *ret is the entry. 0: the block has ended. < 0: it is damaged. `key` has
 * room for RUN_KEY_MAX bytes. It holds the key before (empty at the beginning), and gets the key of
 * the entry, to which ret points. */
int block_next_entry(struct block_entries *b, struct buf *key, struct run_entry *ret);

/* ---- Names of blocks, in index blocks and the root ---- */

struct block_names {
    struct buf *out;
    struct buf last; /* key of the last name; empty: the next is the first of its block */
    uint64_t at;     /* position in the last name; 0 before the first */
};

void block_put_name(struct block_names *n, struct str key, uint64_t at);

/* Reads a name: `key` and *at are those before it (empty and 0 at the beginning) and become its. */
bool block_next_name(struct wire_reader *in, struct buf *key, uint64_t *at);

/* ---- Filters ---- */

/* A blocked Bloom filter: the hash chooses 64 bytes, and FILTER_PROBES bits in them, so that a
 * question costs one or two cache lines. With about ten bits for each item one answer in a hundred
 * is a wrong "yes"; with twice as many bits one in two thousand. The bytes on disk are those in
 * memory, any multiple of 64. */
#define FILTER_BITS   10 /* for each item */
#define FILTER_PROBES 6
#define FILTER_BLOCK  64u

/* All zeros, in the size for `items` items. False if there is no memory. */
bool filter_init(struct buf *f, uint64_t items);
void filter_add(struct buf *f, uint64_t hash);

/* ---- The root ---- */

struct block_name {
    uint32_t key; /* offset in keys */
    uint32_t key_len;
    uint64_t at;
};

struct block_root {
    uint64_t data;
    uint64_t index;
    uint64_t filters;
    uint64_t filter_bytes;
    uint64_t entries;
    uint64_t graves;
    uint64_t bytes;
    struct block_name *names; /* of index blocks */
    struct buf keys;
    uint64_t *filter_at;
};

/* NOMEM or CORRUPT, without detail: the caller knows which element it is. On error fini as well. */
int block_root_decode(struct str element, struct block_root *ret);
void block_root_fini(struct block_root *r);

static inline struct str block_root_key(const struct block_root *r, uint64_t i)
{
    return (struct str){ r->keys.ptr + r->names[i].key, r->names[i].key_len };
}

#endif
