/* SPDX-License-Identifier: MIT */
/*
 * Fetches: jobs on disk that a request needs, by id, by key, or a page. The id of a job that never
 * moved tells its place; the locator tells the place of any other job. The engine judges the
 * entries that were found, because jobs may have moved meanwhile.
 */
#include "engine/census.h"
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_DEAD  10000             /* entries that do not count, which a page may pass over */
#define PAGE_BYTES ((size_t)2 << 20) /* a page ends behind the entry that reaches this size */

/* Pins the present runs. This comes before each try. */
static int fetch_prepare(struct fetch *f)
{
    cold_unpin(&f->pinned);
    f->answer.moves = engine_moves(f->p->engine);
    f->answer.more = false;
    f->items.n = f->items.bodies.len = 0;
    return cold_pin(f->p, NULL, NULL, &f->pinned);
}

struct fetch *partition_fetch(struct partition *p)
{
    struct fetch *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->p = p;
    f->want = *engine_want(p->engine);
    f->answer.want = &f->want;
    f->answer.census = engine_census(p->engine);
    list_append(&p->fetches, &f->link);
    if (fetch_prepare(f) < 0) {
        partition_fetch_end(p, f);
        return NULL;
    }
    p->stats.fetches++;
    return f;
}

static bool may_hold(const struct cold_run *r, struct str key)
{
    return r->d.family == key.ptr[0] && str_compare(r->d.first, key) <= 0 &&
           str_compare(r->d.last, key) >= 0;
}

/* Finds the entry of the highest version that any run has for a key. NOTFOUND, also if it is a
 * grave. CORRUPT only if a run that cannot be read could have a newer entry. */
static int newest(struct fetch *f, struct str key, struct buf *ret_value, uint32_t *ret_number)
{
    struct buf hold = { 0 };
    uint32_t version = 0, damaged = 0;
    bool found = false, grave = false;
    char where[256] = "";
    int err = 0;

    for (size_t i = 0; i < f->pinned.n && (!err || err == BELFRY_NOTFOUND); i++) {
        struct cold_run *r = f->pinned.runs[i];
        struct run_entry e;
        struct run *run;

        if (!may_hold(r, key))
            continue;
        hold.len = 0;
        err = cold_open(f->p, r, &run);
        if (err == BELFRY_NOTFOUND)
            err = BELFRY_CORRUPT;
        if (!err)
            err = run_find(run, key, &hold, &e);
        if (err == BELFRY_CORRUPT) {
            damaged = r->d.number > damaged ? r->d.number : damaged;
            snprintf(where, sizeof(where), "%s", store_detail());
            err = 0;
        } else if (!err && (!found || e.version > version)) {
            found = true;
            version = e.version;
            grave = e.grave;
            *ret_number = r->d.number;
            ret_value->len = 0;
            buf_str(ret_value, e.value);
        }
    }
    buf_fini(&hold);
    if (err && err != BELFRY_NOTFOUND)
        return err;
    if (damaged > version || (damaged && !found))
        return store_fail(BELFRY_CORRUPT, "%s", where);
    return found && !grave ? 0 : BELFRY_NOTFOUND;
}

/* Adds the job at a place, if there is one. */
static int add_place(struct fetch *f, struct str place)
{
    struct buf value = { 0 };
    uint32_t number;
    int err = newest(f, place, &value, &number);

    if (!err)
        err = items_add(&f->items, &(struct run_entry){ .key = place, .value = buf_view(&value) },
                        number);
    buf_fini(&value);
    return err == BELFRY_NOTFOUND ? 0 : err;
}

static int add_located(struct fetch *f, const struct cold_key *k)
{
    struct buf value = { 0 };
    struct str place;
    int64_t until;
    uint32_t number;
    int err = newest(f, cold_key_str(k), &value, &number);

    if (!err)
        err =
            cold_place_get(buf_view(&value), &place, &until) ? add_place(f, place) : BELFRY_CORRUPT;
    buf_fini(&value);
    return err == BELFRY_NOTFOUND ? 0 : err;
}

static int fetch_id(struct fetch *f)
{
    struct cold_key k;

    cold_key_due(&k, (struct cold_point){ f->want.id.due_ms, f->want.id.seq });
    int err = add_place(f, cold_key_str(&k));
    cold_key_of_seq(&k, f->want.id.seq);
    return err ? err : add_located(f, &k);
}

