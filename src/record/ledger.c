/* SPDX-License-Identifier: MIT */
/* Recurrences as bytes, and their ledgers. */
#include "record/ledger.h"

#include <string.h>
#include <xxhash.h>

#include "record/codec.h"
#include "record/name.h"
#include "record/opts.h"

#define FORMAT   1
#define OPTS_MAX 49152 /* more than labels and the like can take */

static const struct {
    const char *word;
    const char *why;
} outcomes[] = {
#define OUTCOME(name, word, why) [LEDGER_##name] = { word, why },
    LEDGER_OUTCOMES(OUTCOME)
#undef OUTCOME
};

const char *ledger_word(enum ledger_outcome o)
{
    return outcomes[o].word;
}

const char *ledger_why(enum ledger_outcome o)
{
    return outcomes[o].why;
}

/* An entry of the ledger. Its moments are stored less its nominal time. */
#define PUT_SINCE_NOMINAL(name) wire_put_zigzag(out, from->name - from->nominal_ms);
#define GET_SINCE_NOMINAL(name) ret->name = codec_since(r, ret->nominal_ms, -1, TIME_MOMENT_MAX);

#define ENTRY_FIELDS(F)                  \
    F(ENUM(ledger_outcome), outcome, "") \
    F(OPTIONAL, nominal_ms, "")          \
    F(SINCE_NOMINAL, upto_ms, "")        \
    F(NUMBER, count, "")                 \
    F(FLAG, by_hand, "")                 \
    F(SINCE_NOMINAL, id.due_ms, "")      \
    F(NUMBER, id.seq, "")                \
    F(SINCE_NOMINAL, ended_ms, "")

static void put_entry(struct buf *out, const struct ledger_entry *from)
{
    ENTRY_FIELDS(PUT_FIELD)
}

static bool get_entry(struct wire_reader *r, uint16_t partition, struct ledger_entry *ret)
{
    ENTRY_FIELDS(GET_FIELD)
    ret->id.partition = partition;
    return !r->bad && ret->outcome < LEDGER_OUTCOME_COUNT;
}

void recurrence_encode(struct buf *out, const struct recurrence *from)
{
    wire_put_u8(out, FORMAT);
    RULE_FIELDS(PUT_FIELD)
    PROGRESS_FIELDS(PUT_FIELD)
    wire_put_varint(out, from->state.n);
    wire_put_zigzag(out, from->state.at_ms);
    wire_put_varint(out, from->range_count);
    for (size_t i = 0; i < from->range_count; i++) {
        const struct queue_range *x = &from->ranges[i];

        wire_put_zigzag(out, x->from_ms);
        wire_put_zigzag(out, x->upto_ms - x->from_ms);
        wire_put_varint(out, x->n);
    }
    wire_put_u8(out, from->gap);
    wire_put_zigzag(out, from->skip_ms);
    wire_put_u8(out, (uint8_t)from->skip_why);
    wire_put_u8(out, LEDGER_OUTCOME_COUNT);
    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        wire_put_varint(out, from->totals[i]);
    wire_put_varint(out, from->ledger_count);
    for (size_t i = 0; i < from->ledger_count; i++)
        put_entry(out, &from->ledger[i]);
}

/* Whether these can be the options of all jobs of a recurrence. A key, parents, listeners and a
 * nominal time belong to one job. */
static bool is_template(struct str opts)
{
    struct wire_reader r = wire_reader_of(opts);
    struct opt o;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_KEY || o.type == OPT_AFTER || o.type == OPT_TOLD ||
            o.type == OPT_LISTENER || o.type == OPT_NOMINAL)
            return false;
    return opts.len <= OPTS_MAX && !r.bad;
}

static bool get_rule(struct wire_reader *r, struct recurrence *ret)
{
    RULE_FIELDS(GET_FIELD)
    return !r->bad && ret->kind <= RECUR_EVERY && ret->catchup <= CATCHUP_ALL &&
           ret->overlap <= OVERLAP_QUEUE && queue_name_valid(ret->queue) &&
           is_template(ret->opts) && ret->priority >= 1 && ret->priority <= 5;
}

static bool get_ranges(struct wire_reader *r, struct recurrence *ret)
{
    uint64_t n = wire_varint(r);

    if (r->bad || n > QUEUE_RANGES)
        return false;
    for (ret->range_count = 0; ret->range_count < n; ret->range_count++) {
        struct queue_range *x = &ret->ranges[ret->range_count];

        x->from_ms = codec_moment(r, 0);
        x->upto_ms = codec_moment(r, x->from_ms);
        x->n = wire_varint(r);
        if (r->bad || x->n == 0 || x->n > QUEUED_MAX)
            return false;
        ret->queued += x->n;
    }
    ret->gap = wire_u8(r) != 0;
    return !r->bad;
}

static void get_totals(struct wire_reader *r, struct recurrence *ret)
{
    unsigned totals = wire_u8(r);

    for (unsigned i = 0; i < totals; i++) { /* a newer version may know more of them */
        uint64_t n = wire_varint(r);

        if (i < LEDGER_OUTCOME_COUNT)
            ret->totals[i] = n;
    }
}

bool recurrence_decode(struct str bytes, uint16_t partition, struct recurrence *ret)
{
    struct wire_reader reader = wire_reader_of(bytes), *r = &reader;

    *ret = (struct recurrence){ 0 };
    if (wire_u8(r) != FORMAT || !get_rule(r, ret))
        return false;
    PROGRESS_FIELDS(GET_FIELD)
    ret->state.n = wire_varint(r);
    ret->state.at_ms = wire_zigzag(r);
    if (r->bad || !get_ranges(r, ret))
        return false;
    ret->skip_ms = wire_zigzag(r);
    ret->skip_why = (enum ledger_outcome)wire_u8(r);
    get_totals(r, ret);
    ret->ledger_count = (size_t)wire_varint(r);
    if (r->bad || ret->ledger_count > LEDGER_MAX || ret->skip_why >= LEDGER_OUTCOME_COUNT)
        return false;
    for (size_t i = 0; i < ret->ledger_count; i++)
        if (!get_entry(r, partition, &ret->ledger[i]))
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
        r->totals[why] += n; /* The ledger is full of occurrences under way. */
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

uint64_t recurrence_seed(struct str name, struct str queue)
{
    return XXH3_64bits_withSeed(name.ptr, name.len, XXH3_64bits(queue.ptr, queue.len));
}

struct recur_spec recurrence_spec_of(struct str name, const struct recurrence *r)
{
    return (struct recur_spec){
        .kind = r->kind,
        .text = r->rule,
        .start_ms = r->start_ms,
        .seed = recurrence_seed(name, r->queue),
        .exdate = r->exdate,
        .rdate = r->rdate,
    };
}
