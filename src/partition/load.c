/* SPDX-License-Identifier: MIT */
/* Loading: reading the next jobs by due time, or the next of a class or lane, from runs. */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* The key of a point in the wanted jobs: by due time, of a class's backlog, or of a lane. */
static void want_key(struct cold_key *ret, const struct load_want *w, struct cold_point p)
{
    if (!w->backlog)
        cold_key_due(ret, p);
    else if (w->class == CLASS_ASIDE)
        cold_key_lane(ret, w->queue, w->lane, p);
    else
        cold_key_queue(ret, FAMILY_BACKLOG, w->queue, w->class, p);
}

static bool fits_want(void *arg, const struct cold_run *r)
{
    const struct cold_point start = { 0, 0 }, end = { INT64_MAX, UINT64_MAX };
    const struct load_want *w = arg;
    struct cold_key after, last;

    want_key(&after, w, w->backlog ? start : w->after);
    want_key(&last, w, w->backlog ? end : (struct cold_point){ w->upto_ms, UINT64_MAX });
    return r->d.family == after.bytes[0] && str_compare(r->d.last, cold_key_str(&after)) > 0 &&
           str_compare(r->d.first, cold_key_str(&last)) <= 0;
}

void load_clear(struct load *l)
{
    cold_unpin(&l->pinned);
    free(l->floors);
    items_fini(&l->items);
    *l = (struct load){ 0 };
}

/* The youngest number of all backlog runs. Runs without jobs of the class count as read. */
static uint32_t youngest_backlog(struct partition *p)
{
    uint32_t number = 0;
    const struct cold_run *r;

    each_run (r, engine_runs(p->engine))
        if (r->d.family == FAMILY_BACKLOG && r->d.number > number)
            number = r->d.number;
    return number;
}

/* A loaded job stands in the journal once more until it has ended. On a full disk loads must leave
 * half of the reserve to the records that end jobs. */
static bool space_is_scarce(const struct partition *p)
{
    return atomic_load(&p->store->low) && store_spares(p->store) < (p->o.reserve + 1) / 2;
}

static bool load_begin(struct partition *p, struct chore *c)
{
    struct load *l = &c->load;
    /* A slice becomes one record, which must not be larger than a commit or a segment. */
    uint64_t most = p->commit_bytes < p->o.segment_bytes ? p->commit_bytes : p->o.segment_bytes;

    if (space_is_scarce(p) || partition_gathered_bytes(p) > RECLAIM_PAUSE * p->commit_bytes ||
        !engine_load_next(p->engine, !feed_waits(p), &l->want))
        return false;
    if (l->want.bytes > most && !MUTANT(p->o.mutant, LOAD_UNBOUNDED))
        l->want.bytes = (size_t)most;
    if (l->want.backlog) {
        memcpy(l->queue, l->want.queue.ptr, l->want.queue.len);
        l->want.queue.ptr = l->queue;
    }
    l->number = youngest_backlog(p);
    l->moves = engine_moves(p->engine);
    if (cold_pin(p, fits_want, &l->want, &l->pinned) < 0)
        return false;
    l->floors = calloc(l->pinned.n + 1, sizeof(*l->floors));
    if (!l->floors) {
        load_clear(l);
        return false;
    }
    for (size_t i = 0; i < l->pinned.n; i++)
        l->floors[i] =
            l->want.backlog && l->want.class != CLASS_ASIDE
                ? engine_floor(p->engine, l->want.queue, l->want.class, l->pinned.runs[i]->d.number)
                : l->want.after;
    return true;
}

/* The beginning of all keys of a class or lane. */
static void want_prefix(struct cold_key *ret, const struct load_want *w)
{
    want_key(ret, w, (struct cold_point){ 0, 0 });
    ret->len -= 16;
}

/* The key behind which reading begins in a run. */
static void after_key(const struct load *l, size_t i, struct cold_key *ret)
{
    if (l->want.backlog && l->floors[i].at_ms < 0)
        want_prefix(ret, &l->want);
    else
        want_key(ret, &l->want, l->floors[i]);
}

