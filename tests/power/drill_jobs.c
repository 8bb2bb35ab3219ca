/* SPDX-License-Identifier: MIT */
/*
 * A drill of a partition on the file store: jobs are scheduled, completed and cancelled, fed,
 * loaded and merged, the journal is reclaimed, all at once, as in the server. Every state of the
 * disk that a loss of power leaves must open, with every job as its acknowledged requests left it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/drive.h"
#include "power/drill.h"
#include "power/turns.h"
#include "support/verify.h"

#define DIR         PLATTER_ROOT "/data"
#define SEGMENT     8192
#define RETAIN      INT64_C(60000)
#define STEPS       700
#define JOBS_MAX    4000
#define AIMED       2500 /* calls at which states are taken: so many there are, or some more */
#define QUEUE_MAX   4
#define SAMPLE      120 /* jobs that are looked up in a state */
#define SAMPLE_LAST 60  /* jobs that were acknowledged last and are looked up, too */
#define HOUR        INT64_C(3600000)

/* What was asked for, and which record says so. */
struct row {
    struct job_id id;
    uint64_t made_lsn;
    uint64_t end_lsn; /* 0: it has not ended */
    enum job_state end;
    int64_t until_ms; /* it is kept as one that has ended */
};

struct errand {
    struct turns_thread *thread; /* NULL: none */
    struct chore *chore;
    int result;
};

/* A disk after a loss of power, and how far the journal was acknowledged then. */
struct scene {
    uint64_t number;
    struct platter *platter;
    uint64_t durable_lsn;
    enum loss loss;
    bool aimed;
    char where[64];
};

/* A partition that is open. */
struct host {
    struct store *store;
    struct partition *partition;
    struct engine *engine;
};

struct yard_of_jobs {
    const struct drill_options *o;
    struct rng rng;
    struct rng visit_rng;
    struct platter *platter;
    struct host host;
    struct party *party;
    int64_t mono_ms;
    uint64_t base_lsn; /* all of the partitions that were open before */
    struct errand errands[CHORE_KINDS];
    struct row rows[JOBS_MAX];
    size_t count;
    uint64_t states_left;
    uint64_t rarity; /* one of so many calls that change names is a state */
    uint64_t state_number;
    struct scene queue[QUEUE_MAX];
    unsigned queued;
    char why[512];
};

#define jobs_fail(y, ...) drill_fail((y)->why, sizeof((y)->why), __VA_ARGS__)

static bool open_host(struct yard_of_jobs *y, struct host *h)
{
    struct store_options so = { .log_bytes = SEGMENT, .reserve = 2, .mutant = y->o->mutant };
    struct partition_options po = { .segment_bytes = SEGMENT,
                                    .commit_bytes = 2000,
                                    .durable = true,
                                    .seed = 1,
                                    .secret = { 1, 2 },
                                    .memory_bytes = 64 << 10,
                                    .block_bytes = 1024,
                                    .piece_bytes = 8192,
                                    .merge_runs = 3,
                                    .lookahead_ms = 1000 };
    struct partition_report report;
    *h = (struct host){ 0 };
    int r = store_open(DIR, &so, &h->store);
    if (r == 0)
        r = partition_open(h->store, &po, calls_now_ms, y->mono_ms, &h->partition, &report);
    if (r < 0)
        return jobs_fail(y, "open: %s: %s", error_name(r), store_detail());
    h->engine = partition_engine(h->partition);
    return true;
}

static void close_host(struct host *h)
{
    partition_close(h->partition);
    store_close(h->store);
    *h = (struct host){ 0 };
}

/* ---- Looking ---- */

static struct str payload_of(size_t i, char buf[200])
{
    int n = snprintf(buf, 200, "payload of job %zu: %.*s", i, (int)(i * 37 % 120),
                     "................................................................"
                     "................................................................");
    return (struct str){ buf, (size_t)n };
}

/* As its last acknowledged request left it. */
static bool is_right(const struct row *row, const struct job_view *v, uint64_t durable_lsn)
{
    bool ended = v->state == JOB_DONE || v->state == JOB_CANCELLED;
    if (row->end_lsn > 0 && row->end_lsn <= durable_lsn)
        return v->state == row->end;
    return !ended || (row->end_lsn > 0 && v->state == row->end);
}

