/* SPDX-License-Identifier: MIT */
/* Recurrences. When the engine decides about nominal times that have passed is its own choice; what
 * it decides is not. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "sim/cover.h"
#include "sim/model_job.h"

#define LATE_MS  60000
#define COUNTED  5000 /* nominal times that an edit counts at most */
#define OPEN_MAX 100

unsigned recurrence_tenant(unsigned recurrence)
{
    return recurrence % MODEL_TENANTS;
}

size_t recurrence_open(const struct model_recurrence *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->occurrence_count; i++)
        n += r->occurrences[i].told == LEDGER_OPEN;
    return n;
}

uint64_t recurrence_queued(const struct model_recurrence *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->stretches; i++)
        n += r->queue[i].n;
    return n;
}

/* ---- Requests ---- */

static bool is_same(const struct model_recur *a, const struct model_recur *b)
{
    return a->daily == b->daily && a->period_ms == b->period_ms && a->count == b->count &&
           a->start_ms == b->start_ms && a->catchup == b->catchup && a->overlap == b->overlap &&
           a->queue == b->queue && a->payload == b->payload && a->priority == b->priority &&
           a->attempts == b->attempts && a->retain_ms == b->retain_ms &&
           a->expire_ms == b->expire_ms && a->labels == b->labels;
}

/* What it had not decided about, or had queued, is skipped. */
static void pass_over(const struct model *m, struct model_recurrence *r)
{
    uint64_t n = 0;
    int64_t last = -1;

    for (int64_t at = r->next_ms; at >= 0 && at <= m->now_ms && n < COUNTED;
         at = model_rule_after(&r->said, at), n++)
        last = at;
    if (n > 0)
        r->last_ms = n == COUNTED ? m->now_ms : last;
    if (n > 0 || r->stretches > 0)
        cover_event(EVENT_RECUR_PASSED);
    for (size_t i = 0; i < r->stretches; i++)
        model_ledger_skipped(r, r->queue[i].first_ms, r->queue[i].last_ms, r->queue[i].n,
                             LEDGER_EDITED);
    if (n > 0)
        model_ledger_skipped(r, r->next_ms, r->last_ms, n,
                             r->paused ? LEDGER_PAUSED : LEDGER_EDITED);
    r->stretches = 0;
}

static bool is_crowded(const struct model *m, unsigned tenant)
{
    int64_t most = m->tenants[tenant].max_recurrences, n = 0;

    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        n += m->recurrences[i].exists && recurrence_tenant(i) == tenant;
    return most > 0 && n >= most;
}

int model_recur(struct model *m, unsigned recurrence, const struct model_recur *s)
{
    struct model_recurrence *r = &m->recurrences[recurrence], next = *r;

    if (m->refusing)
        return BELFRY_FULL;
    if (!r->exists && is_crowded(m, recurrence_tenant(recurrence)))
        return BELFRY_LIMIT;
    if (r->exists)
        pass_over(m, &next);
    else
        next = (struct model_recurrence){ .exists = true, .last_ms = -1 };
    next.said = *s;
    if (s->start_ms < 0)
        next.said.start_ms = r->exists ? r->said.start_ms : (m->now_ms + 999) / 1000 * 1000;
    if (r->exists && is_same(&next.said, &r->said))
        return 0;
    int64_t from = r->exists ? m->now_ms : m->now_ms - 1;
    next.next_ms = model_rule_after(&next.said, from > next.last_ms ? from : next.last_ms);
    if (next.next_ms < 0)
        return BELFRY_INVALID;
    next.skip_ms = -1;
    next.revision++;
    if (r->exists)
        cover_event(EVENT_RECUR_EDITED);
    *r = next;
    m->changes++;
    return 0;
}

int model_recur_pause(struct model *m, unsigned recurrence, bool paused)
{
    struct model_recurrence *r = &m->recurrences[recurrence];

    if (!r->exists)
        return BELFRY_NOTFOUND;
    if (r->paused == paused)
        return 0;
    r->paused = paused;
    m->changes++;
    if (!paused && r->next_ms >= 0 && r->next_ms <= m->now_ms) {
        r->skip_ms = m->now_ms;
        r->skip_why = LEDGER_PAUSED;
    }
    return 0;
}

