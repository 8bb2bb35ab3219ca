/* SPDX-License-Identifier: MIT */
/*
 * Fetches: jobs on disk that a request needs, by id and by key, or a page. The id of a job that
 * never moved tells its place; the locator tells the place of any other job. The engine judges the
 * entries that were found, because jobs may have moved meanwhile.
 */
#include "engine/census.h"
#include "engine/sorted.h"
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "record/opts.h"
#include "record/record.h"

#define PAGE_DEAD  10000             /* entries that do not count, which a page may pass over */
#define PAGE_BYTES ((size_t)2 << 20) /* a page ends behind the entry that reaches this size */
#define HEAD_BYTES 512               /* a job of this size comes as a whole in any case */
#define WHOLE_MIN  ((size_t)8 << 20) /* jobs of this size together may be had as a whole, */
#define WHOLE_PART 4                 /* or of this part of the memory, if that is more */
#define TRIES_MAX  20                /* a lookup of many jobs that is overtaken so often ends */

static size_t whole_max(const struct partition *p)
{
    size_t part = (size_t)p->o.memory_bytes / WHOLE_PART;

    return part > WHOLE_MIN ? part : WHOLE_MIN;
}

/* The copies have grown. */
static void count_copies(struct fetch *f)
{
    size_t bytes = f->items.cap * sizeof(*f->items.at) + f->items.bodies.cap;

    f->p->bytes.copies += bytes - f->copy_bytes;
    f->copy_bytes = bytes;
}

/* Pins the present runs. This comes before each try. */
static int fetch_prepare(struct fetch *f)
{
    cold_unpin(&f->pinned);
    f->answer.moves = engine_moves(f->p->engine);
    f->answer.more = false;
    f->items.n = f->items.bodies.len = f->whole_bytes = 0;
    return cold_pin(f->p, NULL, NULL, &f->pinned);
}

/* The engine's asks hold until its next request. */
static int copy_asks(struct fetch *f)
{
    size_t bytes = f->want.ask_count * sizeof(*f->want.asks);
    struct cold_ask *asks = bytes ? malloc(bytes) : NULL;

    if (asks)
        memcpy(asks, f->want.asks, bytes);
    f->want.asks = asks;
    return bytes && !asks ? BELFRY_NOMEM : 0;
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
    f->answer.sorted = engine_sort(p->engine);
    list_append(&p->fetches, &f->link);
    if (copy_asks(f) < 0 || fetch_prepare(f) < 0) {
        partition_fetch_end(p, f);
        return NULL;
    }
    f->bytes = sizeof(*f) + f->want.ask_count * sizeof(*f->want.asks);
    p->bytes.fetches += f->bytes;
    p->stats.fetches++;
    return f;
}

bool partition_copies_much(const struct partition *p)
{
    return p->bytes.copies > whole_max(p);
}

size_t fetch_looks(const struct fetch *f)
{
    return f->want.kind == WANT_JOBS ? f->want.ask_count : f->want.limit;
}

