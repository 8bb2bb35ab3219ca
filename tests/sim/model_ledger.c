/* SPDX-License-Identifier: MIT */
/* The ledger of a recurrence: what became of its last nominal times, in the order in which it was
 * decided. Those under way always stand in it. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/model_job.h"

/* False: all that stand there are under way. */
static bool make_room(struct model_recurrence *r)
{
    size_t i = 0;

    if (r->entry_count < MODEL_LEDGER)
        return true;
    while (i < MODEL_LEDGER && r->ledger[i].outcome == LEDGER_OPEN)
        i++;
    if (i == MODEL_LEDGER)
        return false;
    memmove(&r->ledger[i], &r->ledger[i + 1], (--r->entry_count - i) * sizeof(r->ledger[0]));
    return true;
}

void model_ledger_made(struct model_recurrence *r, int64_t nominal_ms, uint64_t seq, bool by_hand)
{
    make_room(r);
    r->ledger[r->entry_count++] = (struct model_entry){ .outcome = LEDGER_OPEN,
                                                        .nominal_ms = nominal_ms,
                                                        .upto_ms = nominal_ms,
                                                        .count = 1,
                                                        .by_hand = by_hand,
                                                        .seq = seq };
    r->totals[LEDGER_OPEN]++;
}

void model_ledger_skipped(struct model_recurrence *r, int64_t from_ms, int64_t upto_ms, uint64_t n,
                          enum ledger_outcome why)
{
    struct model_entry *last = r->entry_count ? &r->ledger[r->entry_count - 1] : NULL;

    r->totals[why] += n;
    if (last && last->outcome == why && last->seq == 0) {
        last->count += n;
        last->upto_ms = upto_ms;
    } else if (make_room(r)) {
        r->ledger[r->entry_count++] = (struct model_entry){
            .outcome = why, .nominal_ms = from_ms, .upto_ms = upto_ms, .count = n
        };
    }
}

void model_ledger_told(struct model_recurrence *r, uint64_t seq, enum ledger_outcome outcome,
                       int64_t ended_ms)
{
    for (size_t i = 0; i < r->entry_count; i++) {
        if (r->ledger[i].seq != seq)
            continue;
        r->ledger[i].outcome = outcome;
        r->ledger[i].ended_ms = ended_ms;
    }
}

#define SAME(what, now, should)                                                                  \
    do {                                                                                         \
        if ((int64_t)(now) != (int64_t)(should)) {                                               \
            snprintf(ret, 200, "ledger, entry %zu of %zu: %s is %" PRId64 ", expected %" PRId64, \
                     i, is->ledger_count, what, (int64_t)(now), (int64_t)(should));              \
            return false;                                                                        \
        }                                                                                        \
    } while (0)

bool model_ledger_is(const struct model_recurrence *r, const struct recurrence *is, char ret[200])
{
    size_t i = 0;

    SAME("their number", is->ledger_count, r->entry_count);
    for (; i < r->entry_count; i++) {
        const struct model_entry *x = &r->ledger[i];
        const struct ledger_entry *y = &is->ledger[i];

        SAME("outcome", y->outcome, x->outcome);
        SAME("nominal time", y->nominal_ms, x->nominal_ms);
        SAME("last nominal time", y->upto_ms, x->upto_ms);
        SAME("how many", y->count, x->count);
        SAME("by hand", y->by_hand, x->by_hand);
        SAME("job", y->id.seq, x->seq);
        if (x->seq > 0 && x->outcome != LEDGER_OPEN)
            SAME("end", y->ended_ms, x->ended_ms);
    }
    return true;
}
