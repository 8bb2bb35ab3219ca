/* SPDX-License-Identifier: MIT */
/*
 * Damage on disk. One element of a run cannot be read, or the run ends before it. The jobs whose
 * bytes stand in the damage may be missing then, and if they are that is reported; all others run.
 * Which jobs those are the bytes say themselves: every payload is a text of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cold.h"
#include "support/drive.h"
#include "sim/rng.h"
#include "sim/run.h"
#include "sim/trace.h"
#include "sim/world.h"
#include "support/verify.h"

#define JOBS_MAX  400
#define HOUR      INT64_C(3600000)
#define TURNS_MAX 100000
#define TRIES_MAX 20
#define LEASES    10

/* The memory store, but for one element of a log: it is damaged, or missing with all behind it. */
struct rotten {
    struct store base;
    struct store *inner;
    char log[64];
    uint64_t element;
    bool cut;
    int64_t now_ms;
};

struct ward {
    struct rng rng;
    unsigned mutant;
    struct rotten store;
    struct partition_options options;
    struct partition *p;
    struct engine *e;
    int64_t wall_ms;
    int64_t mono_ms;
    size_t count;
    struct job_id ids[JOBS_MAX];
    bool ran[JOBS_MAX];
    bool hurt[JOBS_MAX]; /* its bytes stand in the damage */
    uint64_t reports;    /* of damage */
};

/* ---- The store ---- */

struct cut_read {
    const struct rotten *r;
    store_element_fn *fn;
    void *arg;
};

static struct rotten *rotten_of(struct store *s)
{
    return (struct rotten *)s;
}

static int read_until_cut(void *arg, uint64_t seq, struct str element)
{
    struct cut_read *c = arg;

    return seq < c->r->element ? c->fn(c->arg, seq, element) : 0;
}

static int rotten_read(struct store *s, struct str log, uint64_t from, uint64_t at,
                       store_element_fn *fn, void *arg, struct store_tail *ret)
{
    struct rotten *r = rotten_of(s);
    struct cut_read cut = { r, fn, arg };

    if (!str_eq(log, str_of(r->log)) || from > r->element)
        return r->cut && str_eq(log, str_of(r->log))
                   ? store_fail(BELFRY_CORRUPT, "%s: it ends before element %d", r->log, (int)from)
                   : r->inner->ops->read(r->inner, log, from, at, fn, arg, ret);
    if (!r->cut && from == r->element)
        return store_fail(BELFRY_CORRUPT, "%s: element %d is damaged", r->log, (int)from);
    if (!r->cut)
        return r->inner->ops->read(r->inner, log, from, at, fn, arg, ret);
    int err = r->inner->ops->read(r->inner, log, from, at, read_until_cut, &cut, ret);
    if (!err && ret)
        ret->elements = r->element;
    return err;
}

#define FORWARD(name, params, args)                 \
    static int rotten_##name params                 \
    {                                               \
        return rotten_of(s)->inner->ops->name args; \
    }
/* clang-format off */
FORWARD(append, (struct store *s, const struct store_append *a), (rotten_of(s)->inner, a))
FORWARD(sync, (struct store *s, struct str log), (rotten_of(s)->inner, log))
FORWARD(list, (struct store *s, struct str prefix, store_name_fn *fn, void *arg),
        (rotten_of(s)->inner, prefix, fn, arg))
FORWARD(remove, (struct store *s, struct str log), (rotten_of(s)->inner, log))
FORWARD(scan, (struct store *s, struct str prefix, store_cell_fn *fn, void *arg),
        (rotten_of(s)->inner, prefix, fn, arg))
FORWARD(cas, (struct store *s, const struct store_cas *c), (rotten_of(s)->inner, c))
/* clang-format on */

static int64_t rotten_now(struct store *s)
{
    return rotten_of(s)->now_ms;
}

static const struct store_ops rotten_ops = {
    .append = rotten_append,
    .sync = rotten_sync,
    .read = rotten_read,
    .list = rotten_list,
    .remove = rotten_remove,
    .scan = rotten_scan,
    .cas = rotten_cas,
    .now_ms = rotten_now,
};

/* ---- The partition ---- */

static void ward_open(struct ward *d)
{
    struct partition_report report;
    int err = partition_open(&d->store.base, &d->options, d->wall_ms, d->mono_ms, &d->p, &report);

    CHECK(err == 0, "open: %s: %s", error_name(err), store_detail());
    d->e = partition_engine(d->p);
}

static void ward_chore_ended(void *arg, const char *name, int err)
{
    struct ward *d = arg;

    CHECK(err == 0 || err == BELFRY_CORRUPT, "%s ends with %s", name, error_name(err));
    d->reports += err == BELFRY_CORRUPT;
}