size_t fetch_grows(const struct fetch *f)
{
    size_t n = 0;

    if (!f->want.grows || f->want.kind != WANT_JOBS)
        return f->want.grows;
    for (size_t i = 0; i < f->want.ask_count; i++)
        n += f->want.asks[i].whole;
    return n;
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

/* Whether a job of this size is to be cut: only its head is needed, or there are too many large
 * ones for the memory. The first one always comes. */
static bool is_cut(struct fetch *f, const struct cold_ask *ask, size_t bytes)
{
    size_t before = f->whole_bytes;

    if (!ask->whole)
        return bytes > partition_slice(f->p, HEAD_BYTES);
    f->whole_bytes += bytes;
    return before > 0 && f->whole_bytes > whole_max(f->p);
}

/* Leaves the head of a job: what tells whether and how it is there. */
static void cut_body(const struct cold_ask *ask, struct buf *value)
{
    struct buf opts = { 0 }, cut = { 0 };
    struct job_image image;
    struct job_opts o;

    if (!record_get_job(buf_view(value), &image))
        return;
    job_opts_read(image.opts, image.born_ms, &o);
    o.backoff = o.push = (struct str){ 0 };
    if (!ask->by_key)
        o.key = o.order = (struct str){ 0 };
    job_opts_put(&opts, &o, image.born_ms); /* without labels, parents and listeners */
    image.opts = buf_view(&opts);
    image.payload = (struct str){ 0 };
    image.trail.worker = image.trail.note = image.trail.result = (struct str){ 0 };
    image.trail.error = image.trail.history = image.trail.pending = (struct str){ 0 };
    image.trail.log = (struct str){ 0 };
    record_put_image(&cut, &image);
    value->len = 0;
    buf_str(value, buf_view(&cut));
    value->failed = value->failed || opts.failed || cut.failed;
    buf_fini(&opts);
    buf_fini(&cut);
}

/* Adds the job at a place, if there is one. */
static int add_place(struct fetch *f, const struct cold_ask *ask, struct str place)
{
    struct buf value = { 0 };
    uint32_t number;
    int err = newest(f, place, &value, &number);
    bool cut = !err && is_cut(f, ask, value.len);

    if (cut)
        cut_body(ask, &value);
    if (!err && value.failed)
        err = BELFRY_NOMEM;
    if (!err)
        err = items_add(&f->items, &(struct run_entry){ .key = place, .value = buf_view(&value) },
                        number);
    if (!err)
        f->items.at[f->items.n - 1].cut = cut;
    buf_fini(&value);
    count_copies(f);
    return err == BELFRY_NOTFOUND ? 0 : err;
}

static int add_located(struct fetch *f, const struct cold_ask *ask, struct str name)
{
    struct buf value = { 0 };
    struct str place;
    int64_t until;
    uint32_t number;
    int err = newest(f, name, &value, &number);

    if (!err)
        err = cold_place_get(buf_view(&value), &place, &until) ? add_place(f, ask, place)
                                                               : BELFRY_CORRUPT;
    buf_fini(&value);
    return err == BELFRY_NOTFOUND ? 0 : err;
}

static int fetch_id(struct fetch *f, const struct cold_ask *ask)
{
    struct cold_key k;

    cold_key_due(&k, (struct cold_point){ ask->id.due_ms, ask->id.seq });
    int err = add_place(f, ask, cold_key_str(&k));
    cold_key_of_seq(&k, ask->id.seq);
    return err ? err : add_located(f, ask, cold_key_str(&k));
}

static int fetch_key(struct fetch *f, const struct cold_ask *ask)
{
    int err = add_located(f, ask, (struct str){ ask->name, ASK_NAME_BYTES });

    if (err || !ask->has_old || MUTANT(f->p->o.mutant, OLD_NAMES_LOST))
        return err;
    return add_located(f, ask, (struct str){ ask->old_name, ASK_NAME_BYTES });
}

/* Sorts the asks, and leaves one of those for the same job. */
static void sort_asks(struct cold_want *w)
{
    size_t n = 0;

    qsort(w->asks, w->ask_count, sizeof(*w->asks), ask_compare);
    for (size_t i = 0; i < w->ask_count; i++) {
        if (n > 0 && ask_compare(&w->asks[n - 1], &w->asks[i]) == 0)
            w->asks[n - 1].whole |= w->asks[i].whole;
        else
            w->asks[n++] = w->asks[i];
    }
    w->ask_count = n;
}

static int fetch_jobs(struct fetch *f)
{
    int err = 0;

    sort_asks(&f->want);
    for (size_t i = 0; i < f->pinned.n && f->want.asks[f->want.ask_count - 1].by_key; i++)
        if (f->pinned.runs[i]->d.family == FAMILY_LOCATOR)
            cold_load_filter(f->p, f->pinned.runs[i]);
    for (size_t i = 0; i < f->want.ask_count && !err; i++) {
        struct cold_ask *ask = &f->want.asks[i];

        ask->first = f->items.n;
        err = ask->by_key ? fetch_key(f, ask) : fetch_id(f, ask);
        ask->n = f->items.n - ask->first;
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
        count_copies(f);
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
    int err = f->want.kind == WANT_JOBS     ? fetch_jobs(f)
              : f->want.kind == WANT_CENSUS ? census_run(f)
              : f->want.kind == WANT_SORTED ? sorted_run(f)
                                            : fetch_page(f);

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
    if (result == BELFRY_COLD && f->want.ask_count > 1 && ++f->tries == TRIES_MAX)
        return store_fail(BELFRY_BUSY,
                          "jobs went to disk each time while many were looked up: try again");
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
    if (!MUTANT(p->o.mutant, COPIES_KEPT))
        p->bytes.copies -= f->copy_bytes;
    p->bytes.fetches -= f->bytes;
    free(f->want.asks);
    census_free(f->answer.census);
    sorted_free(f->answer.sorted);
    free(f);
}