int model_recur_delete(struct model *m, unsigned recurrence)
{
    struct model_recurrence *r = &m->recurrences[recurrence];

    if (!r->exists)
        return BELFRY_NOTFOUND;
    if (recurrence_open(r) > 0)
        cover_event(EVENT_RECUR_DELETED);
    *r = (struct model_recurrence){ .next_ms = -1 };
    m->changes++;
    return 0;
}

/* ---- Occurrences ---- */

/* Room for one more: of those that were dead when the recurrence was told, the oldest goes. */
static void make_room(struct model_recurrence *r)
{
    size_t i = 0;

    if (r->occurrence_count < MODEL_OCCURRENCES)
        return;
    while (r->occurrences[i].told == LEDGER_OPEN || r->occurrences[i].ended)
        i++;
    memmove(&r->occurrences[i], &r->occurrences[i + 1],
            (--r->occurrence_count - i) * sizeof(r->occurrences[0]));
}

static void make(struct model *m, unsigned recurrence, int64_t nominal_ms, struct job_id id,
                 bool by_hand)
{
    struct model_recurrence *r = &m->recurrences[recurrence];
    struct model_job *job = model_add(m);

    *job = (struct model_job){
        .id = id,
        .queue = r->said.queue,
        .payload = r->said.payload,
        .priority = r->said.priority,
        .attempts = r->said.attempts,
        .lease_ms = -1,
        .retain_ms = r->said.retain_ms,
        .expire_ms = r->said.expire_ms,
        .labels = r->said.labels,
        .recurrence = 1 + recurrence,
        .nominal_ms = nominal_ms,
        .listeners = 1,
        .deferred_ms = -1,
        .state = JOB_SCHEDULED,
        .created_ms = m->now_ms,
        .due_ms = nominal_ms,
        .at_ms = nominal_ms > m->now_ms ? nominal_ms : m->now_ms,
        .progress = -1,
    };
    model_changed(m, job);
    m->queues[job->queue].exists = true;
    m->queues[job->queue].counters.scheduled++;
    m->queues[job->queue].counters.recurred++;
    m->seq_max = id.seq > m->seq_max ? id.seq : m->seq_max;
    make_room(r);
    r->occurrences[r->occurrence_count++] =
        (struct model_occurrence){ .id = id, .told = LEDGER_OPEN };
    model_ledger_made(r, nominal_ms, id.seq, by_hand);
}

static bool at_limit(const struct model *m, unsigned tenant)
{
    int64_t most = m->tenants[tenant].max_pending;

    return most > 0 && model_pending(m, tenant) >= (uint64_t)most;
}

int model_recur_run(struct model *m, unsigned recurrence, struct job_id id)
{
    struct model_recurrence *r = &m->recurrences[recurrence];

    if (!r->exists)
        return BELFRY_NOTFOUND;
    if (m->refusing)
        return BELFRY_FULL;
    if (at_limit(m, recurrence_tenant(recurrence)) || recurrence_open(r) == OPEN_MAX)
        return BELFRY_LIMIT;
    make(m, recurrence, id.due_ms, id, true);
    model_fire(m);
    cover_event(EVENT_RECUR_RUN);
    return 0;
}

void model_recur_ended(struct model *m, const struct model_job *job, bool ended)
{
    struct model_recurrence *r = job->recurrence ? &m->recurrences[job->recurrence - 1] : NULL;

    for (size_t i = 0; r && i < r->occurrence_count; i++) {
        struct model_occurrence *o = &r->occurrences[i];
        if (o->id.seq != job->id.seq)
            continue;
        o->ended = ended;
        o->state = job->state;
        o->ended_ms = job->ended_ms;
    }
}

/* ---- What the engine did ---- */

static enum ledger_outcome outcome_of(enum job_state state)
{
    return state == JOB_DONE      ? LEDGER_RAN
           : state == JOB_DEAD    ? LEDGER_FAILED
           : state == JOB_EXPIRED ? LEDGER_EXPIRED
                                  : LEDGER_CANCELLED;
}

