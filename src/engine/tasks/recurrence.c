/* SPDX-License-Identifier: MIT */
/* Recurrences at work. Firing decides about one nominal time after the other: make it, queue it
 * behind earlier ones, or skip it. The occurrence, the ledger entry and the next timer are one
 * commit, so a crash never has a nominal time decided twice. Only this file asks zones and rules;
 * the record has their answers. */
#include "engine/recurrence.h"

#include <assert.h>

#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/tasks/tasks.h"
#include "engine/work/work.h"
#include "record/opts.h"
#include "record/record.h"

#define REVISE_MIN   32   /* A record that saves fewer bytes of the payload is not worth it. */
#define DECIDE_SLICE 1000 /* nominal times in one step */
/* The cost of a rule in one step. The last search of a step may cost RECUR_COST_MAX more. */
#define DECIDE_COST 5000

/* ---- The job of a recurrence ---- */

static struct str recurrence_name(const struct job *j)
{
    struct job_opts o;

    job_opts_get(j, &o);
    return o.key;
}

bool recurrence_read(const struct engine *e, const struct job *j, struct recurrence *ret)
{
    return recurrence_decode(job_payload(j), e->o.partition, ret);
}

/* How many may be under way together. With CATCHUP all, missed times go one after another. */
static size_t open_most(const struct recurrence *r)
{
    return r->overlap == OVERLAP_ALLOW && r->catchup != CATCHUP_ALL ? LEDGER_MAX : 1;
}

/* The first of those that wait for their turn is to be made. */
static bool turn_has_come(const struct recurrence *r)
{
    return r->queued > 0 && !r->paused && ledger_open(r) < open_most(r);
}

/* When it is to be looked at next; 0: now, whatever the clock says. */
static int64_t wake_ms(const struct recurrence *r)
{
    if (turn_has_come(r))
        return 0;
    return r->paused || r->next_ms < 0 ? AT_NEVER : r->next_ms;
}

