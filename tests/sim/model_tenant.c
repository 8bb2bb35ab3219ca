/* SPDX-License-Identifier: MIT */
/* Who may give, and whose turn it is. */
#include "sim/cover.h"
#include "sim/model.h"

/* Ready and leased jobs of each queue; of the ready ones those that no gate holds. */
struct census {
    size_t ready[MODEL_QUEUES];
    size_t leased[MODEL_QUEUES];
    size_t of_tenant[MODEL_TENANTS]; /* leased jobs of each tenant */
    size_t all;                      /* leased jobs of all tenants */
};

bool model_is_shut(const struct model *m, unsigned tenant)
{
    const struct tenant_settings *t = &m->tenants[tenant];

    return t->maintenance && (t->maintenance_until_ms == 0 || m->now_ms < t->maintenance_until_ms);
}

int64_t model_reopened(const struct model *m, unsigned tenant)
{
    const struct tenant_settings *t = &m->tenants[tenant];

    return model_is_shut(m, tenant) ? 0
           : t->maintenance         ? t->maintenance_until_ms
                                    : m->reopened_ms[tenant];
}

/* One that takes an ordering key must be given if its tenant may take one; but on disk those that a
 * gate holds may be before it. */
static bool may_take_key(const struct model *m, const struct model_job *job, unsigned fresh)
{
    unsigned t = tenants_of(job->queue);

    return fresh >> t & 1 && !(m->cold && model_is_shut(m, t));
}

static void count_those(const struct model *m, const unsigned *fresh, struct census *ret)
{
    *ret = (struct census){ 0 };
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *job = &m->jobs[i];
        if (model_may_give(m, job) &&
            (!job->order || job->holding || !fresh || may_take_key(m, job, *fresh)))
            ret->ready[job->queue]++;
        if (job->state != JOB_LEASED)
            continue;
        ret->leased[job->queue]++;
        ret->of_tenant[tenants_of(job->queue)]++;
        ret->all++;
    }
}

static void count_jobs(const struct model *m, struct census *ret)
{
    count_those(m, NULL, ret);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many more may run. */
static size_t room(int64_t max, size_t running)
{
    return max == 0 ? SIZE_MAX : (size_t)max > running ? (size_t)max - running : 0;
}

size_t model_deliverable(const struct model *m, unsigned queues, unsigned fresh)
{
    struct census c;
    size_t n = 0;

    count_those(m, &fresh, &c);
    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        size_t of_tenant = 0;
        for (unsigned q = 0; q < MODEL_QUEUES; q++) {
            const struct model_queue *queue = &m->queues[q];
            if (tenants_of(q) != t || !(queues >> q & 1) || queue->paused || m->tenants[t].paused)
                continue;
            size_t most = least(c.ready[q], room(queue->max_running, c.leased[q]));
            of_tenant += least(most, takes_least(&m->queue_rated[q], &queue->rate, m->mono_ms));
        }
        of_tenant = least(of_tenant, room(m->tenants[t].max_running, c.of_tenant[t]));
        n += least(of_tenant, takes_least(&m->tenant_rated[t], &m->tenants[t].rate, m->mono_ms));
    }
    return least(n, room((int64_t)model_limit(m), c.all));
}

bool model_has_ready(const struct model *m, unsigned queues)
{
    for (size_t i = 0; i < m->count; i++)
        if ((queues >> m->jobs[i].queue & 1) && model_can_go(m, &m->jobs[i]))
            return true;
    return false;
}

/* What holds a queue, but for rates and the server. */
static enum hold hold_of(const struct model *m, const struct census *c, unsigned q, bool passing)
{
    unsigned t = tenants_of(q);

    if (m->queues[q].paused)
        return HOLD_PAUSED;
    if (m->tenants[t].paused)
        return HOLD_TENANT_PAUSED;
    if (model_is_shut(m, t) && !passing)
        return HOLD_MAINTENANCE;
    if (room(m->queues[q].max_running, c->leased[q]) == 0)
        return HOLD_QUEUE_RUNNING;
    if (room(m->tenants[t].max_running, c->of_tenant[t]) == 0)
        return HOLD_TENANT_RUNNING;
    return HOLD_NONE;
}

enum hold model_hold(const struct model *m, unsigned q, bool passing)
{
    struct census c;
    unsigned t = tenants_of(q);

