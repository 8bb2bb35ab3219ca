/* SPDX-License-Identifier: MIT */
/* The model's jobs and how time changes them; requests are in model_verbs.c. */
#include "sim/model.h"

#include <stdlib.h>

#include "sim/cover.h"
#include "sim/model_job.h"
#include "sim/trace.h"

#define STEP_BACK_MS 1000 /* a clock that goes back by up to this only stands still */

const struct model_queue model_queue_usual = {
    .lease_ms = 60000,
    .attempts = 5,
    .backoff = BACKOFF_DEFAULT,
    .retain_ms = 86400000,
    .retain_dead_ms = INT64_C(30) * 86400000,
    .past_grace_ms = -1,
};

const struct tenant_settings model_tenant_usual = { .weight = 1,
                                                    .max_queues = 10000,
                                                    .max_recurrences = 10000 };

void model_init(struct model *m, struct model_graveyard *graveyard)
{
    *m = (struct model){ .graveyard = graveyard, .calm_ms = INT64_MIN };
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        m->queues[q] = model_queue_usual;
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        m->recurrences[i] = (struct model_recurrence){ .next_ms = -1 };
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        m->tenants[t] = model_tenant_usual;
}

void model_fini(struct model *m)
{
    free(m->jobs);
    m->jobs = NULL;
    m->count = m->cap = 0;
}

void model_graveyard_fini(struct model_graveyard *g)
{
    free(g->graves);
    *g = (struct model_graveyard){ 0 };
}

static void *grow(void *array, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return array;
    *cap = *cap ? *cap * 2 : 64;
    while (*cap <= count)
        *cap *= 2;
    array = realloc(array, *cap * size);
    if (!array)
        trace_fail("the simulator is out of memory");
    return array;
}

void model_copy(struct model *to, const struct model *from)
{
    struct model_job *jobs = grow(to->jobs, &to->cap, from->count, sizeof(*jobs));
    size_t cap = to->cap;
    *to = *from;
    to->jobs = jobs;
    to->cap = cap;
    if (from->count > 0)
        memcpy(jobs, from->jobs, from->count * sizeof(*jobs));
}

struct model_job *model_add(struct model *m)
{
    m->jobs = grow(m->jobs, &m->cap, m->count, sizeof(*m->jobs));
    m->jobs[m->count] = (struct model_job){ .deferred_ms = -1 };
    return &m->jobs[m->count++];
}

struct model_job *model_find(const struct model *m, struct job_id id)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].id.seq == id.seq && m->jobs[i].id.due_ms == id.due_ms &&
            m->jobs[i].id.partition == id.partition)
            return &m->jobs[i];
    return NULL;
}

bool model_ended(const struct model_job *job)
{
    return job->state == JOB_DONE || job->state == JOB_DEAD || job->state == JOB_CANCELLED ||
           job->state == JOB_EXPIRED;
}

int64_t model_expires(const struct model_job *job)
{
    return job->expire_ms > 0 && job->token == 0 ? job->due_ms + job->expire_ms : -1;
}

bool model_is_over(const struct model *m, const struct model_job *job)
{
    return !model_ended(job) && model_expires(job) >= 0 && model_expires(job) <= m->now_ms;
}

bool model_is_past(const struct model *m, const struct model_job *job)
{
    return model_ended(job) && job->keep_ms <= m->now_ms && !job->telling &&
           !(job->held && job->hold_ms > m->now_ms);
}

enum job_state model_shown(const struct model *m, const struct model_job *job)
{
    return model_is_over(m, job) ? JOB_EXPIRED : job->state;
}

struct model_job *model_find_key(const struct model *m, unsigned queue, uint32_t key)
{
    struct model_job *held = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->queue != queue || job->key != key)
            continue;
        if (!model_ended(job))
            return job;
        if (job->held)
            held = job;
    }
    return held;
}

uint64_t model_count(const struct model *m, unsigned queue, enum job_state state)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->count; i++)
        n += m->jobs[i].queue == queue && m->jobs[i].state == state;
    return n;
}

