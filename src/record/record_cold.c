/* SPDX-License-Identifier: MIT */
/* Records about what is on disk besides the journal. */
#include "record/record_cold.h"

#include "record/coldkey.h"

void record_put_fed(struct buf *out, const struct fed_record *r)
{
    size_t mark = record_open(out, RECORD_FED);

    wire_put_zigzag(out, r->frontier_at);
    wire_put_varint(out, r->frontier_seq);
    wire_put_varint(out, r->graves);
    wire_put_varint(out, r->serial);
    wire_put_bytes(out, r->runs);
    wire_put_bytes(out, r->seqs);
    wire_put_bytes(out, r->tallies);
    wire_put_bytes(out, r->stale);
    record_close(out, mark);
}

bool record_get_fed(struct str body, struct fed_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->frontier_at = wire_zigzag(&r);
    ret->frontier_seq = wire_varint(&r);
    ret->graves = wire_varint(&r);
    ret->serial = wire_varint(&r);
    ret->runs = wire_bytes(&r);
    ret->seqs = wire_bytes(&r);
    ret->tallies = wire_bytes(&r);
    ret->stale = wire_bytes(&r);
    return !r.bad;
}

void record_put_merged(struct buf *out, const struct merged_record *r)
{
    size_t mark = record_open(out, RECORD_MERGED);

    wire_put_bytes(out, r->drops);
    wire_put_bytes(out, r->runs);
    wire_put_bytes(out, r->tallies);
    record_close(out, mark);
}

bool record_get_merged(struct str body, struct merged_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->drops = wire_bytes(&r);
    ret->runs = wire_bytes(&r);
    ret->tallies = wire_bytes(&r);
    return !r.bad;
}

void record_put_loaded(struct buf *out, const struct loaded_record *r)
{
    size_t mark = record_open(out, RECORD_LOADED);

    wire_put_bytes(out, r->queue);
    wire_put_u8(out, (uint8_t)r->class);
    wire_put_varint(out, r->number);
    wire_put_zigzag(out, r->upto_at);
    wire_put_varint(out, r->upto_seq);
    wire_put_varint(out, r->count);
    wire_put_bytes(out, r->images);
    if (r->class == CLASS_ASIDE) {
        wire_put_u64(out, r->lane);
        wire_put_varint(out, r->serial);
    }
    record_close(out, mark);
}

bool record_get_loaded(struct str body, struct loaded_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->queue = wire_bytes(&r);
    ret->class = wire_u8(&r);
    ret->number = (uint32_t)wire_varint(&r);
    ret->upto_at = wire_zigzag(&r);
    ret->upto_seq = wire_varint(&r);
    ret->count = wire_varint(&r);
    ret->images = wire_bytes(&r);
    ret->lane = ret->class == CLASS_ASIDE ? wire_u64(&r) : 0;
    ret->serial = ret->class == CLASS_ASIDE ? wire_varint(&r) : 0;
    return !r.bad &&
           (ret->queue.len == 0 ? ret->class == 0
                                : ret->queue.len <= QUEUE_MAX_BYTES &&
                                      (class_is_valid(ret->class) || ret->class == CLASS_ASIDE));
}

void record_put_taken(struct buf *out, const struct taken_record *r)
{
    size_t mark = record_open(out, RECORD_TAKEN);

    wire_put_varint(out, r->serial);
    wire_put_bytes(out, r->key);
    wire_put_bytes(out, r->image);
    record_close(out, mark);
}

bool record_get_taken(struct str body, struct taken_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->serial = wire_varint(&r);
    ret->key = wire_bytes(&r);
    ret->image = wire_bytes(&r);
    return !r.bad && ret->key.len > 0;
}

void record_put_run(struct buf *out, const struct str *desc)
{
    size_t mark = record_open(out, RECORD_RUN);

    buf_str(out, *desc);
    record_close(out, mark);
}

bool record_get_run(struct str body, struct str *ret)
{
    *ret = body;
    return true;
}

void record_put_grave(struct buf *out, const struct grave_record *r)
{
    size_t mark = record_open(out, RECORD_GRAVE);

    wire_put_varint(out, r->serial);
    wire_put_zigzag(out, r->gone_ms);
    wire_put_bytes(out, r->key);
    record_close(out, mark);
}

bool record_get_grave(struct str body, struct grave_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->serial = wire_varint(&r);
    ret->gone_ms = wire_zigzag(&r);
    ret->key = wire_bytes(&r);
    return !r.bad && ret->key.len > 0;
}

void record_put_tally(struct buf *out, const struct tally_record *r)
{
    size_t mark = record_open(out, RECORD_TALLY);

    wire_put_bytes(out, r->queue);
    wire_put_bytes(out, r->counts);
    wire_put_bytes(out, r->floors);
    record_close(out, mark);
}

bool record_get_tally(struct str body, struct tally_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->queue = wire_bytes(&r);
    ret->counts = wire_bytes(&r);
    ret->floors = wire_bytes(&r);
    return !r.bad && ret->queue.len > 0 && ret->queue.len <= QUEUE_MAX_BYTES;
}

void record_put_cold(struct buf *out, const struct cold_record *r)
{
    size_t mark = record_open(out, RECORD_COLD);

    wire_put_zigzag(out, r->frontier_at);
    wire_put_varint(out, r->frontier_seq);
    wire_put_varint(out, r->next_file);
    wire_put_varint(out, r->next_grave);
    record_close(out, mark);
}

bool record_get_cold(struct str body, struct cold_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->frontier_at = wire_zigzag(&r);
    ret->frontier_seq = wire_varint(&r);
    ret->next_file = wire_varint(&r);
    ret->next_grave = wire_varint(&r);
    return !r.bad;
}