static size_t common_bytes(struct str a, struct str b)
{
    size_t most = a.len < b.len ? a.len : b.len, n = 0;

    while (n < most && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

/* The user's part of the payload stands first, and may be large. Progress and ledger follow. So a
 * recurrence that goes on needs a small record only. */
static int recurrence_revise(struct engine *e, const struct job_image *image, struct str payload,
                             size_t keep)
{
    struct revised_record r = {
        .seq = image->seq,
        .due_ms = image->due_ms,
        .at_ms = image->at_ms,
        .keep = (uint32_t)keep,
        .rest = { payload.ptr + keep, payload.len - keep },
    };

    return MUTANT(e->o.mutant, REVISION_LOST) ? apply_revised(e, &r) : emit_revised(e, &r);
}

int recurrence_put(struct engine *e, const struct job *j, const struct recurrence *r)
{
    struct buf payload = { 0 };
    struct job_image image;
    int err;

    recurrence_encode(&payload, r);
    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.at_ms = wake_ms(r);
    if (r->next_ms >= 0)
        image.due_ms = r->next_ms;
    size_t keep = payload.failed ? 0 : common_bytes(job_payload(j), buf_view(&payload));
    if (keep < REVISE_MIN)
        return emit_put_payload(e, &image, &payload, false);
    err = recurrence_revise(e, &image, buf_view(&payload), keep);
    buf_fini(&payload);
    return err;
}

/* ---- When ---- */

int recurrence_rule(struct engine *e, struct str name, const struct recurrence *r,
                    struct recur **ret)
{
    struct rule_error error = { 0, "out of memory" };
    struct recur_spec spec = recurrence_spec_of(name, r);
    const char *why = "this engine knows none";
    struct str zone = r->zone;
    int err = BELFRY_INVALID;

    if (MUTANT(e->o.mutant, SUMMER_IGNORED) && str_eq(zone, STR("Europe/Berlin")))
        zone = STR("Etc/GMT-1");
    if (e->o.zone)
        err = e->o.zone(e->o.journal, zone, &spec.zone, &why);
    if (err)
        return engine_error(e, err == BELFRY_NOTFOUND ? BELFRY_INVALID : err, "tz: %s", why);
    err = recur_new(&spec, ret, &error);
    return err ? engine_error(e, err, "%s", error.text) : 0;
}

int64_t recurrence_after(const struct recur *rule, int64_t ms, struct recur_state *state)
{
    struct recur_occurrence o;

    return recur_next(rule, ms, state, &o) == 1 ? o.at_ms : -1;
}

/* ---- Occurrences ---- */

int recurrence_make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                    bool by_hand)
{
    struct job_id id = { nominal_ms, e->o.partition, e->log.next_seq };
    struct job_image image = {
        .seq = id.seq,
        .born_ms = nominal_ms,
        .state = JOB_SCHEDULED,
        .priority = r->priority,
        .due_ms = nominal_ms,
        .at_ms = nominal_ms > e->now_ms ? nominal_ms : e->now_ms,
        .queue = r->queue,
        .payload = r->payload,
    };
    struct ledger_entry entry = { .outcome = LEDGER_OPEN,
                                  .nominal_ms = nominal_ms,
                                  .upto_ms = nominal_ms,
                                  .count = 1,
                                  .by_hand = by_hand,
                                  .id = id,
                                  .ended_ms = nominal_ms };
    struct buf *opts = &e->scratch;
    struct job_opts o;
    int err = tenant_refuses(e, queue_find(e, r->queue), r->queue);

    if (err)
        return err;
    if (ledger_open(r) == LEDGER_MAX)
        return engine_error(e, BELFRY_LIMIT, "%d occurrences of it have not ended", LEDGER_MAX);
    opts->len = 0;
    wire_put_zigzag(opts, e->now_ms - nominal_ms);
    buf_str(opts, r->opts);
    opts_put_id(opts, OPT_LISTENER, job_id_of(e, j));
    wire_put_u8(opts, OPT_NOMINAL);
    wire_put_varint(opts, (uint64_t)nominal_ms);
    wire_put_bytes(opts, recurrence_name(j));
    image.opts = buf_view(opts);
    job_opts_read(image.opts, nominal_ms, &o);
    if (o.order.len > 0) /* their order is that of the times they are for */
        image.at_ms = nominal_ms;
    if (engine_scratch(e) < 0)
        return BELFRY_NOMEM;
    err = tenant_refuses_bytes(e, tenant_of(e, NULL, r->queue), image_needs(&image));
    if (!err)
        err = emit_put(e, &image);
    if (err)
        return err;
    COUNT(e, queue_find(e, r->queue), scheduled);
    COUNT(e, queue_find(e, r->queue), recurred);
    ledger_add(r, &entry);
    return 0;
}

/* An occurrence of this time would have expired by now. */
static bool is_too_late(const struct engine *e, const struct recurrence *r, int64_t nominal_ms)
{
    struct wire_reader in = wire_reader_of(r->opts);
    struct opt o;

    while (job_opt_next(&in, &o))
        if (o.type == OPT_EXPIRE)
            return o.number > 0 && e->now_ms - nominal_ms >= o.number;
    return false;
}

/* Makes the occurrence of a nominal time, or skips it if it cannot be made. NOMEM only. */
static int make_or_skip(struct engine *e, const struct job *j, struct recurrence *r,
                        int64_t nominal_ms, bool *ret_made)
{
    if (is_too_late(e, r, nominal_ms)) {
        ledger_skip(r, nominal_ms, nominal_ms, 1, LEDGER_EXPIRED);
        return 0;
    }
    int err = recurrence_make(e, j, r, nominal_ms, false);
    *ret_made = !err;
    if (err != BELFRY_LIMIT)
        return err;
    ledger_skip(r, nominal_ms, nominal_ms, 1,
                ledger_open(r) == LEDGER_MAX ? LEDGER_CROWD : LEDGER_LIMIT);
    return 0;
}

/* The first of those that wait for their turn. */
static int make_queued(struct engine *e, const struct job *j, struct recurrence *r,
                       const struct recur *rule, bool *ret_made)
{
    struct queue_range *first = &r->ranges[0];
    struct recur_state state = { .most = RECUR_COST_MAX };
    int err = make_or_skip(e, j, r, first->from_ms, ret_made);

    if (err)
        return err;
    r->queued--;
    if (--first->n > 0) {
        first->from_ms = recurrence_after(rule, first->from_ms, &state);
        r->state.cost += state.cost;
        if (first->from_ms >= 0 && first->from_ms <= first->upto_ms)
            return 0;
        /* The zone has changed since they were queued, or the rule is too costly to search: their
         * times are not known any more. */
        ledger_skip(r, first->upto_ms, first->upto_ms, first->n, LEDGER_MISSED);
        r->queued -= first->n;
    }
    memmove(first, first + 1, --r->range_count * sizeof(*first));
    return 0;
}

/* The nominal time is too long ago. */
static bool is_missed(const struct engine *e, int64_t nominal_ms)
{
    int64_t late_ms = e->now_ms - nominal_ms;

    return late_ms > MISSED_MS || (MUTANT(e->o.mutant, MISSED_EARLY) && late_ms == MISSED_MS);
}

/* If a nominal time was missed, CATCHUP decides about all times up to now together. `last` makes
 * the last of them, which need not be a missed one. `skip` makes those that were not missed. */
static void note_missed(const struct engine *e, struct recurrence *r)
{
    if (!is_missed(e, r->next_ms) || r->skip_ms >= r->next_ms || r->queued > 0 ||
        r->catchup == CATCHUP_ALL)
        return;
    r->skip_ms = r->catchup == CATCHUP_LAST ? e->now_ms : e->now_ms - MISSED_MS - 1;
    r->skip_why = LEDGER_MISSED;
}

/* Whether r->next_ms is one of those that are skipped whatever else is. */
static bool is_passed(const struct recurrence *r, int64_t following)
{
    bool last = following < 0 || following > r->skip_ms;

    return r->next_ms <= r->skip_ms &&
           !(last && r->skip_why == LEDGER_MISSED && r->catchup == CATCHUP_LAST);
}

/* About r->next_ms, whose time has come. */
static int decide_time(struct engine *e, const struct job *j, struct recurrence *r,
                       int64_t following, bool *ret_made)
{
    int64_t nominal = r->next_ms;
    bool missed = is_missed(e, nominal);
    size_t open = ledger_open(r);

    note_missed(e, r);
    if (is_passed(r, following)) {
        ledger_skip(r, nominal, MUTANT(e->o.mutant, LEDGER_WRONG) ? following : nominal, 1,
                    r->skip_why);
        r->gap = r->queued > 0;
        return 0;
    }
    /* Behind one that waits for its turn all do. The ledger has room for LEDGER_MAX under way. */
    if (r->queued > 0 || open == LEDGER_MAX ||
        (open > 0 && (r->overlap == OVERLAP_QUEUE || (missed && r->catchup == CATCHUP_ALL)))) {
        ledger_enqueue(r, nominal);
        return 0;
    }
    if (open > 0 && r->overlap == OVERLAP_SKIP && !MUTANT(e->o.mutant, OVERLAP_IGNORED)) {
        ledger_skip(r, nominal, nominal, 1, LEDGER_OVERLAP);
        return 0;
    }
    return make_or_skip(e, j, r, nominal, ret_made);
}

static int decide_next(struct engine *e, const struct job *j, struct recurrence *r,
                       const struct recur *rule, bool *ret_made)
{
    int64_t nominal = r->next_ms;
    int64_t following = recurrence_after(rule, nominal, &r->state);
    int err = decide_time(e, j, r, following, ret_made);

    if (err)
        return err;
    r->last_ms = nominal;
    r->next_ms = following;
    return 0;
}

/* Nominal times that had passed, or whose jobs expired. count_skipped has those that were skipped
 * because of an overlap or a limit. */
static uint64_t count_missed(const struct recurrence *r)
{
    return r->totals[LEDGER_MISSED] + r->totals[LEDGER_EXPIRED];
}

static uint64_t count_skipped(const struct recurrence *r)
{
    return r->totals[LEDGER_OVERLAP] + r->totals[LEDGER_LIMIT] + r->totals[LEDGER_CROWD];
}

/* The queue may never have had a job. Without memory for it, a figure is missing. */
static void count_skips(struct engine *e, struct str queue, uint64_t missed, uint64_t skipped)
{
    struct queue *q = missed + skipped > 0 ? queue_obtain(e, queue) : NULL;

    if (q && !MUTANT(e->o.mutant, SKIPS_UNCOUNTED)) {
        COUNT_N(e, q, missed, missed);
        COUNT_N(e, q, skipped, skipped);
    }
    if (q)
        queue_settle(e, q);
}

/* Decides about nominal times until one is made, and writes all that down. */
static int fire_some(struct engine *e, const struct job *j, struct recurrence *r,
                     const struct recur *rule)
{
    bool before = commit_begin(e), made = false;
    uint64_t missed = count_missed(r), skipped = count_skipped(r);
    char queue[QUEUE_MAX_BYTES]; /* a copy: recurrence_put may free the texts of r */
    size_t len = r->queue.len < sizeof(queue) ? r->queue.len : sizeof(queue);
    int err = 0;

    memcpy(queue, r->queue.ptr, len);

    r->state.most = DECIDE_COST + RECUR_COST_MAX;
    for (int i = 0; i < DECIDE_SLICE && r->state.cost < DECIDE_COST && !made && !err &&
                    wake_ms(r) <= e->now_ms;
         i++)
        err = turn_has_come(r) ? make_queued(e, j, r, rule, &made)
                               : decide_next(e, j, r, rule, &made);
    if (!err) {
        err = recurrence_put(e, j, r);
        e->work.torn = e->work.torn || (err && made);
    }
    if (!err)
        count_skips(e, (struct str){ queue, len }, count_missed(r) - missed,
                    count_skipped(r) - skipped);
    return commit_end(e, before, err);
}

/* The recurrence is looked at again at that moment. */
static int put_off(struct engine *e, const struct job *j, int64_t at_ms)
{
    int err =
        emit_move(e, &(struct move_record){ .seq = j->seq, .due_ms = j->due_ms, .at_ms = at_ms });

    return err ? err : 1;
}

int recurrence_fire(struct engine *e, struct job *j)
{
    struct recurrence r;
    struct recur *rule;

    assert(j->queue->hidden && j->state == JOB_READY);
    if (!recurrence_read(e, j, &r)) /* damaged */
        return put_off(e, j, AT_NEVER);
    if (wake_ms(&r) > e->now_ms) /* it was put off, and is not due by the clock as it is now */
        return put_off(e, j, wake_ms(&r));
    int err = recurrence_rule(e, recurrence_name(j), &r, &rule);
    if (err == BELFRY_NOMEM)
        return err;
    if (err) /* its zone is gone from the system: it may come back */
        return put_off(e, j, e->now_ms + MISSED_MS);
    err = fire_some(e, j, &r, rule);
    recur_free(rule);
    return err ? err : 1;
}

static enum ledger_outcome outcome_of(enum job_state state)
{
    switch (state) {
    case JOB_DONE: return LEDGER_RAN;
    case JOB_DEAD: return LEDGER_FAILED;
    case JOB_EXPIRED: return LEDGER_EXPIRED;
    default: return LEDGER_CANCELLED;
    }
}

int recurrence_told(struct engine *e, struct job *j, const struct job *ended)
{
    enum ledger_outcome outcome = outcome_of((enum job_state)ended->state);
    struct ledger_entry *x = NULL;
    struct recurrence r;

    if (!recurrence_read(e, j, &r))
        return 0;
    for (size_t i = 0; i < r.ledger_count && !x; i++)
        if (r.ledger[i].id.seq == ended->seq)
            x = &r.ledger[i];
    /* An occurrence that was dead may have been put back. */
    if (!x || (x->outcome != LEDGER_OPEN && x->outcome != LEDGER_FAILED) ||
        (x->outcome == outcome && x->ended_ms == ended->trail->ended_ms))
        return 0;
    r.totals[x->outcome]--;
    r.totals[outcome]++;
    x->outcome = outcome;
    x->ended_ms = ended->trail->ended_ms;
    return recurrence_put(e, j, &r);
}