static bool look_up(struct yard_of_jobs *y, struct host *h, size_t i, uint64_t durable_lsn)
{
    const struct row *row = &y->rows[i];
    struct fetch *f = NULL;
    struct job_view v;
    char buf[200];
    int r;
    while ((r = engine_get(h->engine, row->id, &v)) == BELFRY_COLD)
        if ((r = drive_fetch(h->partition, &f)) < 0)
            break;
    bool forgotten = r == BELFRY_NOTFOUND && row->end_lsn > 0 && calls_now_ms >= row->until_ms;
    bool same = r == 0 && str_eq(v.payload, payload_of(i, buf));
    bool right = r == 0 && is_right(row, &v, durable_lsn);
    enum job_state state = r == 0 ? v.state : JOB_SCHEDULED;
    drive_fetch_end(h->partition, &f);
    figures.looked++;
    if (forgotten)
        return true;
    if (r < 0)
        return jobs_fail(
            y, "job %zu (made %" PRIu64 ", ended %" PRIu64 " as %s, durable %" PRIu64 "): %s: %s",
            i, row->made_lsn, row->end_lsn, job_state_name(row->end), durable_lsn, error_name(r),
            store_detail());
    if (!same)
        return jobs_fail(y, "job %zu has another payload", i);
    return right || jobs_fail(y, "job %zu is %s", i, job_state_name(state));
}

static bool look_at_jobs(struct yard_of_jobs *y, struct host *h, uint64_t durable_lsn)
{
    size_t known = y->count;
    bool ok = true;
    while (known > 0 && y->rows[known - 1].made_lsn > durable_lsn)
        known--;
    size_t last = known > SAMPLE_LAST ? known - SAMPLE_LAST : 0;
    for (size_t i = y->o->all_jobs ? 0 : last; ok && i < known; i++)
        ok = look_up(y, h, i, durable_lsn);
    for (size_t n = 0; ok && !y->o->all_jobs && n < SAMPLE && last > 0; n++)
        ok = look_up(y, h, (size_t)rng_below(&y->visit_rng, last), durable_lsn);
    engine_verify(h->engine);
    return ok;
}

/* ---- States ---- */

/* Opens a disk beside the drill's, looks, and goes on a little: a few jobs more, which the rows do
 * not know, take spares and write. */
static bool visit(struct yard_of_jobs *y, struct platter *p, uint64_t durable_lsn)
{
    struct host h;
    char buf[200];
    struct calls before = calls_insert((struct calls){ .platter = p, .rng = &y->visit_rng });
    struct party *party = turns_enter(rng_next(&y->visit_rng));
    bool ok = open_host(y, &h) && look_at_jobs(y, &h, durable_lsn);
    for (size_t i = 0; ok && i < 300 && !partition_pressed(h.partition); i++) {
        struct job_spec spec = { .queue = STR("more"),
                                 .payload = payload_of(i, buf),
                                 .due_ms = calls_now_ms + HOUR,
                                 .priority = 3,
                                 .attempts = -1,
                                 .lease_ms = -1,
                                 .retain_ms = -1 };
        struct schedule_result made;
        int r = engine_schedule(h.engine, &spec, &made);
        if (r == 0 && i % 20 == 0)
            r = partition_flush(h.partition);
        ok = r == 0 || jobs_fail(y, "afterwards: %s: %s", error_name(r), store_detail());
    }
    if (ok)
        ok = look_at_jobs(y, &h, durable_lsn);
    close_host(&h);
    turns_leave(party);
    calls_insert(before);
    return ok;
}

static bool judge(struct yard_of_jobs *y, struct scene *s)
{
    y->visit_rng.state = y->o->seed * 1000003 + s->number;
    bool ok = visit(y, s->platter, s->durable_lsn);
    if (ok) {
        enum loss again = (enum loss)rng_below(&y->visit_rng, LOSS_COUNT);
        struct platter *p = platter_lose(s->platter, again, &y->visit_rng);
        ok = visit(y, p, s->durable_lsn);
        platter_free(p);
    }
    figures.states++;
    figures.aimed += s->aimed;
    figures.by_loss[s->loss]++;
    figures.files += platter_files(s->platter);
    if (ok)
        return true;
    char what[512];
    snprintf(what, sizeof what, "%s", y->why);
    snprintf(y->why, sizeof y->why, "state %" PRIu64 ", %s, losing %s: %.380s", s->number, s->where,
             loss_text(s->loss), what);
    return false;
}