    count_jobs(m, &c);
    if (hold_of(m, &c, q, passing))
        return hold_of(m, &c, q, passing);
    if (takes_most(&m->queue_rated[q], &m->queues[q].rate, m->mono_ms) == 0)
        return HOLD_QUEUE_RATE;
    if (takes_most(&m->tenant_rated[t], &m->tenants[t].rate, m->mono_ms) == 0)
        return HOLD_TENANT_RATE;
    if (room((int64_t)m->max_running, c.all) == 0)
        return HOLD_SERVER_RUNNING;
    return room((int64_t)model_limit(m), c.all) == 0 ? HOLD_SLOW_START : HOLD_NONE;
}

static bool has_tokens(const struct model *m, unsigned q)
{
    unsigned t = tenants_of(q);

    return takes_least(&m->queue_rated[q], &m->queues[q].rate, m->mono_ms) > 0 &&
           takes_least(&m->tenant_rated[t], &m->tenants[t].rate, m->mono_ms) > 0;
}

bool model_gives(const struct model *m, unsigned q)
{
    struct census c;

    count_jobs(m, &c);
    return !hold_of(m, &c, q, false) && has_tokens(m, q) &&
           room((int64_t)model_limit(m), c.all) > 0;
}

int64_t model_rate_moment(const struct model *m, unsigned queues)
{
    unsigned fresh = ~0U;
    struct census c;
    int64_t first = INT64_MAX;

    count_those(m, &fresh, &c);
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        unsigned t = tenants_of(q);
        if (!(queues >> q & 1) || c.ready[q] == 0 || hold_of(m, &c, q, true) || has_tokens(m, q) ||
            room((int64_t)model_limit(m), c.all) == 0)
            continue;
        int64_t a = takes_moment(&m->queue_rated[q], &m->queues[q].rate);
        int64_t b = takes_moment(&m->tenant_rated[t], &m->tenants[t].rate);
        int64_t both = a > b ? a : b;
        first = both < first ? both : first;
    }
    return first;
}

int64_t model_start_moment(const struct model *m, unsigned queues)
{
    unsigned fresh = ~0U;
    struct census c;

    count_those(m, &fresh, &c);
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if ((queues >> q & 1) && c.ready[q] > 0 && !hold_of(m, &c, q, true) && has_tokens(m, q) &&
            room((int64_t)model_limit(m), c.all) == 0)
            return model_slow_moment(m, c.all);
    return INT64_MAX;
}

uint64_t model_pending(const struct model *m, unsigned tenant)
{
    uint64_t n = 0;

    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (tenants_of(q) == tenant)
            n += model_count(m, q, JOB_SCHEDULED) + model_count(m, q, JOB_READY) +
                 model_count(m, q, JOB_LEASED) + model_count(m, q, JOB_WAITING);
    return n;
}

uint64_t model_running(const struct model *m, unsigned tenant)
{
    struct census c;

    count_jobs(m, &c);
    return c.of_tenant[tenant];
}

/* ---- Turns ---- */

void model_lose_turn(struct model *m, unsigned queue)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        m->given[queue][q] = m->given[q][queue] = 0;
}

void model_turns(struct model *m)
{
    struct census c;

    count_jobs(m, &c);
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        if (c.ready[q] == 0 || hold_of(m, &c, q, true) || !has_tokens(m, q))
            model_lose_turn(m, q);
        /* Only one without ready jobs has surely left the ring. Whether a gate holds them (quiet
         * hours, maintenance, EXPIRE) is looked at when its turn comes: until then it keeps its
         * place, and what is left of its turn. */
        if (!model_has_ready(m, 1u << q))
            m->short_turn[q] = false;
    }
}

/* While two tenants have something to give, neither is ahead of the other by more than a turn:
 * given / weight <= other's given / weight + 1. A turn that had begun before the weight was raised
 * may be shorter. So may a turn in which the tenant gave to a worker that named its queue. */
