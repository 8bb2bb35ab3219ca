/* SPDX-License-Identifier: MIT */
/* Loading: the next jobs of the runs by due time, or of a class's backlog, read off the engine's
 * thread. */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* The key of a place in what is wanted of the backlog. */
static void backlog_key(struct cold_key *ret, const struct load_want *w, struct cold_point p)
{
    if (w->class == CLASS_ASIDE)
        cold_key_lane(ret, w->queue, w->lane, p);
    else
        cold_key_queue(ret, FAMILY_BACKLOG, w->queue, w->class, p);
}

static bool fits_want(void *arg, const struct cold_run *r)
{
    const struct load_want *w = arg;
    struct cold_key k;

    if (w->backlog) {
        struct cold_key last;

        if (r->d.family != (w->class == CLASS_ASIDE ? FAMILY_ASIDE : FAMILY_BACKLOG))
            return false;
        backlog_key(&k, w, (struct cold_point){ 0, 0 });
        backlog_key(&last, w, (struct cold_point){ INT64_MAX, UINT64_MAX });
        return str_compare(r->d.first, cold_key_str(&last)) <= 0 &&
               str_compare(r->d.last, cold_key_str(&k)) >= 0;
    }
    if (r->d.family != FAMILY_DUE)
        return false;
    cold_key_due(&k, w->after);
    if (str_compare(r->d.last, cold_key_str(&k)) <= 0)
        return false;
    cold_key_due(&k, (struct cold_point){ w->upto_ms, UINT64_MAX });
    return str_compare(r->d.first, cold_key_str(&k)) <= 0;
}

void load_clear(struct load *l)
{
    cold_unpin(&l->pinned);
    free(l->floors);
    free(l->items);
    buf_fini(&l->bodies);
    *l = (struct load){ 0 };
}

/* The youngest number of all backlog runs, as those that do not have the class count as read. */
static uint32_t youngest_backlog(struct partition *p)
{
    uint32_t number = 0;
    struct list *node;

    list_each (node, engine_runs(p->engine)) {
        const struct cold_run *r = container_of(node, struct cold_run, link);

        if (r->d.family == FAMILY_BACKLOG && r->d.number > number)
            number = r->d.number;
    }
    return number;
}

/* A slice becomes one record: not larger than a commit should be, nor than a segment. */
static size_t most_loaded(const struct partition *p)
{
    uint64_t most = p->commit_bytes < p->o.segment_bytes ? p->commit_bytes : p->o.segment_bytes;

    return (size_t)most;
}

/* What is loaded stands in the journal once more until it has ended. On a full disk it must leave
 * half of the reserve to the records that end jobs. */
static bool space_is_scarce(const struct partition *p)
{
    return atomic_load(&p->store->low) && store_spares(p->store) < (p->o.reserve + 1) / 2;
}

bool load_begin(struct partition *p, struct chore *c)
{
    struct load *l = &c->load;

    if (space_is_scarce(p))
        return false;
    if (partition_gathered_bytes(p) > RECLAIM_PAUSE * p->commit_bytes ||
        !engine_load_next(p->engine, !feed_waits(p), &l->want))
        return false;
    c->kind = CHORE_LOAD;
    if (l->want.bytes > most_loaded(p) && !MUTANT(p->o.mutant, LOAD_UNBOUNDED))
        l->want.bytes = most_loaded(p);
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

/* Behind which key to begin in each run. */
static void after_key(const struct load *l, size_t i, struct cold_key *ret)
{
    if (!l->want.backlog)
        cold_key_due(ret, l->floors[i]);
    else if (l->floors[i].at_ms >= 0)
        backlog_key(ret, &l->want, l->floors[i]);
    else {
        backlog_key(ret, &l->want, (struct cold_point){ 0, 0 });
        ret->len -= 16;
    }
}

static int item_add(struct load *l, const struct run_entry *e, uint32_t number)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        struct cold_item *grown = realloc(l->items, cap * sizeof(*grown));

        if (!grown)
            return BELFRY_NOMEM;
        l->items = grown;
        l->cap = cap;
    }
    l->items[l->n] = (struct cold_item){ .number = number, .key_len = e->key.len };
    memcpy(l->items[l->n].key, e->key.ptr, e->key.len);
    /* An offset for now: the bytes still move. */
    l->items[l->n++].body = (struct str){ (const char *)(uintptr_t)l->bodies.len, e->value.len };
    buf_str(&l->bodies, e->value);
    return l->bodies.failed ? BELFRY_NOMEM : 0;
}

/* Whether a key is still one of those that are wanted. */
static bool in_range(const struct load *l, struct str key, const struct cold_key *prefix)
{
    struct cold_point p;

    if (key.len > COLD_KEY_MAX || !cold_key_point(key, &p))
        return false;
    if (!l->want.backlog)
        return p.at_ms <= l->want.upto_ms;
    return key.len == prefix->len + 16 && memcmp(key.ptr, prefix->bytes, prefix->len) == 0;
}

/* A slice has what was asked for, or one job if that is larger. */
static bool is_full(const struct load *l, const struct run_entry *e)
{
    if (l->n == 0)
        return false;
    return l->bodies.len + e->value.len > l->want.bytes || l->n == l->want.count;
}

static int read_items(struct load *l, struct run_merge *m)
{
    struct cold_key prefix;
    int err = 0;

    backlog_key(&prefix, &l->want, (struct cold_point){ 0, 0 });
    prefix.len -= 16;
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
            err = item_add(l, e, l->pinned.runs[i]->d.number);
        if (!err)
            err = run_merge_next(m);
    }
    return err;
}

static int open_all(struct chore *c, struct run **runs)
{
    struct load *l = &c->load;

    for (size_t i = 0; i < l->pinned.n; i++) {
        int err = cold_open(c->p, l->pinned.runs[i], &runs[i]);

        if (err) {
            l->broken = l->pinned.runs[i];
            return err;
        }
    }
    return 0;
}

static int read_merged(struct chore *c, struct run **runs, struct cold_key *keys,
                       struct str *afters)
{
    struct load *l = &c->load;
    struct run_merge m = { 0 };
    int err = open_all(c, runs);

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
    for (size_t i = 0; i < l->n; i++)
        l->items[i].body.ptr = l->bodies.ptr + (uintptr_t)l->items[i].body.ptr;
    return err;
}

int load_run(struct chore *c)
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

int load_end(struct partition *p, struct chore *c, int result)
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
        .items = l->items,
        .n = l->n,
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
        p->stats.loaded_jobs += result ? 0 : l->n;
    }
    if (broken && (result == 0 || result == BELFRY_CORRUPT || result == BELFRY_NOTFOUND)) {
        cold_mark_broken(p, broken, result != 0);
        result = store_fail(BELFRY_CORRUPT, "%s", c->detail[0] ? c->detail : "a run's index");
    }
    c->detail[0] = '\0';
    load_clear(l);
    return result == BELFRY_NOMEM ? 0 : result;
}