/* Everything that goes on between memory and disk, until nothing does. */
static void ward_settle(struct ward *d)
{
    int err = drive_settle(d->p, TURNS_MAX, ward_chore_ended, d);

    CHECK(err != BELFRY_BUSY, "there is always something to do");
    CHECK(err == 0, "a commit fails");
}

static void ward_pass(struct ward *d, int64_t ms)
{
    d->wall_ms += ms;
    d->mono_ms += ms;
    d->store.now_ms = d->wall_ms;
    engine_advance(d->e, d->wall_ms, d->mono_ms);
    ward_settle(d);
}

static struct str payload_of(size_t i, char buf[64])
{
    int n = snprintf(buf, 64, "<payload %zu>", i);

    return (struct str){ buf, (size_t)n };
}

static void ward_schedule(struct ward *d)
{
    char payload[64], key[32];
    struct schedule_result r;
    size_t i = d->count++;
    struct job_spec spec = {
        .queue = rng_chance(&d->rng, 50) ? STR("a") : STR("b"),
        .payload = payload_of(i, payload),
        .due_ms = d->wall_ms + HOUR + rng_between(&d->rng, 0, HOUR),
        .priority = (int)rng_between(&d->rng, 1, 5),
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = -1,
    };

    snprintf(key, sizeof(key), "key-%zu", i);
    if (rng_chance(&d->rng, 30))
        spec.key = str_of(key);
    int err = engine_schedule(d->e, &spec, &r);
    for (int tries = 0; err == BELFRY_COLD; tries++) { /* a filter is not sure about its key */
        struct fetch *f = partition_fetch(d->p);
        CHECK(f && tries < TRIES_MAX, "SCHEDULE is COLD again and again");
        CHECK(partition_fetched(d->p, f, fetch_run(f)) == 0, "a fetch fails: %s", store_detail());
        err = engine_schedule(d->e, &spec, &r);
        partition_fetch_end(d->p, f);
    }
    CHECK(err == 0, "SCHEDULE: %s", error_name(err));
    d->ids[i] = r.id;
    if (partition_pressed(d->p) || rng_chance(&d->rng, 5))
        ward_settle(d);
}

/* ---- The damage ---- */

struct logs {
    struct rng *rng;
    uint64_t n;
    char chosen[64];
};

static int choose_log(void *arg, struct str name)
{
    struct logs *l = arg;

    if (rng_below(l->rng, ++l->n) == 0)
        snprintf(l->chosen, sizeof(l->chosen), "%.*s", STR_ARG(name));
    return 0;
}

/* The jobs in an element, or in all of a log. */
struct search {
    struct ward *d;
    uint64_t element; /* UINT64_MAX: all */
    size_t found;
    bool mark;
};

static int search_element(void *arg, uint64_t seq, struct str bytes)
{
    struct search *s = arg;

    for (size_t i = 0; i < s->d->count && (s->element == UINT64_MAX || seq == s->element); i++) {
        char buf[64];
        struct str text = payload_of(i, buf);
        if (!memmem(bytes.ptr, bytes.len, text.ptr, text.len))
            continue;
        s->found++;
        s->d->hurt[i] = s->d->hurt[i] || s->mark;
    }
    return 0;
}

static size_t search(struct ward *d, const char *log, uint64_t element, bool mark,
                     uint64_t *ret_elements)
{
    struct search s = { d, element, 0, mark };
    struct store_tail tail;
    struct store *inner = d->store.inner;

    CHECK(inner->ops->read(inner, str_of(log), 0, 0, search_element, &s, &tail) == 0, "no log");
    if (ret_elements)
        *ret_elements = tail.elements;
    return s.found;
}

/* What indexes a run or ends it costs all of it. */
static void do_damage(struct ward *d)
{
    struct logs l = { .rng = &d->rng };
    struct store *inner = d->store.inner;
    uint64_t elements, element;

    CHECK(inner->ops->list(inner, STR("p0000/run/"), choose_log, &l) == 0 && l.n > 0, "no runs");
    size_t jobs = search(d, l.chosen, UINT64_MAX, false, &elements);
    element = rng_below(&d->rng, elements);
    d->store.cut = rng_chance(&d->rng, 30);
    if (d->store.cut || search(d, l.chosen, element, true, NULL) == 0)
        search(d, l.chosen, UINT64_MAX, true, NULL);
    d->store.element = element;
    memcpy(d->store.log, l.chosen, sizeof(d->store.log));
    trace_note("%s %s, element %" PRIu64 " of %" PRIu64 ", with %zu jobs in all",
               d->store.cut ? "cut" : "damaged", l.chosen, element, elements, jobs);
}

/* ---- What is left ---- */

/* A job that cannot be looked at is said to be damaged, not to be absent. That may be said of
 * others too: the damage may have hidden something newer of them. */
