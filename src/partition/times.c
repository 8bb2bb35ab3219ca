/* SPDX-License-Identifier: MIT */
/* The part of OCCURRENCES that blocks: rules are asked for their times. */
#include "partition/times.h"

#include "partition/internal.h"
#include "recur/zone.h"

/* A moment as the zone's clocks show it, if the rule has no such time, or no longer. */
static struct recur_occurrence plain_at(const struct zone *z, int64_t at_ms)
{
    int64_t at_s = at_ms / 1000 - (at_ms % 1000 < 0);
    int32_t offset_s = zone_at(z, at_s).offset_s;

    return (struct recur_occurrence){ .at_ms = at_ms,
                                      .nominal_ms = at_ms + offset_s * INT64_C(1000),
                                      .offset_s = offset_s };
}

/* A time of the ledger as PREVIEW would show it. */
static struct recur_occurrence shown_at(const struct recur *recur, struct times_rule *r,
                                        int64_t at_ms)
{
    struct recur_occurrence o;

    if (recur && recur_next(recur, at_ms - 1, &r->rule.state, &o) == 1 && o.at_ms == at_ms)
        return o;
    return plain_at(r->rule.spec.zone, at_ms);
}

static void past_times(struct census *c, const struct recur *recur, struct times_rule *r,
                       struct wire_reader *in, uint16_t partition)
{
    for (uint64_t i = 0; i < r->entries && !in->bad; i++) {
        struct recur_occurrence at;
        struct ledger_entry x = { 0 };
        unsigned kind;

        times_entry_get(in, partition, &x, &kind);
        if (in->bad || !times_wants(c, x.nominal_ms, r->seq))
            continue;
        at = shown_at(x.by_hand ? NULL : recur, r, x.nominal_ms);
        times_add(c, r, &x, kind, &at);
    }
}

/* False: the search for the next time takes too long. */
static bool coming_times(struct census *c, const struct recur *recur, struct times_rule *r)
{
    int64_t at_ms = r->rule.from_ms > c->ask.from_ms ? r->rule.from_ms : c->ask.from_ms;
    struct recur_occurrence o;
    int is;

    at_ms = at_ms > c->ask.after_ms ? at_ms : c->ask.after_ms;
    at_ms--;
    while ((is = recur_next(recur, at_ms, &r->rule.state, &o)) == 1 && o.at_ms < c->ask.to_ms) {
        at_ms = o.at_ms;
        if (times_wants(c, at_ms, r->seq))
            times_add(c, r,
                      &(struct ledger_entry){ .nominal_ms = at_ms, .upto_ms = at_ms, .count = 1 },
                      TIME_PLANNED, &o);
        else if (at_ms > c->ask.after_ms)
            return true; /* all further ones are behind the page, too */
    }
    return is >= 0;
}

uint64_t times_rule_count(struct census *c, struct zonecache *zones, struct wire_reader *in,
                          uint16_t partition)
{
    struct rule_error error;
    struct recur *recur = NULL;
    struct times_rule r;
    const char *why;

    if (!times_rule_get(in, partition, &r)) {
        in->bad = true; /* memory ran out when it was written: see census.lacks */
        return 0;
    }
    r.rule.state.most = CENSUS_RULE_COST;
    r.rule.state.cost = 0;
    if (zonecache_get(zones, ZONEDIR_DEFAULT, r.rule.zone, &r.rule.spec.zone, &why) < 0 &&
        zonecache_get(zones, ZONEDIR_DEFAULT, STR("UTC"), &r.rule.spec.zone, &why) < 0) {
        in->bad = true;
        c->partial = 0;
        return 0;
    }
    if (recur_new(&r.rule.spec, &recur, &error) < 0)
        c->partial = 0;
    past_times(c, recur, &r, in, partition);
    if (recur && r.goes_on && !coming_times(c, recur, &r))
        c->partial = 0;
    recur_free(recur);
    return r.rule.state.cost + r.entries + 1;
}
