/* SPDX-License-Identifier: MIT */
/* Times of recurrences that a census collects: see times.h. */
#include "engine/times.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/place/detail.h"

/* ---- Recurrences on their way to the thread that asks their rules ---- */

/* A time that was decided about stands at its first moment, even before the window. */
static bool in_window(const struct census_ask *a, int64_t from_ms, int64_t upto_ms)
{
    return from_ms < a->to_ms && upto_ms >= a->from_ms;
}

static void put_entry(struct buf *out, const struct ledger_entry *x, unsigned kind)
{
    wire_put_u8(out, (uint8_t)kind);
    wire_put_zigzag(out, x->nominal_ms);
    wire_put_zigzag(out, x->upto_ms);
    wire_put_varint(out, x->count);
    wire_put_u8(out, x->by_hand);
    wire_put_zigzag(out, x->id.due_ms);
    wire_put_varint(out, x->id.seq);
    wire_put_zigzag(out, x->ended_ms);
}

void times_entry_get(struct wire_reader *in, uint16_t partition, struct ledger_entry *ret,
                     unsigned *ret_kind)
{
    *ret_kind = wire_u8(in);
    ret->nominal_ms = wire_zigzag(in);
    ret->upto_ms = wire_zigzag(in);
    ret->count = wire_varint(in);
    ret->by_hand = wire_u8(in) != 0;
    ret->id.due_ms = wire_zigzag(in);
    ret->id.partition = partition;
    ret->id.seq = wire_varint(in);
    ret->ended_ms = wire_zigzag(in);
}

void times_put(struct buf *out, const struct census_ask *ask, uint64_t seq, struct str name,
               const struct recurrence *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->ledger_count; i++)
        n += in_window(ask, r->ledger[i].nominal_ms, r->ledger[i].upto_ms);
    for (size_t i = 0; i < r->range_count; i++)
        n += in_window(ask, r->ranges[i].from_ms, r->ranges[i].upto_ms);
    census_rule_put(out, name, r);
    wire_put_bytes(out, name);
    wire_put_bytes(out, r->queue);
    wire_put_varint(out, seq);
    wire_put_u8(out, census_rule_counts(r));
    wire_put_varint(out, n);
    for (size_t i = 0; i < r->ledger_count; i++)
        if (in_window(ask, r->ledger[i].nominal_ms, r->ledger[i].upto_ms))
            put_entry(out, &r->ledger[i], r->ledger[i].outcome);
    for (size_t i = 0; i < r->range_count; i++) {
        const struct queue_range *x = &r->ranges[i];

        if (in_window(ask, x->from_ms, x->upto_ms))
            put_entry(out,
                      &(struct ledger_entry){
                          .nominal_ms = x->from_ms, .upto_ms = x->upto_ms, .count = x->n },
                      TIME_QUEUED);
    }
}

bool times_rule_get(struct wire_reader *in, uint16_t partition, struct times_rule *ret)
{
    (void)partition;
    if (!census_rule_get(in, &ret->rule))
        return false;
    ret->name = wire_bytes(in);
    ret->queue = wire_bytes(in);
    ret->seq = wire_varint(in);
    ret->goes_on = wire_u8(in) != 0;
    ret->entries = wire_varint(in);
    return !in->bad;
}

/* ---- The page: a heap with the last of its times on top ---- */

static bool time_before(int64_t a_ms, uint64_t a_seq, int64_t b_ms, uint64_t b_seq)
{
    return a_ms != b_ms ? a_ms < b_ms : a_seq < b_seq;
}

static bool is_before(const struct census_time *a, const struct census_time *b)
{
    return time_before(a->at.at_ms, a->seq, b->at.at_ms, b->seq);
}

bool times_wants(struct census *c, int64_t at_ms, uint64_t seq)
{
    if (!time_before(c->ask.after_ms, c->ask.after_seq, at_ms, seq))
        return false;
    if (c->time_count < c->ask.times ||
        time_before(at_ms, seq, c->times[0].at.at_ms, c->times[0].seq))
        return true;
    c->more = true;
    return false;
}

static void heap_swap(struct census_time *a, struct census_time *b)
{
    struct census_time t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct census_time *heap, size_t i)
{
    for (; i > 0 && is_before(&heap[(i - 1) / 2], &heap[i]); i = (i - 1) / 2)
        heap_swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_down(struct census_time *heap, size_t n, size_t i)
{
    for (;;) {
        size_t top = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (is_before(&heap[top], &heap[child]))
                top = child;
        if (top == i)
            return;
        heap_swap(&heap[i], &heap[top]);
        i = top;
    }
}

void times_add(struct census *c, const struct times_rule *r, const struct ledger_entry *entry,
               unsigned kind, const struct recur_occurrence *at)
{
    bool full = c->time_count == c->ask.times;
    struct census_time *t = &c->times[full ? 0 : c->time_count];

    c->more = c->more || full;
    *t = (struct census_time){ .entry = *entry,
                               .kind = kind,
                               .at = *at,
                               .seq = r->seq,
                               .name_len = (uint16_t)r->name.len,
                               .queue_len = (uint16_t)r->queue.len };
    memcpy(t->name, r->name.ptr, r->name.len);
    memcpy(t->queue, r->queue.ptr, r->queue.len);
    if (full)
        sift_down(c->times, c->time_count, 0);
    else
        sift_up(c->times, c->time_count++);
}

/* ---- The request ---- */

static int by_time(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : 1;
}

int engine_occurrences(struct engine *e, const struct census_ask *ask,
                       int (*fn)(void *arg, const struct census_time *t), void *arg,
                       struct list_cursor *ret_next, bool *ret_partial)
{
    struct census *c;
    int done = census_resume(e, ask, &c);

    if (done)
        return done;
    qsort(c->times, c->time_count, sizeof(*c->times), by_time);
    *ret_next = (struct list_cursor){ .more = c->more };
    *ret_partial = c->lacks || c->partial < c->ask.n;
    for (size_t i = 0; i < c->time_count && !done; i++) {
        done = fn(arg, &c->times[i]);
        ret_next->more = ret_next->more || (done > 0 && i + 1 < c->time_count);
        ret_next->due_ms = c->times[i].at.at_ms;
        ret_next->seq = c->times[i].seq;
    }
    census_free(c);
    return done < 0 ? done : 0;
}