/* Whether the job with this key is wanted. */
static bool in_range(const struct load *l, struct str key, const struct cold_key *prefix)
{
    struct cold_point p;

    if (key.len > COLD_KEY_MAX || !cold_key_point(key, &p))
        return false;
    if (!l->want.backlog)
        return p.at_ms <= l->want.upto_ms;
    return key.len == prefix->len + 16 && memcmp(key.ptr, prefix->bytes, prefix->len) == 0;
}

/* A slice has as many bytes and jobs as are wanted, and one job at least. */
static bool is_full(const struct load *l, const struct run_entry *e)
{
    return l->items.n > 0 &&
           (l->items.bodies.len + e->value.len > l->want.bytes || l->items.n == l->want.count);
}

static int read_items(struct load *l, struct run_merge *m)
{
    struct cold_key prefix;
    int err = 0;

    want_prefix(&prefix, &l->want);
    l->end = true;
    while (m->now && !err) {
        const struct run_entry *e = &m->now->entry;
        size_t i = (size_t)(m->now - m->cursors);

        if (!in_range(l, e->key, &prefix))
            return 0;
        if (is_full(l, e)) {
            l->end = false;
            return 0;
        }
        cold_key_point(e->key, &l->upto);
        if (!e->grave)
            err = items_add(&l->items, e, l->pinned.runs[i]->d.number);
        if (!err)
            err = run_merge_next(m);
    }
    return err;
}

static int read_merged(struct chore *c, struct run **runs, struct cold_key *keys,
                       struct str *afters)
{
    struct load *l = &c->load;
    struct run_merge m = { 0 };
    int err = cold_open_all(c->p, &l->pinned, runs, &l->broken);

    if (err)
        return err;
    for (size_t i = 0; i < l->pinned.n; i++) {
        after_key(l, i, &keys[i]);
        afters[i] = cold_key_str(&keys[i]);
    }
    err = run_merge_init_each(&m, runs, l->pinned.n, afters, true);
    if (!err)
        err = read_items(l, &m);
    for (size_t i = 0; m.cursors && i < l->pinned.n; i++) {
        if (m.cursors[i].damaged || m.cursors[i].failed) {
            l->broken = l->pinned.runs[i];
            snprintf(c->detail, sizeof(c->detail), "%s",
                     m.cursors[i].damaged ? m.cursors[i].where : store_detail());
        }
    }
    run_merge_fini(&m);
    items_settle(&l->items);
    return err;
}

static int load_run(struct chore *c)
{
    struct load *l = &c->load;
    size_t n = l->pinned.n + 1;
    struct run **runs = calloc(n, sizeof(struct run *));
    struct cold_key *keys = calloc(n, sizeof(*keys));
    struct str *afters = calloc(n, sizeof(*afters));
    int err = runs && keys && afters ? read_merged(c, runs, keys, afters) : BELFRY_NOMEM;

    free(runs);
    free(keys);
    free(afters);
    return err;
}

static int load_end(struct partition *p, struct chore *c, int result)
{
    struct load *l = &c->load;
    struct load_result r = {
        .backlog = l->want.backlog,
        .queue = l->want.queue,
        .class = l->want.class,
        .lane = l->want.lane,
        .moves = l->moves,
        .number = l->number,
        .upto = l->upto,
        .end = l->end,
        .items = l->items.at,
        .n = l->items.n,
    };
    struct cold_run *broken = l->broken;

    if (broken && MUTANT(p->o.mutant, DAMAGE_WIDE))
        r.n = 0;
    if (broken && !result && MUTANT(p->o.mutant, DAMAGE_SILENT))
        broken = NULL;
    if (!result) {
        if (l->end && !l->want.backlog)
            r.upto = (struct cold_point){ l->want.upto_ms, UINT64_MAX };
        result = engine_loaded(p->engine, &r);
        p->stats.loaded_jobs += result ? 0 : l->items.n;
    }
    if (broken && (result == 0 || result == BELFRY_CORRUPT || result == BELFRY_NOTFOUND)) {
        cold_mark_broken(p, broken, result != 0);
        result = store_fail(BELFRY_CORRUPT, "%s", c->detail[0] ? c->detail : "a run's index");
    }
    c->detail[0] = '\0';
    load_clear(l);
    return result == BELFRY_NOMEM ? 0 : result;
}

const struct chore_ops load_chore = {
    { "loading jobs from runs" },
    load_begin,
    load_run,
    load_end,
};
