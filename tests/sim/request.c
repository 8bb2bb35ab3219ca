/* SPDX-License-Identifier: MIT */
#include "sim/request.h"

#include "sim/steps.h"

#define TRIES_MAX 60

void request_enter(struct world *w, const struct request *r)
{
    w->model.scope = r->scope;
    w->lsn = engine_lsn(w->engine);
    engine_scope(w->engine,
                 r->scope == SCOPE_ALL ? STR("*") : text_make(TEXT_TENANT, r->scope - 1, w->scope));
}

void request_leave(struct world *w, const struct request *r, int err)
{
    const struct model_job *job = model_find(&w->model, r->id);

    engine_scope(w->engine, STR("*"));
    if (!job || model_in_scope(&w->model, job))
        return;
    trace_note("  which is not its own");
    CHECK(engine_lsn(w->engine) == w->lsn, "a request changes another tenant's job");
    CHECK(err == BELFRY_COLD || *engine_detail(w->engine) == '\0',
          "a request is told about another tenant's job: %s", engine_detail(w->engine));
    if (err != BELFRY_COLD)
        cover_event(w->again ? EVENT_FOREIGN_COLD : EVENT_FOREIGN);
}

static struct fetch *answering; /* the fetch whose answer the engine has */

void request_answer_again(struct world *w)
{
    if (answering)
        CHECK(partition_fetched(w->partition, answering, 0) == 0, "jobs moved within a request");
}

static void fetch_begin(struct world *w, struct parked *p)
{
    p->fetch = partition_fetch(w->partition);
    CHECK(p->fetch, "there is no memory to fetch");
    p->ran = false;
    CHECK(p->tries++ < TRIES_MAX, "a request is COLD again and again");
    world_adopt_met(w); /* what had the key may have come to memory, and ended as it had expired */
}

static void fetch_go(struct world *w, struct parked *p)
{
    plan_begin(w, DOING_FETCH);
    p->result = fetch_run(p->fetch);
    p->faulted = plan_end(w);
    p->ran = true;
    trace_note("fetch %td runs: %s", p - w->parked, p->result ? error_name(p->result) : "ok");
    if (fault_dead(w->store))
        restart_crash(w, true);
}

static void follow_up(struct world *w)
{
    struct request next = w->follow_up;

    w->follow_up.execute = NULL;
    if (next.execute)
        request_send(w, &next);
}

/* What was read is here: the request is executed again, unless it must be read once more. */
static void fetch_answer(struct world *w, struct parked *p)
{
    struct fetch *fetch = p->fetch;
    int err = partition_fetched(w->partition, fetch, p->result);

    trace_note("fetch %td answers: %s", p - w->parked, err ? error_name(err) : "ok");
    if (err == BELFRY_COLD) {
        cover_event(EVENT_FETCHED_AGAIN);
        CHECK(p->tries++ < TRIES_MAX, "a fetch is told to try again and again");
        p->ran = false;
        return;
    }
    if (err) {
        CHECK(p->faulted, "a fetch fails: %s: %s", error_name(err), store_detail());
        partition_fetch_end(w->partition, fetch);
        p->fetch = NULL;
        return;
    }
    cover_event(EVENT_FETCHED);
    cover_doing(DOING_FETCH, MOMENT_ENDED);
    w->again = true;
    answering = fetch;
    bool done = p->request.execute(w, &p->request);
    answering = NULL;
    w->again = false;
    partition_fetch_end(w->partition, fetch);
    p->fetch = NULL;
    if (done)
        follow_up(w);
    else
        fetch_begin(w, p);
}

static void fetch_step(struct world *w, struct parked *p)
{
    if (p->ran)
        fetch_answer(w, p);
    else
        fetch_go(w, p);
}

static struct parked *free_place(struct world *w)
{
    for (size_t i = 0; i < PARKED_MAX; i++)
        if (!w->parked[i].fetch)
            return &w->parked[i];
    return NULL;
}

static struct parked *send(struct world *w, const struct request *r)
{
    struct parked *p = free_place(w);

    if (!p) { /* as many as there may be: one of them must end first */
        p = &w->parked[rng_below(&w->rng, PARKED_MAX)];
        while (p->fetch)
            fetch_step(w, p);
    }
    *p = (struct parked){ .request = *r };
    if (r->execute(w, r)) {
        follow_up(w);
        return NULL;
    }
    fetch_begin(w, p);
    trace_note("  waits for fetch %td", p - w->parked);
    return p;
}

void request_send(struct world *w, const struct request *r)
{
    send(w, r);
}

void request_finish(struct world *w, const struct request *r)
{
    struct parked *p = send(w, r);

    while (p && p->fetch)
        fetch_step(w, p);
}

void requests_finish(struct world *w)
{
    for (size_t i = 0; i < PARKED_MAX; i++)
        while (w->parked[i].fetch)
            fetch_step(w, &w->parked[i]);
}

void step_fetch(struct world *w)
{
    struct parked *p = &w->parked[rng_below(&w->rng, PARKED_MAX)];

    if (p->fetch)
        fetch_step(w, p);
}