static bool judge_all(struct yard_of_jobs *y)
{
    bool ok = true;
    for (unsigned i = 0; i < y->queued; i++) {
        if (ok && (y->o->only_state == 0 || y->o->only_state == y->queue[i].number))
            ok = judge(y, &y->queue[i]);
        platter_free(y->queue[i].platter);
    }
    y->queued = 0;
    return ok;
}

static void watch(void *arg, struct call *c, bool done)
{
    struct yard_of_jobs *y = arg;
    bool aimed = call_is_aimed(y->platter, c, done);
    figures.calls += !done;
    if (!y->host.partition || y->queued == QUEUE_MAX || y->states_left == 0 ||
        rng_below(&y->rng, aimed ? y->rarity : 30 * y->rarity) > 0)
        return;
    struct scene *s = &y->queue[y->queued++];
    *s = (struct scene){ .number = ++y->state_number,
                         .aimed = aimed,
                         .durable_lsn = y->base_lsn + partition_durable_lsn(y->host.partition),
                         .loss = (enum loss)rng_below(&y->rng, LOSS_COUNT) };
    s->platter = platter_lose(y->platter, s->loss, &y->rng);
    snprintf(s->where, sizeof s->where, "%s %s", done ? "after" : "before", call_text(c->kind));
    y->states_left--;
}

/* ---- Work ---- */

static void *run_chore(void *arg)
{
    struct errand *e = arg;
    e->result = chore_run(e->chore);
    return NULL;
}

static bool end_errand(struct yard_of_jobs *y, struct errand *e)
{
    turns_join(e->thread);
    e->thread = NULL;
    const char *name = chore_name(e->chore);
    int r = partition_chore_done(y->host.partition, e->chore, e->result);
    return r == 0 || jobs_fail(y, "%s: %s: %s", name, error_name(r), store_detail());
}

static bool chores(struct yard_of_jobs *y, bool wait)
{
    bool ok = true;
    for (unsigned lane = 0; ok && lane < CHORE_KINDS; lane++) {
        struct errand *e = &y->errands[lane];
        if (e->thread && (wait || turns_finished(e->thread)))
            ok = end_errand(y, e);
        if (wait || e->thread)
            continue;
        e->chore = partition_chore(y->host.partition, (enum chore_kind)lane);
        if (e->chore)
            e->thread = turns_start(run_chore, e);
    }
    return ok;
}

static bool commit(struct yard_of_jobs *y)
{
    struct commit *c;
    while ((c = partition_take(y->host.partition))) {
        int r = commit_write(c);
        if (r < 0)
            return jobs_fail(y, "commit: %s: %s", error_name(r), store_detail());
        partition_settle(y->host.partition, c);
        if (rng_chance(&y->rng, 70))
            break;
    }
    return true;
}

static uint64_t lsn_now(const struct yard_of_jobs *y)
{
    return y->base_lsn + engine_lsn(y->host.engine);
}

static bool schedule(struct yard_of_jobs *y)
{
    uint64_t n = rng_below(&y->rng, 12);
    for (; n > 0 && y->count < JOBS_MAX && !partition_pressed(y->host.partition); n--) {
        char buf[200];
        bool soon = rng_chance(&y->rng, 35);
        int64_t in_ms = soon ? rng_between(&y->rng, 0, 5000) : rng_between(&y->rng, 0, 4 * HOUR);
        struct job_spec spec = { .queue = STR("q"),
                                 .payload = payload_of(y->count, buf),
                                 .due_ms = calls_now_ms + in_ms,
                                 .priority = 3,
                                 .attempts = -1,
                                 .lease_ms = -1,
                                 .retain_ms = RETAIN };
        struct schedule_result made;
        int r = engine_schedule(y->host.engine, &spec, &made);
        if (r < 0)
            return jobs_fail(y, "schedule: %s", error_name(r));
        y->rows[y->count++] = (struct row){ .id = made.id, .made_lsn = lsn_now(y) };
    }
    return true;
}

static struct row *row_of(struct yard_of_jobs *y, struct job_id id)
{
    for (size_t i = 0; i < y->count; i++) {
        if (y->rows[i].id.seq == id.seq)
            return &y->rows[i];
    }
    return NULL;
}

