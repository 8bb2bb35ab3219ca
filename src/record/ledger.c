/* SPDX-License-Identifier: MIT */
/* Recurrences as bytes, and their ledgers. */
#include "record/ledger.h"

#include <string.h>

#include "base/wire.h"
#include "record/name.h"
#include "record/opts.h"

#define FORMAT   1
#define OPTS_MAX 49152 /* more than labels and the like can take */

const char *ledger_word(enum ledger_outcome o)
{
    static const char *const words[] = {
#define WORD(name, word, why) [LEDGER_##name] = word,
        LEDGER_OUTCOMES(WORD)
#undef WORD
    };
    return words[o];
}

const char *ledger_why(enum ledger_outcome o)
{
    static const char *const reasons[] = {
#define WHY(name, word, why) [LEDGER_##name] = why,
        LEDGER_OUTCOMES(WHY)
#undef WHY
    };
    return reasons[o];
}

static void put_entry(struct buf *out, const struct ledger_entry *x)
{
    wire_put_u8(out, (uint8_t)x->outcome);
    wire_put_zigzag(out, x->nominal_ms);
    wire_put_zigzag(out, x->upto_ms - x->nominal_ms);
    wire_put_varint(out, x->count);
    wire_put_u8(out, x->by_hand);
    wire_put_zigzag(out, x->id.due_ms - x->nominal_ms);
    wire_put_varint(out, x->id.seq);
    wire_put_zigzag(out, x->ended_ms - x->nominal_ms);
}

/* A moment, or -1. */
static bool is_moment(int64_t ms)
{
    return ms >= -1 && ms <= TIME_MOMENT_MAX;
}

static bool get_entry(struct wire_reader *r, uint16_t partition, struct ledger_entry *ret)
{
    unsigned outcome = wire_u8(r);

    ret->outcome = (enum ledger_outcome)outcome;
    ret->nominal_ms = wire_zigzag(r);
    ret->upto_ms = (int64_t)((uint64_t)ret->nominal_ms + (uint64_t)wire_zigzag(r));
    ret->count = wire_varint(r);
    ret->by_hand = wire_u8(r) != 0;
    ret->id.due_ms = (int64_t)((uint64_t)ret->nominal_ms + (uint64_t)wire_zigzag(r));
    ret->id.partition = partition;
    ret->id.seq = wire_varint(r);
    ret->ended_ms = (int64_t)((uint64_t)ret->nominal_ms + (uint64_t)wire_zigzag(r));
    return !r->bad && outcome < LEDGER_OUTCOME_COUNT && is_moment(ret->nominal_ms) &&
           is_moment(ret->upto_ms) && is_moment(ret->id.due_ms) && is_moment(ret->ended_ms);
}

void recurrence_encode(struct buf *out, const struct recurrence *r)
{
    wire_put_u8(out, FORMAT);
    wire_put_u8(out, (uint8_t)r->kind);
    wire_put_bytes(out, r->rule);
    wire_put_bytes(out, r->zone);
    wire_put_bytes(out, r->exdate);
    wire_put_bytes(out, r->rdate);
    wire_put_zigzag(out, r->start_ms);
    wire_put_u8(out, (uint8_t)r->catchup);
    wire_put_u8(out, (uint8_t)r->overlap);
    wire_put_bytes(out, r->queue);
    wire_put_u8(out, (uint8_t)r->priority);
    wire_put_bytes(out, r->opts);
    wire_put_bytes(out, r->payload);
    wire_put_u8(out, r->paused);
    wire_put_varint(out, r->revision);
    wire_put_zigzag(out, r->edited_ms);
    wire_put_zigzag(out, r->last_ms);
    wire_put_zigzag(out, r->next_ms);
    wire_put_varint(out, r->state.n);
    wire_put_zigzag(out, r->state.at_ms);
    wire_put_varint(out, r->range_count);
    for (size_t i = 0; i < r->range_count; i++) {
        wire_put_zigzag(out, r->ranges[i].from_ms);
        wire_put_zigzag(out, r->ranges[i].upto_ms - r->ranges[i].from_ms);
        wire_put_varint(out, r->ranges[i].n);
    }
    wire_put_u8(out, r->gap);
    wire_put_zigzag(out, r->skip_ms);
    wire_put_u8(out, (uint8_t)r->skip_why);
    wire_put_u8(out, LEDGER_OUTCOME_COUNT);
    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        wire_put_varint(out, r->totals[i]);
    wire_put_varint(out, r->ledger_count);
    for (size_t i = 0; i < r->ledger_count; i++)
        put_entry(out, &r->ledger[i]);
}

/* Options of the jobs that it makes: not what each must have for itself. */
static bool is_template(struct str opts)
{
    struct wire_reader r = wire_reader_of(opts);
    struct opt o;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_KEY || o.type == OPT_AFTER || o.type == OPT_LISTENER ||
            o.type == OPT_NOMINAL)
            return false;
    return opts.len <= OPTS_MAX && !r.bad;
}

