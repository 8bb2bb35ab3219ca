/* SPDX-License-Identifier: MIT */
/* Steps in which a producer makes and changes recurrences. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/labels.h"
#include "sim/steps.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

#define RULE_TEXT 100

/* Whose it is and how it is called. */
struct names {
    char tenant_text[TEXT_MAX], name_text[TEXT_MAX];
    struct str tenant, name;
};

static void names_of(unsigned recurrence, struct names *ret)
{
    ret->tenant = text_make(TEXT_TENANT, recurrence_tenant(recurrence), ret->tenant_text);
    ret->name = text_make(TEXT_RECURRENCE, 1 + recurrence, ret->name_text);
}

static void check_answer(struct world *w, const char *verb, const struct request *r, int err,
                         int expected)
{
    CHECK(err == expected, "%s of recurrence %u answers %s, expected %s", verb, r->recurrence,
          err ? error_name(err) : "ok", expected ? error_name(expected) : "ok");
    if (w->again)
        cover_event(EVENT_RECUR_COLD);
    world_answer(w, verb);
}

/* ---- Making and changing ---- */

/* Every day or every few days, often at a time of day that clocks leave out or show twice. */
static void random_daily(struct world *w, struct model_recur *ret)
{
    struct rng *r = &w->rng;
    int64_t day = w->wall_ms / DAY + rng_between(r, -4, 1);
    int64_t at =
        rng_chance(r, 60) ? rng_between(r, 2 * HOUR, 3 * HOUR) : rng_between(r, 0, DAY - 1);

    ret->daily = true;
    ret->period_ms = DAY * rng_between(r, 1, rng_chance(r, 70) ? 1 : 3);
    ret->count = rng_chance(r, 40) ? rng_between(r, 1, 60) : 0;
    ret->start_ms = model_rule_moment(day * DAY + at);
}

/* Near ones, but for a while only, so that there are not too many; and far ones for ever. */
static void random_rule(struct world *w, struct model_recur *ret)
{
    struct rng *r = &w->rng;

    if (rng_chance(r, 30)) {
        random_daily(w, ret);
        return;
    }
    if (rng_chance(r, 40)) {
        ret->count = rng_between(r, 1, 150);
        ret->period_ms = SECOND * rng_between(r, 1, rng_chance(r, 50) ? 20 : 600);
    } else {
        ret->period_ms = rng_chance(r, 60) ? rng_between(r, MINUTE, 2 * HOUR)
                                           : rng_between(r, 2 * HOUR, 3 * DAY);
    }
    ret->start_ms = rng_chance(r, 50)   ? -1
                    : rng_chance(r, 50) ? w->wall_ms + rng_duration(r, DAY)
                                        : w->wall_ms - rng_duration(r, DAY);
}

static unsigned random_queue(struct world *w, unsigned tenant)
{
    unsigned q;

    do
        q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    while (tenants_of(q) != tenant);
    return q;
}

static struct model_recur random_recur(struct world *w, unsigned recurrence)
{
    const struct model_recurrence *old = &w->model.recurrences[recurrence];
    struct rng *r = &w->rng;
    struct model_recur s = {
        .catchup = (enum catchup)rng_below(r, 3),
        .overlap = (enum overlap)rng_below(r, 3),
        .queue = random_queue(w, recurrence_tenant(recurrence)),
        .payload = world_text(w),
        .priority = (int)rng_between(r, 1, 5),
        .attempts = rng_between(r, 1, 3),
        .retain_ms = rng_chance(r, 50) ? -1 : rng_duration(r, DAY),
        .expire_ms = rng_chance(r, w->expire_percent) ? 1 + rng_duration(r, DAY) : 0,
        .labels = rng_chance(r, 40) ? (uint32_t)rng_between(r, 1, 1000) : 0,
    };

    random_rule(w, &s);
    if (old->exists && rng_chance(r, 15)) /* as it is, but perhaps for one thing */
        s = old->said;
    if (old->exists && rng_chance(r, 15))
        s.catchup = (enum catchup)rng_below(r, 3);
    return s;
}

static void rule_text(const struct model_recur *s, char ret[RULE_TEXT])
{
    int n = 0;

    if (s->daily)
        n = snprintf(ret, RULE_TEXT, "FREQ=DAILY;INTERVAL=%" PRId64, s->period_ms / DAY);
    else if (s->count)
        n = snprintf(ret, RULE_TEXT, "FREQ=SECONDLY;INTERVAL=%" PRId64, s->period_ms / SECOND);
    else
        snprintf(ret, RULE_TEXT, "%" PRId64 "ms", s->period_ms);
    if (s->count)
        snprintf(ret + n, RULE_TEXT - (size_t)n, ";COUNT=%" PRId64, s->count);
}