int64_t model_rank(const struct model_job *job)
{
    return job->at_ms + (job->priority - 1) * INT64_C(30000);
}

void model_forget(struct model *m, size_t i)
{
    struct model_graveyard *g = m->graveyard;
    g->graves = grow(g->graves, &g->cap, g->count, sizeof(*g->graves));
    g->graves[g->count++] = (struct model_grave){
        .job = m->jobs[i], .changes = m->changes, .step = m->steps, .life_ms = m->start_mono_ms
    };
    m->jobs[i] = m->jobs[--m->count];
}

void model_fire(struct model *m)
{
    for (size_t i = 0; i < m->count;) {
        struct model_job *job = &m->jobs[i];
        if (job->state == JOB_SCHEDULED && !job->at_open && job->at_ms <= m->now_ms) {
            job->state = JOB_READY;
            job->ahead = false;
            job->moved = m->steps;
        }
        if (!m->cold && !m->replaying &&
            model_is_over(m, job)) /* else the judge finds out when it does */
            model_end(m, job, JOB_EXPIRED, 0);
        if (job->held && job->hold_ms <= m->now_ms && !job->telling)
            job->held = false;
        if (model_is_past(m, job)) {
            cover_event(EVENT_FORGOTTEN);
            model_forget(m, i);
        } else {
            i++;
        }
    }
}

void model_calm(struct model *m)
{
    m->calm_ms = m->now_ms;
    m->calm_step = m->steps;
}

/* Nothing can be told about the order of what is there now. */
static void upset(struct model *m)
{
    m->calm_ms = INT64_MIN;
    for (size_t i = 0; i < m->count; i++)
        m->jobs[i].calm_ms = INT64_MIN;
}

static void set_time(struct model *m, int64_t wall_ms)
{
    m->now_ms = wall_ms;
    if (wall_ms > m->latest_ms)
        m->latest_ms = wall_ms;
}

bool model_surely_holds(const struct model *m, const struct model_job *job)
{
    bool lapses = m->cold || job->telling || job->lapsed;

    return job->held && !(lapses && job->hold_ms <= m->latest_ms);
}

bool model_may_forget(const struct model *m, const struct model_job *job)
{
    int64_t until = job->hold_ms > job->keep_ms ? job->hold_ms : job->keep_ms;

    bool gives_way = m->forgetful || m->bytes_bite >> tenants_of(job->queue) & 1;

    return model_ended(job) &&
           ((gives_way && job->state != JOB_DEAD && !model_surely_holds(m, job)) ||
            ((m->cold || job->telling) && until <= m->latest_ms));
}

const struct model_job *model_ghost(const struct model *m, struct job_id id)
{
    for (size_t i = m->graveyard->count; i-- > 0 && m->cold;) {
        const struct model_job *job = &m->graveyard->graves[i].job;
        if (job->id.seq == id.seq && (job->keep_ms > m->now_ms || job->hold_ms > m->now_ms))
            return job;
    }
    return NULL;
}

/* In the model or the graveyard. */
static const struct model_job *ended_job(const struct model *m, struct job_id id)
{
    const struct model_job *job = model_find(m, id);

    return job ? job : model_ghost(m, id);
}

bool model_may_hold(const struct model *m, unsigned queue, uint32_t key, struct job_id id)
{
    const struct model_job *job = ended_job(m, id);

    return m->cold && job && model_ended(job) && job->queue == queue && job->key == key &&
           job->hold_ms > m->now_ms && job->hold_ms <= m->latest_ms &&
           !model_find_key(m, queue, key);
}

void model_hold_again(struct model *m, unsigned queue, uint32_t key, struct job_id id)
{
    struct model_job *job = model_find(m, id);

    if (!model_may_hold(m, queue, key, id))
        return;
    if (!job) {
        job = model_add(m);
        *job = *model_ghost(m, id);
    }
    job->held = true;
}