int model_pass(struct model *m, unsigned queue, bool turn)
{
    uint64_t mine = (uint64_t)m->tenants[tenants_of(queue)].weight;
    int late = -1;

    model_turns(m);
    if (!turn) {
        model_lose_turn(m, queue);
        m->short_turn[queue] = true;
    }
    for (unsigned q = 0; q < MODEL_QUEUES && turn; q++) {
        uint64_t other = (uint64_t)m->tenants[tenants_of(q)].weight;
        if (q == queue || tenants_kind(q) != tenants_kind(queue))
            continue;
        m->given[queue][q]++;
        uint64_t turns = m->short_turn[q] ? 2 : 1;
        if (m->given[queue][q] * other > (m->given[q][queue] + turns * other) * mine)
            late = (int)q;
        if (m->given[queue][q] > mine)
            cover_event(EVENT_TURN);
    }
    model_turns(m);
    return late;
}

/* ---- Settings ---- */

void model_rates(struct model *m, void (*change)(struct model_takes *x, int64_t, int64_t))
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        change(&m->queue_rated[q], m->now_ms, m->mono_ms);
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        change(&m->tenant_rated[t], m->now_ms, m->mono_ms);
}

void model_rate_set(struct rate *r, const struct rate *to, bool rate, bool burst)
{
    if (rate)
        *r = (struct rate){ to->count, to->per_ms, 0 };
    if (burst)
        r->burst = to->burst;
}

void model_tenant_set(struct model *m, unsigned tenant, const struct tenant_settings *s,
                      unsigned fields)
{
    struct tenant_settings *t = &m->tenants[tenant];
    struct tenant_settings before = *t;

    if (fields & 1u << TENANT_WEIGHT) {
        t->weight = s->weight;
        memset(m->given, 0, sizeof(m->given));
        for (unsigned q = 0; q < MODEL_QUEUES; q++)
            m->short_turn[q] = m->short_turn[q] || tenants_of(q) == tenant;
    }
    m->reopened_ms[tenant] = model_is_shut(m, tenant) ? m->now_ms : model_reopened(m, tenant);
    if (fields & 1u << TENANT_PAUSED)
        t->paused = s->paused;
    if (fields & 1u << TENANT_MAINTENANCE) {
        t->maintenance = s->maintenance;
        t->maintenance_until_ms = 0;
    }
    if (fields & 1u << TENANT_UNTIL)
        t->maintenance_until_ms = s->maintenance_until_ms;
    if (fields & 1u << TENANT_QUIET)
        memcpy(t->quiet, s->quiet, sizeof(t->quiet));
    if (fields & 1u << TENANT_TZ)
        memcpy(t->tz, s->tz, sizeof(t->tz));
    if (fields & 1u << TENANT_SPREAD)
        t->spread_ms = s->spread_ms;
    if (fields & 1u << TENANT_MAX_PENDING)
        t->max_pending = s->max_pending;
    if (fields & 1u << TENANT_MAX_RUNNING)
        t->max_running = s->max_running;
    if (fields & 1u << TENANT_MAX_QUEUES)
        t->max_queues = s->max_queues;
    if (fields & 1u << TENANT_MAX_RECURRENCES)
        t->max_recurrences = s->max_recurrences;
    if (fields & 1u << TENANT_MAX_CONNECTIONS)
        t->max_connections = s->max_connections;
    if (fields & 1u << TENANT_REQUESTS)
        t->requests = s->requests;
    if (fields & 1u << TENANT_MAX_BYTES)
        t->max_bytes = s->max_bytes;
    if (fields & 1u << TENANT_MAX_STREAMS)
        t->max_streams = s->max_streams;
    if (fields & 1u << TENANT_MAX_LEASED)
        t->max_leased = s->max_leased;
    if (t->max_bytes > 0 && t->max_bytes < INT64_C(1) << 40)
        m->bytes_bite |= 1u << tenant;
    if (fields & (1u << TENANT_RATE | 1u << TENANT_BURST)) {
        takes_change(&m->tenant_rated[tenant], &t->rate);
        model_rate_set(&t->rate, &s->rate, fields & 1u << TENANT_RATE, fields & 1u << TENANT_BURST);
    }
    m->changes += memcmp(&before, t, sizeof(before)) != 0;
}

/* ---- Scope ---- */

bool model_in_scope(const struct model *m, const struct model_job *job)
{
    return m->scope == SCOPE_ALL || m->scope == 1 + tenants_of(job->queue);
}

struct model_job *model_seek(const struct model *m, struct job_id id)
{
    struct model_job *job = model_find(m, id);

    return job && model_in_scope(m, job) ? job : NULL;
}