/* What the user said. */
static bool get_rule(struct wire_reader *r, struct recurrence *ret)
{
    unsigned kind = wire_u8(r), catchup, overlap;

    ret->kind = (enum recur_kind)kind;
    ret->rule = wire_bytes(r);
    ret->zone = wire_bytes(r);
    ret->exdate = wire_bytes(r);
    ret->rdate = wire_bytes(r);
    ret->start_ms = wire_zigzag(r);
    catchup = wire_u8(r);
    overlap = wire_u8(r);
    ret->catchup = (enum catchup)catchup;
    ret->overlap = (enum overlap)overlap;
    ret->queue = wire_bytes(r);
    ret->priority = wire_u8(r);
    ret->opts = wire_bytes(r);
    ret->payload = wire_bytes(r);
    return !r->bad && kind <= RECUR_EVERY && catchup <= CATCHUP_ALL && overlap <= OVERLAP_QUEUE &&
           is_moment(ret->start_ms) && ret->start_ms >= 0 && queue_name_valid(ret->queue) &&
           is_template(ret->opts) && ret->priority >= 1 && ret->priority <= 5;
}

static bool get_ranges(struct wire_reader *r, struct recurrence *ret)
{
    uint64_t n = wire_varint(r);

    if (r->bad || n > QUEUE_RANGES)
        return false;
    for (ret->range_count = 0; ret->range_count < n; ret->range_count++) {
        struct queue_range *x = &ret->ranges[ret->range_count];

        x->from_ms = wire_zigzag(r);
        x->upto_ms = (int64_t)((uint64_t)x->from_ms + (uint64_t)wire_zigzag(r));
        x->n = wire_varint(r);
        if (r->bad || !is_moment(x->from_ms) || !is_moment(x->upto_ms) || x->from_ms < 0 ||
            x->upto_ms < 0 || x->n == 0 || x->n > QUEUED_MAX)
            return false;
        ret->queued += x->n;
    }
    ret->gap = wire_u8(r) != 0;
    return !r->bad;
}

bool recurrence_decode(struct str bytes, uint16_t partition, struct recurrence *ret)
{
    struct wire_reader r = wire_reader_of(bytes);
    unsigned totals, why;

    *ret = (struct recurrence){ 0 };
    if (wire_u8(&r) != FORMAT || !get_rule(&r, ret))
        return false;
    ret->paused = wire_u8(&r) != 0;
    ret->revision = wire_varint(&r);
    ret->edited_ms = wire_zigzag(&r);
    ret->last_ms = wire_zigzag(&r);
    ret->next_ms = wire_zigzag(&r);
    ret->state.n = wire_varint(&r);
    ret->state.at_ms = wire_zigzag(&r);
    if (!is_moment(ret->last_ms) || !is_moment(ret->next_ms) || !get_ranges(&r, ret))
        return false;
    ret->skip_ms = wire_zigzag(&r);
    why = wire_u8(&r);
    ret->skip_why = (enum ledger_outcome)why;
    totals = wire_u8(&r);
    for (unsigned i = 0; i < totals; i++) { /* a newer version may know more of them */
        uint64_t n = wire_varint(&r);

        if (i < LEDGER_OUTCOME_COUNT)
            ret->totals[i] = n;
    }
    ret->ledger_count = (size_t)wire_varint(&r);
    if (r.bad || ret->ledger_count > LEDGER_MAX || why >= LEDGER_OUTCOME_COUNT)
        return false;
    for (size_t i = 0; i < ret->ledger_count; i++)
        if (!get_entry(&r, partition, &ret->ledger[i]))
            return false;
    return true;
}

size_t ledger_open(const struct recurrence *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->ledger_count; i++)
        n += r->ledger[i].outcome == LEDGER_OPEN;
    return n;
}

bool ledger_add(struct recurrence *r, const struct ledger_entry *x)
{
    size_t oldest = 0;

    if (r->ledger_count == LEDGER_MAX) {
        while (oldest < LEDGER_MAX && r->ledger[oldest].outcome == LEDGER_OPEN)
            oldest++;
        if (oldest == LEDGER_MAX)
            return false;
        memmove(&r->ledger[oldest], &r->ledger[oldest + 1],
                (LEDGER_MAX - oldest - 1) * sizeof(r->ledger[0]));
        r->ledger_count--;
    }
    r->ledger[r->ledger_count++] = *x;
    r->totals[x->outcome] += x->count;
    return true;
}

void ledger_skip(struct recurrence *r, int64_t from_ms, int64_t upto_ms, uint64_t n,
                 enum ledger_outcome why)
{
    struct ledger_entry *last = r->ledger_count ? &r->ledger[r->ledger_count - 1] : NULL;

    if (last && last->outcome == why && last->id.seq == 0) {
        last->count += n;
        last->upto_ms = upto_ms;
        r->totals[why] += n;
    } else if (!ledger_add(r, &(struct ledger_entry){ .outcome = why,
                                                      .nominal_ms = from_ms,
                                                      .upto_ms = upto_ms,
                                                      .count = n,
                                                      .ended_ms = from_ms })) {
        r->totals[why] += n; /* full of those under way: counted at least */
    }
}

void ledger_enqueue(struct recurrence *r, int64_t nominal_ms)
{
    struct queue_range *last = r->range_count ? &r->ranges[r->range_count - 1] : NULL;

    if (last && !r->gap) {
        last->upto_ms = nominal_ms;
        last->n++;
    } else if (r->range_count < QUEUE_RANGES) {
        r->ranges[r->range_count++] = (struct queue_range){ nominal_ms, nominal_ms, 1 };
        r->gap = false;
    } else {
        ledger_skip(r, nominal_ms, nominal_ms, 1, LEDGER_CROWD);
        return;
    }
    r->queued++;
}