static void look_at(struct ward *d, size_t i)
{
    struct job_view v;
    int err = engine_get(d->e, d->ids[i], &v);

    for (int tries = 0; err == BELFRY_COLD; tries++) {
        struct fetch *f = partition_fetch(d->p);
        CHECK(f && tries < TRIES_MAX, "GET is COLD again and again");
        err = partition_fetched(d->p, f, fetch_run(f));
        if (!err)
            err = engine_get(d->e, d->ids[i], &v);
        partition_fetch_end(d->p, f);
    }
    engine_answer(d->e, NULL);
    CHECK(err == 0 || err == BELFRY_CORRUPT, "GET of job %zu answers %s", i, error_name(err));
}

static size_t number_of(const struct ward *d, struct job_id id)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->ids[i].seq == id.seq)
            return i;
    trace_fail("job %" PRIu64 " was never scheduled", id.seq);
}

static void run_all(struct ward *d)
{
    struct str queues[] = { STR("a"), STR("b") };
    struct lease_request r = { .queues = queues, .queue_count = 2, .count = LEASES, .for_ms = -1 };
    struct job *jobs[LEASES];
    int n;

    while ((n = engine_lease(d->e, &r, jobs)) > 0) {
        struct job_view v[LEASES];

        for (int k = 0; k < n; k++)
            engine_view(d->e, jobs[k], &v[k]);
        for (int k = 0; k < n; k++) {
            size_t i = number_of(d, v[k].id);
            char text[64];
            CHECK(!d->ran[i], "job %zu runs twice", i);
            CHECK(str_eq(v[k].payload, payload_of(i, text)), "job %zu has another payload", i);
            d->ran[i] = true;
            CHECK(engine_complete(d->e, v[k].id, v[k].token, STR(""), -1) == 0, "COMPLETE fails");
        }
        ward_settle(d);
    }
}

static size_t count_lost(const struct ward *d)
{
    size_t lost = 0;

    for (size_t i = 0; i < d->count; i++) {
        CHECK(d->ran[i] || d->hurt[i], "job %zu is lost, and was not in the damage", i);
        lost += !d->ran[i];
    }
    return lost;
}

static void restart(struct ward *d)
{
    partition_close(d->p);
    ward_open(d);
    ward_settle(d);
}

static size_t damage(uint64_t seed, unsigned mutant)
{
    static struct ward d; /* large */

    d = (struct ward){ .rng = { seed * UINT64_C(0x2545f4914f6cdd1d) },
                       .wall_ms = YEAR_2026,
                       .mono_ms = 1000,
                       .store = { .base.ops = &rotten_ops, .now_ms = YEAR_2026 } };
    d.options = (struct partition_options){ .segment_bytes = 8 << 10,
                                            .durable = true,
                                            .seed = seed,
                                            .secret = { seed, 1 },
                                            .memory_bytes = UINT64_C(16000) << rng_below(&d.rng, 2),
                                            .block_bytes = (size_t)256 << rng_below(&d.rng, 3),
                                            .piece_bytes = 5000,
                                            .merge_runs = (unsigned)rng_between(&d.rng, 2, 8),
                                            .lookahead_ms = rng_between(&d.rng, 50, 90000),
                                            .mutant = mutant };
    CHECK(store_open("memory:", NULL, &d.store.inner) == 0, "no store");
    ward_open(&d);
    while (d.count < JOBS_MAX)
        ward_schedule(&d);
    ward_settle(&d);
    do_damage(&d);
    if (rng_chance(&d.rng, 50))
        restart(&d);
    for (size_t i = 0; i < d.count; i++)
        look_at(&d, i);
    for (int i = 0; i < 20; i++) {
        ward_pass(&d, 2 * HOUR / 10);
        run_all(&d);
        if (rng_chance(&d.rng, 10))
            restart(&d);
    }
    size_t lost = count_lost(&d);
    CHECK(lost == 0 || d.reports > 0, "%zu jobs are lost, and no damage is reported", lost);
    engine_verify(d.e);
    partition_close(d.p);
    store_close(d.store.inner);
    return lost;
}

void run_damage(uint64_t first, uint64_t last, unsigned mutant)
{
    uint64_t lost = 0, hurt = 0;

    for (uint64_t seed = first; seed <= last; seed++) {
        char again[64];

        snprintf(again, sizeof(again), "sim --damage --seed %" PRIu64, seed);
        trace_begin(again, false);
        size_t n = damage(seed, mutant);
        lost += n;
        hurt += n > 0;
    }
    printf("damage: %" PRIu64 " runs of %d jobs; %" PRIu64 " lost jobs, %" PRIu64
           " in all, and said so\n",
           last - first + 1, JOBS_MAX, hurt, lost);
}