static bool complete(struct yard_of_jobs *y)
{
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 8, .for_ms = -1 };
    struct job *jobs[8];
    struct job_view v[8];
    int n = engine_lease(y->host.engine, &r, jobs);
    for (int i = 0; i < n; i++)
        engine_view(y->host.engine, jobs[i], &v[i]);
    for (int i = 0; i < n; i++) {
        int err = engine_complete(y->host.engine, v[i].id, v[i].token, STR("well"), -1);
        struct row *row = row_of(y, v[i].id);
        if (err < 0 || !row || row->end_lsn > 0)
            return jobs_fail(y, "complete: %s", err < 0 ? error_name(err) : "a job that had ended");
        row->end = JOB_DONE;
        row->end_lsn = lsn_now(y);
        row->until_ms = calls_now_ms + RETAIN;
    }
    return n >= 0 || jobs_fail(y, "lease: %s", error_name(n));
}

/* Of a job in memory. */
static bool cancel(struct yard_of_jobs *y)
{
    if (y->count == 0)
        return true;
    struct row *row = &y->rows[rng_below(&y->rng, y->count)];
    if (row->end_lsn > 0 || engine_cancel(y->host.engine, row->id) != CANCEL_CANCELLED)
        return true;
    row->end = JOB_CANCELLED;
    row->end_lsn = lsn_now(y);
    row->until_ms = calls_now_ms + RETAIN;
    return true;
}

static void pass_time(struct yard_of_jobs *y)
{
    int64_t ms = rng_chance(&y->rng, 3) ? HOUR / 4 : rng_between(&y->rng, 0, 2000);
    calls_now_ms += ms;
    y->mono_ms += ms;
    engine_advance(y->host.engine, calls_now_ms, y->mono_ms);
}

static void count_traffic(const struct yard_of_jobs *y)
{
    struct partition_stats s;
    partition_stats(y->host.partition, &s);
    figures.fed += s.fed_batches;
    figures.loaded += s.loaded_jobs;
    figures.merged += s.merged_runs;
    figures.reclaimed += s.reclaimed_segments;
}

static bool restart(struct yard_of_jobs *y)
{
    while (!partition_idle(y->host.partition)) {
        if (!commit(y))
            return false;
    }
    y->base_lsn = lsn_now(y);
    count_traffic(y);
    close_host(&y->host);
    platter_sweep(y->platter);
    return open_host(y, &y->host);
}

static bool step(struct yard_of_jobs *y)
{
    bool ok = schedule(y) && complete(y);
    if (ok && rng_chance(&y->rng, 20))
        ok = cancel(y);
    pass_time(y);
    partition_work(y->host.partition, INT64_MAX);
    ok = ok && chores(y, false) && commit(y);
    if (ok && rng_chance(&y->rng, 10))
        ok = chores(y, true);
    if (ok && rng_chance(&y->rng, 1))
        ok = chores(y, true) && restart(y);
    return ok && judge_all(y);
}

static void end(struct yard_of_jobs *y)
{
    for (unsigned lane = 0; lane < CHORE_KINDS; lane++) {
        if (y->errands[lane].thread)
            turns_join(y->errands[lane].thread);
    }
    close_host(&y->host);
    turns_leave(y->party);
    for (unsigned i = 0; i < y->queued; i++)
        platter_free(y->queue[i].platter);
    platter_free(y->platter);
}

bool drill_jobs(const struct drill_options *o, uint64_t states, char why[1024])
{
    struct yard_of_jobs *y = calloc(1, sizeof(*y));
    if (!y)
        abort();
    y->o = o;
    y->rng.state = o->seed;
    y->states_left = states;
    y->rarity = states > 0 && states < AIMED ? AIMED / states : 1;
    y->mono_ms = 1000;
    calls_now_ms = CALLS_START_MS;
    y->platter = platter_new(rng_next(&y->rng));
    struct calls before = calls_insert(
        (struct calls){ .platter = y->platter, .watch = watch, .arg = y, .rng = &y->rng });
    y->party = turns_enter(rng_next(&y->rng));
    bool ok = open_host(y, &y->host);
    for (int i = 0; ok && i < STEPS; i++)
        ok = step(y);
    if (ok) {
        ok = chores(y, true) && restart(y);
        y->states_left = 0;
        y->visit_rng.state = o->seed;
        ok = ok && look_at_jobs(y, &y->host, UINT64_MAX);
    }
    figures.drills++;
    if (!ok)
        snprintf(why, 1024, "%s", y->why);
    end(y);
    calls_insert(before);
    free(y);
    return ok;
}