static const struct ledger_entry *entry_of(const struct recurrence *is, uint64_t seq)
{
    for (size_t i = 0; i < is->ledger_count; i++)
        if (is->ledger[i].id.seq == seq)
            return &is->ledger[i];
    return NULL;
}

/* It may have been told that one has ended. The entry of one that was dead before may be gone: then
 * nothing is told. */
static void follow_end(struct model_recurrence *r, const struct recurrence *is, size_t i)
{
    struct model_occurrence *o = &r->occurrences[i];
    const struct ledger_entry *x = entry_of(is, o->id.seq);
    enum ledger_outcome outcome = outcome_of(o->state);

    if (!o->ended || (x && o->told == LEDGER_OPEN && x->outcome == LEDGER_OPEN) ||
        (x && o->told == LEDGER_FAILED && (x->outcome != outcome || x->ended_ms != o->ended_ms)))
        return;
    if (x || o->told == LEDGER_OPEN) {
        r->totals[o->told]--;
        r->totals[outcome]++;
        model_ledger_told(r, o->id.seq, outcome, o->ended_ms);
        cover_event(o->told == LEDGER_OPEN ? EVENT_RECUR_TOLD : EVENT_RECUR_TOLD_AGAIN);
        o->told = outcome;
    }
    o->ended = false;
}

static void follow_ends(struct model_recurrence *r, const struct recurrence *is)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->occurrence_count; i++) {
        follow_end(r, is, i);
        const struct model_occurrence *o = &r->occurrences[i];
        if (o->told == LEDGER_OPEN || o->told == LEDGER_FAILED || o->ended)
            r->occurrences[kept++] = *o;
    }
    r->occurrence_count = kept;
}

#define ORDERS_MAX 2000

struct following {
    struct model *m;
    unsigned recurrence;
    struct model_recurrence *r;
    const struct recurrence *is;
    bool stopped; /* the engine has not come further */
};

static uint64_t skips(const struct model_recurrence *r, const struct recurrence *is,
                      enum ledger_outcome o)
{
    return is->totals[o] - r->totals[o];
}

static void follow_skip(struct following *f, int64_t nominal_ms, enum ledger_outcome why,
                        enum event event)
{
    model_ledger_skipped(f->r, nominal_ms, nominal_ms, 1, why);
    cover_event(event);
}

/* It is to be made: was it, or was it skipped as it had to be? */
static void follow_made(struct following *f, int64_t nominal_ms)
{
    struct model_recurrence *r = f->r;

    if (r->said.expire_ms > 0 && nominal_ms + r->said.expire_ms <= f->m->now_ms) {
        if (skips(r, f->is, LEDGER_EXPIRED) == 0)
            f->stopped = true;
        else
            follow_skip(f, nominal_ms, LEDGER_EXPIRED, EVENT_RECUR_EXPIRED);
        return;
    }
    for (size_t i = 0; i < f->is->ledger_count; i++) {
        const struct ledger_entry *x = &f->is->ledger[i];
        if (x->nominal_ms != nominal_ms || x->by_hand || x->outcome != LEDGER_OPEN)
            continue;
        make(f->m, f->recurrence, nominal_ms, x->id, false);
        cover_event(EVENT_RECUR_MADE);
        return;
    }
    if (recurrence_open(r) == OPEN_MAX && skips(r, f->is, LEDGER_CROWD) > 0)
        model_ledger_skipped(r, nominal_ms, nominal_ms, 1, LEDGER_CROWD);
    else if (f->m->tenants[recurrence_tenant(f->recurrence)].max_pending > 0 &&
             skips(r, f->is, LEDGER_LIMIT) > 0)
        follow_skip(f, nominal_ms, LEDGER_LIMIT, EVENT_RECUR_LIMIT);
    else
        f->stopped = true;
}

static bool turn_has_come(const struct model_recurrence *r)
{
    bool together = r->said.overlap == OVERLAP_ALLOW && r->said.catchup != CATCHUP_ALL;

    return r->stretches > 0 && !r->paused && recurrence_open(r) < (together ? OPEN_MAX : 1);
}

