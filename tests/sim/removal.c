/* SPDX-License-Identifier: MIT */
/* Steps that delete queues and tenants. */
#include <inttypes.h>

#include "sim/steps.h"

#define ALL_FIELDS ~0u

/* Whether a thing is in use, as far as the model can tell. MAYBE: it has jobs that were forgotten
 * or notes of the engine's own, which may still be on disk. */
enum used { UNUSED, MAYBE, USED };

static enum used more_used(enum used a, enum used b)
{
    return a > b ? a : b;
}

static enum used queue_has_jobs(const struct model *m, unsigned q)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].queue == q)
            return USED;
    for (size_t i = 0; i < m->graveyard->count && m->cold; i++)
        if (m->graveyard->graves[i].job.queue == q)
            return MAYBE;
    return UNUSED;
}

static bool workers_wait_at(const struct world *w, unsigned q)
{
    for (size_t i = 0; i < WAITS_MAX; i++)
        if (w->waits[i].live && w->waits[i].queues >> q & 1)
            return true;
    return false;
}

static bool queue_has_settings(const struct model *m, unsigned q)
{
    struct model_queue is = m->queues[q];

    is.exists = is.passed_over = false;
    is.counters = (struct counters){ 0 };
    return memcmp(&is, &model_queue_usual, sizeof(is)) != 0;
}

/* The answer follows from the use of a thing that the engine knows. */
static void judge_answer(const char *verb, unsigned number, int is, bool known, enum used used)
{
    CHECK(known ? is == 0 || is == BELFRY_STATE : is == BELFRY_NOTFOUND,
          "%s of %u answers %s, and it is %s", verb, number, is ? error_name(is) : "ok",
          known ? "known" : "not known");
    CHECK(!known || used == MAYBE || (is == BELFRY_STATE) == (used == USED),
          "%s of %u answers %s, and it is %s", verb, number, is ? error_name(is) : "ok",
          used == USED ? "used" : "not used");
}

void step_queue_delete(struct world *w)
{
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    char text[TEXT_MAX];
    struct str name = text_make(TEXT_QUEUE, q, text);
    struct queue_view v;

    world_adopt(w);
    bool set = queue_has_settings(&w->model, q);
    bool known = engine_queue_get(w->engine, name, &v) == 0;
    enum used used = workers_wait_at(w, q) ? USED : queue_has_jobs(&w->model, q);
    uint64_t changes = engine_changes(w->engine);
    int is = engine_queue_delete(w->engine, name);

    trace_note("QUEUEDELETE q%u: %s", q, is ? error_name(is) : "ok");
    judge_answer("QUEUEDELETE", q, is, known, used);
    CHECK((engine_changes(w->engine) != changes) == (!is && set),
          "QUEUEDELETE of q%u, which has %s: its record is %s", q, set ? "settings" : "no settings",
          set ? "missing" : "there");
    if (is == BELFRY_STATE)
        cover_event(EVENT_QUEUE_DELETE_REFUSED);
    if (!is) {
        CHECK(w->cold || engine_queue_get(w->engine, name, &v), "q%u is there, and deleted", q);
        w->model.queues[q].exists = true; /* a worker may have made it known, which is no change */
        model_queue_set(&w->model, q, &model_queue_usual, ALL_FIELDS);
        cover_event(set ? EVENT_QUEUE_DELETED_SET : EVENT_QUEUE_DELETED);
    }
    world_answer(w, "QUEUEDELETE");
}

/* The audit log is a queue of the first tenant. Bulks that ended are shown for a day. */
static enum used tenant_is_used(const struct world *w, unsigned t)
{
    const struct model *m = &w->model;
    enum used used = w->cold || m->bulked >> t & 1 || (t == 0 && m->audits > 0) ? MAYBE : UNUSED;

    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (tenants_of(q) == t)
            used = more_used(used, queue_has_settings(m, q) || workers_wait_at(w, q)
                                       ? USED
                                       : queue_has_jobs(m, q));
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        if (m->recurrences[i].exists && recurrence_tenant(i) == t)
            used = USED;
    return used;
}

void step_tenant_delete(struct world *w)
{
    unsigned t = (unsigned)rng_below(&w->rng, MODEL_TENANTS);
    char text[TEXT_MAX];
    struct str name = text_make(TEXT_TENANT, t, text);
    struct tenant_view v;

    world_adopt(w);
    bool set = memcmp(&w->model.tenants[t], &model_tenant_usual, sizeof(model_tenant_usual)) != 0;
    bool known = engine_tenant_get(w->engine, name, &v) == 0;
    enum used used = tenant_is_used(w, t);
    uint64_t changes = engine_changes(w->engine);
    int is = engine_tenant_delete(w->engine, name);

    trace_note("TENANTDELETE %u: %s", t, is ? error_name(is) : "ok");
    judge_answer("TENANTDELETE", t, is, known, used);
    CHECK((engine_changes(w->engine) != changes) == (!is && set),
          "TENANTDELETE of %u, which has %s: its record is %s", t, set ? "settings" : "no settings",
          set ? "missing" : "there");
    if (is == BELFRY_STATE)
        cover_event(EVENT_TENANT_DELETE_REFUSED);
    if (!is) {
        CHECK(engine_tenant_get(w->engine, name, &v), "tenant %u is there, and deleted", t);
        model_tenant_set(&w->model, t, &model_tenant_usual, ALL_FIELDS);
        w->model.reopened_ms[t] = 0;
        cover_event(EVENT_TENANT_DELETED);
    }
    world_answer(w, "TENANTDELETE");
}