static int fetch_key(struct fetch *f)
{
    const struct cold_names *n = engine_naming(f->p->engine);
    struct str queue = { f->want.queue, f->want.queue_len };
    struct str order = { f->want.order, f->want.order_len };
    struct str key = { f->want.key, f->want.key_len };
    struct cold_key k;

    for (size_t i = 0; i < f->pinned.n; i++)
        if (f->pinned.runs[i]->d.family == FAMILY_LOCATOR)
            cold_load_filter(f->p, f->pinned.runs[i]);
    cold_key_of_key(&k, n, queue, order, key);
    int err = add_located(f, &k);
    for (size_t i = 0; i < f->pinned.n && !err; i++) {
        if (!run_has_old_names(n, &f->pinned.runs[i]->d) || MUTANT(f->p->o.mutant, OLD_NAMES_LOST))
            continue;
        cold_key_of_key(&k, &cold_names_old, queue, order, key);
        return add_located(f, &k);
    }
    return err;
}

/* Reads entries behind `after` that have the wanted prefix. */
static int read_page(struct fetch *f, struct run_merge *m, const uint32_t *numbers)
{
    const struct cold_want *w = &f->want;
    size_t looked = 0;
    int err = 0;

    while (m->now && !err) {
        const struct run_entry *e = &m->now->entry;

        if (e->key.len < w->prefix_len || e->key.len > COLD_KEY_MAX ||
            memcmp(e->key.ptr, w->after, w->prefix_len) != 0)
            return 0;
        if (f->items.n == w->limit || f->items.bodies.len >= PAGE_BYTES ||
            looked++ == w->limit + partition_slice(f->p, PAGE_DEAD)) {
            f->answer.more = true;
            return 0;
        }
        f->answer.last_len = e->key.len;
        memcpy(f->answer.last, e->key.ptr, e->key.len);
        if (!e->grave && e->version > w->since && entry_gone_ms(e) > w->now_ms)
            err = items_add(&f->items, e, numbers[m->now - m->cursors]);
        if (!err)
            err = run_merge_next(m);
    }
    return err;
}

static int fetch_page(struct fetch *f)
{
    struct run **runs = calloc(f->pinned.n + 1, sizeof(struct run *));
    uint32_t *numbers = calloc(f->pinned.n + 1, sizeof(*numbers));
    struct str after = { f->want.after, f->want.after_len };
    struct run_merge m = { 0 };
    size_t n = 0;
    int err = runs && numbers ? 0 : BELFRY_NOMEM;

    for (size_t i = 0; i < f->pinned.n && !err; i++) {
        struct cold_run *r = f->pinned.runs[i];

        if (r->d.family != after.ptr[0] || r->d.number <= f->want.since ||
            str_compare(r->d.last, after) <= 0)
            continue;
        numbers[n] = r->d.number;
        err = cold_open(f->p, r, &runs[n++]);
    }
    if (!err)
        err = run_merge_init(&m, runs, n, after, true);
    if (!err)
        err = read_page(f, &m, numbers);
    run_merge_fini(&m);
    free(runs);
    free(numbers);
    return err;
}

int fetch_run(struct fetch *f)
{
    int err;

    switch (f->want.kind) {
    case WANT_ID: err = fetch_id(f); break;
    case WANT_KEY: err = fetch_key(f); break;
    case WANT_CENSUS: err = census_run(f); break;
    default: err = fetch_page(f);
    }
    items_settle(&f->items);
    f->answer.items = f->items.at;
    f->answer.n = f->items.n;
    return err;
}

int partition_fetched(struct partition *p, struct fetch *f, int result)
{
    cold_unpin(&f->pinned);
    if (!result)
        result = engine_answer(p->engine, &f->answer);
    if (result == BELFRY_COLD && fetch_prepare(f) < 0)
        return BELFRY_NOMEM;
    return result;
}

void partition_fetch_end(struct partition *p, struct fetch *f)
{
    engine_answer(p->engine, NULL);
    cold_unpin(&f->pinned);
    list_remove(&f->link);
    items_fini(&f->items);
    census_free(f->answer.census);
    free(f);
}
