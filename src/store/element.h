/* SPDX-License-Identifier: MIT */
/*
 * The format of a log's file.
 *
 *        0  header, 64 bytes
 *           +----------+---------+------+-----------+------+-------+----------+
 *           | BELFRYLG | version | 4160 | name hash | salt | zeros | checksum |
 *           | 8        | u32     | u32  | u64       | u64  | 24    | u64      |
 *           +----------+---------+------+-----------+------+-------+----------+
 *     4096  a copy of the header, on another block: nothing can be salvaged without the salt
 *     4160  elements, each at a multiple of 8
 *           +--------+----------+------------+----------+----------------+----------------------+
 *           | length | low bits | checksum   | body     | zeros to a     | 16 zero bytes, over- |
 *           | + FIRM | of seq   | u64        |          | multiple of 8  | written by the next  |
 *           +--------+----------+------------+----------+----------------+----------------------+
 *            u32, u32: both xor-ed with a mask made from the salt
 *
 * The checksum is seeded by name, salt, seq, offset and length. The salt is random, and new each
 * time a file becomes a log. So neither old bytes of a recycled file nor a copy of an element in
 * another place are ever taken for an element. Bodies hold bytes of users. The mask keeps them from
 * looking like headers, because a search computes a checksum for each header that it meets.
 *
 * FIRM says: when this element was written, all elements before it were durable. So a bad element
 * before a FIRM one is damage. A bad element before other elements may come from a loss of power:
 * writes that were not synced reach the disk in any order.
 */
#ifndef STORE_ELEMENT_H
#define STORE_ELEMENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define LOG_VERSION    1
#define LOG_HEADER     64
#define LOG_COPY       4096
#define LOG_START      (LOG_COPY + LOG_HEADER)
#define ELEMENT_HEADER 16
#define ELEMENT_FIRM   0x80000000u
#define ELEMENT_SEARCH 1000000u /* A found seq may be so far ahead of the expected one. */

struct log_key {
    uint64_t name_hash;
    uint64_t salt;
    uint64_t mask;
};

/* A key for a new log, with a fresh salt. */
void log_key_new(struct str name, struct log_key *ret);
void log_key_set(struct log_key *key, uint64_t name_hash, uint64_t salt);
/* Fills header, gap and copy. */
void log_header_encode(const struct log_key *key, char ret[LOG_START]);
/* NULL and the key, or a static sentence that names the mistake. */
const char *log_header_decode(const char header[LOG_HEADER], struct str name, struct log_key *ret);

/* Bytes from one element's header to the next one's. */
static inline uint64_t element_span(uint64_t length)
{
    return ELEMENT_HEADER + ((length + 7) & ~UINT64_C(7));
}

void element_seal(const struct log_key *key, uint64_t seq, uint64_t offset, bool firm,
                  struct str body, char ret[ELEMENT_HEADER]);

/* A file being scanned, with the part of it that is in memory. */
struct window {
    int fd;
    uint64_t size; /* of the file */
    size_t step;   /* how much to read at once, at least */
    uint64_t offset;
    struct buf buf;
};

#define WINDOW_BYTES (256u << 10)
/* Enough for a block of a run with its frame, so that such a block takes one read. */
#define WINDOW_BLOCK (40u << 10)

/* Takes the file's size as it is now, and steps of WINDOW_BYTES. 0 or a negative errno. */
int window_init(struct window *w, int fd);
void window_fini(struct window *w);

enum element_kind {
    ELEMENT_END, /* a zero header or the end of the file */
    ELEMENT_WHOLE,
    ELEMENT_BAD,
};

struct element {
    uint64_t seq;
    uint64_t offset;
    uint64_t span; /* of a bad element: a guess */
    bool firm;
    struct str body; /* in the window, until its next use */
};

/* Looks for element `seq` at `offset`. Answers an element_kind, or a negative errno. */
int element_at(struct window *w, const struct log_key *key, uint64_t offset, uint64_t seq,
               struct element *ret);

/* Finds the first whole element at or behind `offset` with a number from seq to seq +
 * ELEMENT_SEARCH. Answers 1, 0 if there is none, or a negative errno. */
int element_search(struct window *w, const struct log_key *key, uint64_t offset, uint64_t seq,
                   struct element *ret);

#endif