void model_unhold(struct model *m, unsigned queue, uint32_t key)
{
    struct model_job *job = model_find_key(m, queue, key);

    if (job && job->held && !model_surely_holds(m, job))
        job->held = false;
}

bool model_advance(struct model *m, int64_t wall_ms, int64_t mono_ms)
{
    bool back = wall_ms < m->now_ms - STEP_BACK_MS;

    if (back) {
        m->set_back = true;
        for (size_t i = 0; i < m->count; i++)
            m->jobs[i].ahead = m->jobs[i].state == JOB_READY;
        upset(m);
    }
    if (wall_ms > m->now_ms || back)
        set_time(m, wall_ms);
    if (back)
        model_rewind(m);
    m->mono_ms = mono_ms;
    model_rates(m, takes_advance);
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].state == JOB_LEASED && m->jobs[i].end_mono_ms <= mono_ms)
            model_stall(m, &m->jobs[i]);
    model_fire(m);
    return back;
}

static int64_t lease_left(const struct model *m, const struct model_job *job)
{
    int64_t left = job->until_ms - m->now_ms;

    return left < job->length_ms ? left : job->length_ms;
}

static bool needs_grace(const struct model *m, const struct model_job *job)
{
    return !job->graced && lease_left(m, job) < LEASE_GRACE_MS;
}

/* A lease goes on to its recorded end. The first start after its worker's last word gives it ten
 * seconds at least. If the clock was set back, a lease lasts no longer than it was given for. */
static void restart_lease(const struct model *m, struct model_job *job)
{
    int64_t left = needs_grace(m, job) ? LEASE_GRACE_MS : lease_left(m, job);

    job->end_mono_ms = m->mono_ms + (left > 0 ? left : 0);
}

void model_begin(struct model *m)
{
    m->touched = false;
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];

        if (job->state != JOB_LEASED)
            continue;
        if (needs_grace(m, job)) {
            job->graced = m->touched = true;
            cover_event(EVENT_GRACE);
        } else if (job->end_mono_ms <= m->mono_ms) {
            m->touched = true;
            cover_event(EVENT_NO_GRACE);
            model_stall(m, job);
        }
    }
}

/* Nothing that only follows from time is stored: it is derived again. */
void model_restart(struct model *m, int64_t wall_ms, int64_t mono_ms)
{
    /* Of jobs that were in memory it is known only where those on disk begin at the earliest. */
    upset(m);
    m->set_back = m->set_back || wall_ms < m->now_ms;
    set_time(m, wall_ms);
    m->mono_ms = m->start_mono_ms = mono_ms;
    m->served = 0;
    m->refusing = false;
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        m->queues[q].counters = (struct counters){ 0 };
        m->queues[q].passed_over = false;
    }
    model_rates(m, takes_restart);
    memset(m->reopened_ms, 0, sizeof(m->reopened_ms));
    memset(m->given, 0, sizeof(m->given));
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->state == JOB_READY)
            job->state = JOB_SCHEDULED;
        if (job->state == JOB_LEASED)
            restart_lease(m, job);
    }
    model_fire(m);
}

void model_next(const struct model *m, int64_t *ret_wall_ms, int64_t *ret_mono_ms)
{
    *ret_wall_ms = *ret_mono_ms = INT64_MAX;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *job = &m->jobs[i];
        int64_t wall = INT64_MAX;
        if (job->state == JOB_SCHEDULED)
            wall = job->at_ms;
        else if (model_ended(job) && !job->telling)
            wall = job->held ? job->hold_ms : job->keep_ms;
        else if (job->state == JOB_LEASED && job->end_mono_ms < *ret_mono_ms)
            *ret_mono_ms = job->end_mono_ms;
        if (!model_ended(job) && model_expires(job) >= 0 && model_expires(job) < wall)
            wall = model_expires(job);
        if (wall < *ret_wall_ms)
            *ret_wall_ms = wall;
    }
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++) {
        int64_t next = model_recur_next(m, i);
        *ret_wall_ms = next < *ret_wall_ms ? next : *ret_wall_ms;
    }
}