static void follow_turn(struct following *f)
{
    struct model_recurrence *r = f->r;

    follow_made(f, r->queue[0].first_ms);
    if (f->stopped)
        return;
    cover_event(EVENT_RECUR_TURN);
    r->queue[0].first_ms = model_rule_after(&r->said, r->queue[0].first_ms);
    if (--r->queue[0].n == 0)
        memmove(&r->queue[0], &r->queue[1], --r->stretches * sizeof(r->queue[0]));
}

static void enqueue(struct model_recurrence *r, int64_t nominal_ms)
{
    size_t last = r->stretches - 1;

    if (r->stretches > 0 && model_rule_after(&r->said, r->queue[last].last_ms) == nominal_ms) {
        r->queue[last].last_ms = nominal_ms;
        r->queue[last].n++;
    } else if (r->stretches < QUEUE_RANGES) {
        r->queue[r->stretches].first_ms = r->queue[r->stretches].last_ms = nominal_ms;
        r->queue[r->stretches++].n = 1;
    } else {
        model_ledger_skipped(r, nominal_ms, nominal_ms, 1, LEDGER_CROWD);
        return;
    }
    cover_event(EVENT_RECUR_QUEUED);
}

/* Whether what was missed, or passed in a pause, takes this one along. */
static bool is_passed_over(const struct model *m, struct model_recurrence *r, int64_t nominal_ms,
                           bool missed)
{
    int64_t next = model_rule_after(&r->said, nominal_ms);

    if (missed && r->stretches == 0 && nominal_ms > r->skip_ms && r->said.catchup != CATCHUP_ALL) {
        r->skip_ms = r->said.catchup == CATCHUP_LAST ? m->now_ms : m->now_ms - LATE_MS - 1;
        r->skip_why = LEDGER_MISSED;
    }
    if (nominal_ms > r->skip_ms)
        return false;
    return r->skip_why == LEDGER_PAUSED || r->said.catchup == CATCHUP_SKIP ||
           (next >= 0 && next <= r->skip_ms);
}

static void follow_next(struct following *f)
{
    struct model_recurrence *r = f->r;
    int64_t nominal = r->next_ms;
    bool missed = f->m->now_ms - nominal > LATE_MS;
    size_t open = recurrence_open(r);
    int64_t skip_ms = r->skip_ms;
    enum ledger_outcome skip_why = r->skip_why;

    if (is_passed_over(f->m, r, nominal, missed)) {
        follow_skip(f, nominal, r->skip_why,
                    r->skip_why == LEDGER_MISSED ? EVENT_RECUR_MISSED : EVENT_RECUR_PAUSED);
    } else if (r->stretches > 0 || open == OPEN_MAX ||
               (open > 0 &&
                (r->said.overlap == OVERLAP_QUEUE || (missed && r->said.catchup == CATCHUP_ALL)))) {
        enqueue(r, nominal);
    } else if (open > 0 && r->said.overlap == OVERLAP_SKIP) {
        follow_skip(f, nominal, LEDGER_OVERLAP, EVENT_RECUR_OVERLAP);
    } else {
        follow_made(f, nominal);
    }
    if (f->stopped) { /* and decided nothing */
        r->skip_ms = skip_ms;
        r->skip_why = skip_why;
        return;
    }
    model_rule_cover(&r->said, nominal);
    r->last_ms = nominal;
    r->next_ms = model_rule_after(&r->said, nominal);
    if (r->next_ms < 0)
        cover_event(EVENT_RECUR_FINISHED);
}

#define SAME(what, now, should)                                                                   \
    do {                                                                                          \
        if ((int64_t)(now) != (int64_t)(should)) {                                                \
            snprintf(ret, 200, "recurrence %u: %s is %" PRId64 ", expected %" PRId64, recurrence, \
                     what, (int64_t)(now), (int64_t)(should));                                    \
            return false;                                                                         \
        }                                                                                         \
    } while (0)

