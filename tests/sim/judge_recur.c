/* SPDX-License-Identifier: MIT */
/* Recurrences, compared with the model. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/judge.h"
#include "sim/look.h"
#include "sim/text.h"

static bool differs(char ret[JUDGE_TEXT], unsigned i, const char *what)
{
    snprintf(ret, JUDGE_TEXT, "recurrence %u: %s is another", i, what);
    return false;
}

static bool same_definition(const struct model_recurrence *r, unsigned i,
                            const struct recurrence *is, char ret[JUDGE_TEXT])
{
    const struct model_recur *s = &r->said;

    if (is->start_ms != s->start_ms)
        return differs(ret, i, "START");
    if (is->catchup != s->catchup || is->overlap != s->overlap)
        return differs(ret, i, "CATCHUP or OVERLAP");
    if (!text_is(is->queue, TEXT_QUEUE, s->queue))
        return differs(ret, i, "its queue");
    if (!text_is(is->payload, TEXT_PAYLOAD, s->payload))
        return differs(ret, i, "its payload");
    if (is->paused != r->paused)
        return differs(ret, i, "whether it is paused");
    if (is->revision != r->revision)
        return differs(ret, i, "its revision");
    return true;
}

/* Every occurrence under way stands in the ledger, and no other as such. */
static bool same_open(const struct model_recurrence *r, unsigned i, const struct recurrence *is,
                      char ret[JUDGE_TEXT])
{
    size_t open = 0;

    for (size_t k = 0; k < is->ledger_count; k++) {
        bool known = false;
        if (is->ledger[k].outcome != LEDGER_OPEN)
            continue;
        open++;
        for (size_t o = 0; o < r->occurrence_count; o++)
            known = known || (r->occurrences[o].id.seq == is->ledger[k].id.seq &&
                              r->occurrences[o].told == LEDGER_OPEN);
        if (!known)
            return differs(ret, i, "an occurrence under way");
    }
    return open == recurrence_open(r) || differs(ret, i, "the number of occurrences under way");
}

static bool same_one(struct partition *p, const struct model *m, unsigned i, char ret[JUDGE_TEXT])
{
    static struct recurrence_view v;
    const struct model_recurrence *r = &m->recurrences[i];
    struct look look = { .partition = p };
    char tenant[TEXT_MAX], name[TEXT_MAX];
    int err = look_recurrence(&look, text_make(TEXT_TENANT, recurrence_tenant(i), tenant),
                              text_make(TEXT_RECURRENCE, 1 + i, name), &v);
    bool same = true;

    if (err != (r->exists ? 0 : BELFRY_NOTFOUND) || (!err && v.damaged)) {
        snprintf(ret, JUDGE_TEXT, "recurrence %u: %s", i, err ? error_name(err) : "is there");
        same = false;
    } else if (!err) {
        uint64_t queued = recurrence_queued(r);

        same = same_definition(r, i, &v.r, ret) && same_open(r, i, &v.r, ret);
        if (same && (v.r.next_ms != r->next_ms || v.r.last_ms != r->last_ms))
            same = differs(ret, i, "its next or last time");
        if (same && v.r.queued != queued)
            same = differs(ret, i, "the number of those that wait for their turn");
        if (same && memcmp(v.r.totals, r->totals, sizeof(r->totals)) != 0)
            same = differs(ret, i, "a total of its ledger");
        if (same)
            same = model_ledger_is(r, &v.r, ret);
    }
    look_end(&look);
    return same;
}

static int count(void *arg, const struct recurrence_view *v)
{
    *(size_t *)arg += !v->damaged;
    return 0;
}

/* RECURRENCES shows each tenant its own. */
static bool same_numbers(struct partition *p, const struct model *m, unsigned tenant,
                         char ret[JUDGE_TEXT])
{
    struct look look = { .partition = p };
    struct list_cursor cursor = { 0 };
    char name[TEXT_MAX];
    size_t shown = 0, expected = 0;

    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        expected += m->recurrences[i].exists && recurrence_tenant(i) == tenant;
    do {
        int err =
            look_recurrences(&look, text_make(TEXT_TENANT, tenant, name), count, &shown, &cursor);
        if (err < 0) {
            snprintf(ret, JUDGE_TEXT, "RECURRENCES answers %s", error_name(err));
            look_end(&look);
            return false;
        }
    } while (cursor.more);
    look_end(&look);
    if (shown == expected)
        return true;
    snprintf(ret, JUDGE_TEXT, "RECURRENCES of tenant %u gives %zu, expected %zu", tenant, shown,
             expected);
    return false;
}

bool judge_recurrences(struct partition *p, const struct model *m, char ret[JUDGE_TEXT])
{
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        if (!same_one(p, m, i, ret))
            return false;
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        if (!same_numbers(p, m, t, ret))
            return false;
    return true;
}
