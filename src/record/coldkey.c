/* SPDX-License-Identifier: MIT */
/* The keys of runs, and the values of the locator. */
#include "record/coldkey.h"

#include <xxhash.h>

#include "record/codec.h"
#include "record/name.h"

#define LOCATE_SEQ         'i'
#define LOCATE_KEY         'k'
#define LOCATE_ORDERED_KEY 'o'
#define LOCATE_SECRET      's' /* a key, by the secret */

const struct cold_names cold_names_old = { 0 };

struct cold_parts {
    size_t len;
    char bytes[1 + 2 + QUEUE_MAX_BYTES + 2 * (2 + KEY_MAX_BYTES)];
};

static void put_big(struct cold_key *k, uint64_t v)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        k->bytes[k->len++] = (char)(v >> shift);
}

static uint64_t get_big(const char *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

static void put_point(struct cold_key *k, struct cold_point p)
{
    put_big(k, (uint64_t)p.at_ms);
    put_big(k, p.seq);
}

void cold_key_due(struct cold_key *ret, struct cold_point p)
{
    ret->len = 0;
    ret->bytes[ret->len++] = FAMILY_DUE;
    put_point(ret, p);
}

void cold_key_queue(struct cold_key *ret, char family, struct str queue, unsigned class,
                    struct cold_point p)
{
    ret->len = 0;
    ret->bytes[ret->len++] = family;
    if (queue.len)
        memcpy(ret->bytes + ret->len, queue.ptr, queue.len);
    ret->len += queue.len;
    ret->bytes[ret->len++] = 0;
    if (family == FAMILY_BACKLOG)
        ret->bytes[ret->len++] = (char)class;
    put_point(ret, p);
}

void cold_key_audit(struct cold_key *ret)
{
    cold_key_queue(ret, FAMILY_KEPT, hidden_rows[HIDDEN_AUDIT].name, 0,
                   (struct cold_point){ 0, 0 });
    ret->len -= 16;
}

bool cold_is_audit(struct str key)
{
    struct cold_key prefix;

    cold_key_audit(&prefix);
    return key.len == (size_t)prefix.len + 16 && memcmp(key.ptr, prefix.bytes, prefix.len) == 0;
}

void cold_key_lane(struct cold_key *ret, struct str queue, uint64_t lane, struct cold_point p)
{
    cold_key_queue(ret, FAMILY_ASIDE, queue, 0, p);
    ret->len -= 16;
    put_big(ret, lane);
    put_point(ret, p);
}

uint64_t cold_key_lane_of(struct str key)
{
    return get_big(key.ptr + key.len - 24);
}

void cold_key_of_seq(struct cold_key *ret, uint64_t seq)
{
    ret->len = 0;
    ret->bytes[ret->len++] = FAMILY_LOCATOR;
    ret->bytes[ret->len++] = LOCATE_SEQ;
    put_big(ret, seq);
}

/* Appends a part with its length in front, so that different parts never make equal bytes. */
static void put_part(struct cold_parts *p, struct str part)
{
    p->bytes[p->len++] = (char)(part.len >> 8);
    p->bytes[p->len++] = (char)part.len;
    if (part.len)
        memcpy(p->bytes + p->len, part.ptr, part.len);
    p->len += part.len;
}

static struct hash_wide hash_parts(const struct cold_names *n, char what, struct str queue,
                                   struct str order, struct str key)
{
    struct cold_parts p;

    p.bytes[0] = what;
    p.len = 1;
    put_part(&p, queue);
    put_part(&p, order);
    put_part(&p, key);
    return hash_wide(n->key, (struct str){ p.bytes, p.len });
}

uint64_t cold_lane(const struct cold_names *n, struct str queue, struct str order)
{
    if (hash_key_is_set(n->key))
        return hash_parts(n, FAMILY_ASIDE, queue, order, (struct str){ 0 }).low;
    return XXH3_64bits_withSeed(order.ptr, order.len, XXH3_64bits(queue.ptr, queue.len));
}

/* As older versions named keys. */
static void old_key_of_key(struct cold_key *ret, struct str queue, struct str order, struct str key)
{
    char both[2 + 2 * KEY_MAX_BYTES];
    uint64_t seed = XXH3_64bits(queue.ptr, queue.len);
    XXH128_hash_t h;

    ret->len = 0;
    ret->bytes[ret->len++] = FAMILY_LOCATOR;
    ret->bytes[ret->len++] = order.len > 0 ? LOCATE_ORDERED_KEY : LOCATE_KEY;
    if (order.len > 0) { /* The length comes first: no other two keys give these bytes. */
        both[0] = (char)(order.len >> 8);
        both[1] = (char)order.len;
        memcpy(both + 2, order.ptr, order.len);
        memcpy(both + 2 + order.len, key.ptr, key.len);
        key = (struct str){ both, 2 + order.len + key.len };
    }
    h = XXH3_128bits_withSeed(key.ptr, key.len, seed);
    put_big(ret, h.high64);
    put_big(ret, h.low64);
}

/* A hash of 128 bits stands for queue and key. With that many bits, two keys of a data directory
 * practically never share a hash. */
void cold_key_of_key(struct cold_key *ret, const struct cold_names *n, struct str queue,
                     struct str order, struct str key)
{
    struct hash_wide h;

    if (!hash_key_is_set(n->key)) {
        old_key_of_key(ret, queue, order, key);
        return;
    }
    h = hash_parts(n, FAMILY_LOCATOR, queue, order, key);
    ret->len = 0;
    ret->bytes[ret->len++] = FAMILY_LOCATOR;
    ret->bytes[ret->len++] = LOCATE_SECRET;
    put_big(ret, h.high);
    put_big(ret, h.low);
}

bool cold_key_point(struct str key, struct cold_point *ret)
{
    if (key.len < 17)
        return false;
    ret->at_ms = (int64_t)get_big(key.ptr + key.len - 16);
    ret->seq = get_big(key.ptr + key.len - 8);
    return true;
}

unsigned cold_key_class(struct str key)
{
    return key.len > 18 && key.ptr[0] == FAMILY_BACKLOG ? (unsigned char)key.ptr[key.len - 17] : 0;
}

uint64_t cold_key_hash(struct str locator_key)
{
    return XXH3_64bits(locator_key.ptr, locator_key.len);
}

void cold_place_put(struct buf *out, struct str place, int64_t until)
{
    wire_put_zigzag(out, until);
    buf_str(out, place);
}

bool cold_place_get(struct str value, struct str *ret_place, int64_t *ret_until)
{
    struct wire_reader r = wire_reader_of(value);

    *ret_until = wire_zigzag(&r);
    *ret_place = (struct str){ (const char *)r.p, (size_t)(r.end - r.p) };
    return !r.bad && ret_place->len > 0 && ret_place->len <= COLD_KEY_MAX;
}

enum cold_slot cold_slot_of(char family, unsigned state, unsigned class)
{
    switch (family) {
    case FAMILY_BACKLOG:
        return (enum cold_slot)(class <= 5 ? COLD_BACKLOG + class - 1 : COLD_BACKLOG_7 + class - 7);
    case FAMILY_ASIDE: return COLD_ASIDE;
    case FAMILY_PAST:
    case FAMILY_KEPT:
        return state == JOB_DONE      ? COLD_DONE
               : state == JOB_DEAD    ? COLD_DEAD
               : state == JOB_EXPIRED ? COLD_EXPIRED
                                      : COLD_CANCELLED;
    default: return COLD_DUE;
    }
}

enum cold_slot cold_slot_at(enum cold_slot slot, int64_t at_ms)
{
    return slot == COLD_DUE && at_ms > TIME_MOMENT_MAX ? COLD_WAITING : slot;
}

enum job_state cold_state(enum cold_slot slot)
{
    switch (slot) {
    case COLD_DUE: return JOB_SCHEDULED;
    case COLD_DONE: return JOB_DONE;
    case COLD_CANCELLED: return JOB_CANCELLED;
    case COLD_DEAD: return JOB_DEAD;
    case COLD_EXPIRED: return JOB_EXPIRED;
    case COLD_WAITING: return JOB_WAITING;
    default: return JOB_READY;
    }
}

void tally_put(struct buf *out, const struct tally_entry *t)
{
    wire_put_bytes(out, t->queue);
    wire_put_u8(out, (uint8_t)(t->slot | SLOT_SIZED));
    wire_put_zigzag(out, t->n);
    wire_put_zigzag(out, t->bytes);
    if (slot_is_backlog(t->slot)) {
        wire_put_zigzag(out, t->first.at_ms);
        wire_put_varint(out, t->first.seq);
    }
    if (t->slot == COLD_ASIDE)
        wire_put_u64(out, t->lane);
}

bool tally_get(struct wire_reader *r, struct tally_entry *ret)
{
    ret->queue = wire_bytes(r);
    unsigned sized = wire_u8(r), slot = sized & ~SLOT_SIZED;
    ret->slot = (enum cold_slot)slot;
    ret->n = wire_zigzag(r);
    ret->bytes = sized & SLOT_SIZED ? wire_zigzag(r) : ret->n * COLD_GUESS;
    if (slot < COLD_SLOTS && slot_is_backlog(ret->slot)) {
        ret->first.at_ms = wire_zigzag(r);
        ret->first.seq = wire_varint(r);
    }
    ret->lane = slot == COLD_ASIDE ? wire_u64(r) : 0;
    return !r->bad && slot < COLD_SLOTS && stored_name_valid(ret->queue) &&
           (slot != COLD_ASIDE || ret->first.seq > 0);
}

/* The length stands before the description: a reader passes over fields that it does not know. */
void run_desc_put(struct buf *out, const struct run_desc *from)
{
    size_t start = out->len + 4;

    wire_put_u32(out, 0);
    RUN_FIRST_FIELDS(PUT_FIELD)
    wire_put_u8(out, (uint8_t)(from->split | from->broken << 1));
    RUN_FIELDS(PUT_FIELD)
    wire_put_varint(out, from->spread_count);
    for (unsigned i = 0; i < from->spread_count; i++)
        wire_put_zigzag(out, from->spread[i] - (i ? from->spread[i - 1] : 0));
    uint32_t len = (uint32_t)(out->len - start);
    if (!out->failed)
        memcpy(out->ptr + start - 4, &len, 4);
}

static bool get_desc(struct wire_reader *r, struct run_desc *ret)
{
    unsigned flags;

    RUN_FIRST_FIELDS(GET_FIELD)
    flags = wire_u8(r);
    ret->split = flags & 1;
    ret->broken = flags >> 1 & 1;
    RUN_FIELDS(GET_FIELD)
    ret->spread_count = (unsigned)wire_varint(r);
    if (r->bad || ret->spread_count > SPREAD_POINTS || ret->first.len > COLD_KEY_MAX ||
        ret->last.len > COLD_KEY_MAX || ret->first.len == 0 || ret->last.len == 0)
        return false;
    for (unsigned i = 0; i < ret->spread_count; i++)
        ret->spread[i] = codec_since(r, i ? ret->spread[i - 1] : 0, INT64_MIN, INT64_MAX);
    return !r->bad;
}

bool run_desc_get(struct wire_reader *r, struct run_desc *ret)
{
    size_t len = wire_u32(r);
    struct wire_reader body = { r->p, r->p, false };

    if (r->bad || len > (size_t)(r->end - r->p))
        return false;
    body.end = r->p += len;
    return get_desc(&body, ret);
}