static bool recur(struct world *w, const struct request *r)
{
    const struct model_recur *s = &r->recur;
    char queue[TEXT_MAX], payload[TEXT_MAX], rule[RULE_TEXT];
    static struct labels labels;
    struct names n;
    labels_make(s->labels, &labels);
    struct recurrence_spec spec = {
        .job = { .queue = text_make(TEXT_QUEUE, s->queue, queue),
                 .payload = text_make(TEXT_PAYLOAD, s->payload, payload),
                 .due_ms = -1,
                 .priority = s->priority,
                 .attempts = s->attempts,
                 .lease_ms = -1,
                 .retain_ms = s->retain_ms,
                 .expire_ms = s->expire_ms,
                 .tags = labels.tags,
                 .tag_count = labels.tag_count,
                 .meta = labels.meta,
                 .meta_count = labels.meta_count },
        .kind = s->count || s->daily ? RECUR_RRULE : RECUR_EVERY,
        .zone = s->daily ? STR("Europe/Berlin") : STR("UTC"),
        .start_ms = s->start_ms,
        .catchup = s->catchup,
        .overlap = s->overlap,
    };

    rule_text(s, rule);
    names_of(r->recurrence, &n);
    spec.tenant = n.tenant;
    spec.name = n.name;
    spec.rule = str_of(rule);
    int err = engine_recur(w->engine, &spec);
    trace_note("RECUR %u q%u p%u %s start %" PRId64 " catchup %d overlap %d retain %" PRId64 ": %s",
               r->recurrence, s->queue, s->payload, rule, s->start_ms, s->catchup, s->overlap,
               s->retain_ms, err ? error_name(err) : "ok");
    if (err == BELFRY_COLD)
        return false;
    check_answer(w, "RECUR", r, err, model_recur(&w->model, r->recurrence, s));
    return true;
}

void step_recur(struct world *w)
{
    unsigned i = (unsigned)rng_below(&w->rng, MODEL_RECURRENCES);

    if (w->recurs)
        request_send(
            w, &(struct request){ .execute = recur, .recurrence = i, .recur = random_recur(w, i) });
}

/* ---- The others ---- */

static bool pause(struct world *w, const struct request *r)
{
    struct names n;

    names_of(r->recurrence, &n);
    int err = engine_recurrence_pause(w->engine, n.tenant, n.name, r->flag);
    trace_note("%s %u: %s", r->flag ? "RECURPAUSE" : "RECURRESUME", r->recurrence,
               err ? error_name(err) : "ok");
    if (err == BELFRY_COLD)
        return false;
    check_answer(w, "RECURPAUSE", r, err, model_recur_pause(&w->model, r->recurrence, r->flag));
    return true;
}

void step_recur_pause(struct world *w)
{
    unsigned i = (unsigned)rng_below(&w->rng, MODEL_RECURRENCES);
    bool paused = w->model.recurrences[i].paused;

    if (w->recurs)
        request_send(w, &(struct request){ .execute = pause,
                                           .recurrence = i,
                                           .flag = rng_chance(&w->rng, 90) ? !paused : paused });
}

static bool run(struct world *w, const struct request *r)
{
    struct names n;
    struct job_id id = { 0 };

    names_of(r->recurrence, &n);
    int err = engine_recurrence_run(w->engine, n.tenant, n.name, &id);
    trace_note("RECURRUN %u: %s, job %" PRIu64, r->recurrence, err ? error_name(err) : "ok",
               id.seq);
    if (err == BELFRY_COLD)
        return false;
    CHECK(err || (id.due_ms >= w->model.now_ms && id.due_ms < w->model.now_ms + 1000 &&
                  id.seq > w->model.seq_max),
          "RECURRUN makes a job of a wrong id");
    check_answer(w, "RECURRUN", r, err, model_recur_run(&w->model, r->recurrence, id));
    return true;
}

void step_recur_run(struct world *w)
{
    if (w->recurs && w->model.count < w->jobs_max)
        request_send(
            w, &(struct request){ .execute = run,
                                  .recurrence = (unsigned)rng_below(&w->rng, MODEL_RECURRENCES) });
}

static bool delete_one(struct world *w, const struct request *r)
{
    struct names n;

    names_of(r->recurrence, &n);
    int err = engine_recurrence_delete(w->engine, n.tenant, n.name);
    trace_note("RECURDELETE %u: %s", r->recurrence, err ? error_name(err) : "ok");
    if (err == BELFRY_COLD)
        return false;
    check_answer(w, "RECURDELETE", r, err, model_recur_delete(&w->model, r->recurrence));
    return true;
}

void step_recur_delete(struct world *w)
{
    if (w->recurs)
        request_send(
            w, &(struct request){ .execute = delete_one,
                                  .recurrence = (unsigned)rng_below(&w->rng, MODEL_RECURRENCES) });
}

void step_delete_recurrences(struct world *w)
{
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        if (w->model.recurrences[i].exists)
            request_finish(w, &(struct request){ .execute = delete_one, .recurrence = i });
}