static bool is_as_followed(const struct model_recurrence *r, unsigned recurrence,
                           const struct recurrence *is, char ret[200])
{
    SAME("the next", is->next_ms, r->next_ms);
    SAME("the last", is->last_ms, r->last_ms);
    SAME("the number of those that wait", is->queued, recurrence_queued(r));
    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        SAME(ledger_why((enum ledger_outcome)i)[0] ? ledger_why((enum ledger_outcome)i) : "ended",
             is->totals[i], r->totals[i]);
    return model_ledger_is(r, is, ret);
}

/* Times that have come, at most so many. */
static void follow_nexts(struct following *f, uint64_t n)
{
    struct model_recurrence *r = f->r;

    while (!f->stopped && n-- > 0) {
        bool behind = r->next_ms >= 0 && (f->is->next_ms < 0 || r->next_ms < f->is->next_ms);
        if (turn_has_come(r))
            follow_turn(f);
        else if (behind && !r->paused && r->next_ms <= f->m->now_ms)
            follow_next(f);
        else
            break;
    }
}

/* Adds the nominal times that the recurrence skipped to the counters of its queue, or takes them
 * away. */
static void count_skips(struct model *m, const struct model_recurrence *r, int sign)
{
    struct counters *c = &m->queues[r->said.queue].counters;
    uint64_t missed = r->totals[LEDGER_MISSED] + r->totals[LEDGER_EXPIRED];
    uint64_t skipped =
        r->totals[LEDGER_OVERLAP] + r->totals[LEDGER_LIMIT] + r->totals[LEDGER_CROWD];

    c->missed += sign > 0 ? missed : -missed;
    c->skipped += sign > 0 ? skipped : -skipped;
}

/* The engine decided about so many times before it heard of ends. */
static bool follow_in_order(struct model *m, unsigned recurrence, const struct recurrence *is,
                            uint64_t before, bool *ret_heard, char ret[200])
{
    struct model_recurrence *r = &m->recurrences[recurrence];
    struct following f = { m, recurrence, r, is, false };
    int64_t next_ms = r->next_ms;

    count_skips(m, r, -1);
    follow_nexts(&f, before);
    count_skips(m, r, 1);
    uint64_t open = r->totals[LEDGER_OPEN], failed = r->totals[LEDGER_FAILED];
    follow_ends(r, is);
    *ret_heard = r->totals[LEDGER_OPEN] != open;
    m->changes += *ret_heard || r->totals[LEDGER_FAILED] != failed;
    count_skips(m, r, -1);
    if (!f.stopped)
        follow_nexts(&f, UINT64_MAX);
    count_skips(m, r, 1);
    m->changes += r->next_ms != next_ms;
    return is_as_followed(r, recurrence, is, ret);
}

bool model_recur_follow(struct model *m, unsigned recurrence, const struct recurrence *is,
                        char ret[200])
{
    struct model_recurrence *r = &m->recurrences[recurrence];
    struct model_recurrence was = *r;
    struct model_queue queue = m->queues[r->said.queue];
    uint64_t changes = m->changes, seq_max = m->seq_max;
    size_t count = m->count;
    bool heard;

    if (follow_in_order(m, recurrence, is, 0, &heard, ret))
        return true;
    for (uint64_t before = 1; heard && before <= ORDERS_MAX; before++) {
        char why[200];

        *r = was;
        m->queues[r->said.queue] = queue;
        m->changes = changes;
        m->seq_max = seq_max;
        m->count = count;
        if (follow_in_order(m, recurrence, is, before, &heard, why))
            return true;
        heard = true;
    }
    return false;
}

int64_t model_recur_next(const struct model *m, unsigned recurrence)
{
    const struct model_recurrence *r = &m->recurrences[recurrence];

    return r->exists && !r->paused && r->next_ms > m->now_ms && !turn_has_come(r) ? r->next_ms
                                                                                  : INT64_MAX;
}

bool model_recur_is_due(const struct model *m, unsigned recurrence)
{
    const struct model_recurrence *r = &m->recurrences[recurrence];

    return r->exists && !r->paused && !m->refusing &&
           (turn_has_come(r) || (r->next_ms >= 0 && r->next_ms <= m->now_ms));
}
