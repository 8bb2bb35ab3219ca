/* SPDX-License-Identifier: MIT */
/* The runs of a partition: pinning, opening and writing them. */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "record/record.h"

#define SOON_MS INT64_C(3600000) /* The system's cache keeps no run with jobs beyond this. */

void cold_log_name(const struct partition *p, uint32_t file, char ret[NAME_BYTES])
{
    snprintf(ret, NAME_BYTES, "p%04x/run/%010u", p->o.number, file);
}

/* ---- Pins: on the engine's thread ---- */

int cold_pin(struct partition *p, bool (*fits)(void *arg, const struct cold_run *r), void *arg,
             struct pinned *ret)
{
    struct cold_run *r;

    *ret = (struct pinned){ .runs = malloc((list_length(engine_runs(p->engine)) + 1) *
                                           sizeof(struct cold_run *)) };
    if (!ret->runs)
        return BELFRY_NOMEM;
    each_run (r, engine_runs(p->engine)) {
        if (!r->unreadable && (!fits || fits(arg, r))) {
            r->pins++;
            ret->runs[ret->n++] = r;
        }
    }
    return 0;
}

void cold_unpin(struct pinned *pinned)
{
    for (size_t i = 0; i < pinned->n; i++)
        pinned->runs[i]->pins--;
    free(pinned->runs);
    *pinned = (struct pinned){ 0 };
}

void cold_note_gone(struct partition *p)
{
    struct cold_run *r;

    each_run (r, engine_gone_runs(p->engine))
        if (r->lsn == 0)
            r->lsn = engine_lsn(p->engine);
}

void cold_mark_broken(struct partition *p, struct cold_run *r, bool unreadable)
{
    struct buf desc = { 0 };
    struct run_desc d = r->d;

    r->unreadable = r->unreadable || unreadable;
    if (r->d.broken || r->gone)
        return;
    d.broken = true;
    run_desc_put(&desc, &d);
    if (!desc.failed)
        engine_merged(p->engine, (struct str){ 0 }, buf_view(&desc), (struct str){ 0 });
    buf_fini(&desc);
}

/* ---- Opening: on any thread ---- */

static int open_now(struct partition *p, const struct cold_run *r, struct opened **ret)
{
    char log[NAME_BYTES];
    struct opened *o = calloc(1, sizeof(*o));
    struct run_place place = { r->d.elements, r->d.root_at };

    cold_log_name(p, r->d.file, log);
    int err = o ? run_open(p->store, str_of(log), &place, &o->run) : BELFRY_NOMEM;
    if (err)
        free(o);
    else
        *ret = o;
    return err;
}

static void opened_free(struct opened *o)
{
    if (o) {
        run_close(o->run);
        buf_fini(&o->filter);
        free(o);
    }
}

int cold_open(struct partition *p, struct cold_run *r, struct run **ret)
{
    pthread_mutex_lock(&p->open_lock);
    struct opened *o = r->opened;
    pthread_mutex_unlock(&p->open_lock);
    if (!o) {
        int err = open_now(p, r, &o);

        if (err)
            return err;
        pthread_mutex_lock(&p->open_lock);
        struct opened *other = r->opened;
        if (!other)
            r->opened = o;
        pthread_mutex_unlock(&p->open_lock);
        if (other) { /* Another thread was quicker. */
            opened_free(o);
            o = other;
        }
    }
    *ret = o->run;
    return 0;
}

int cold_open_all(struct partition *p, const struct pinned *pinned, struct run **ret,
                  struct cold_run **ret_broken)
{
    int err = 0;

    for (size_t i = 0; i < pinned->n && !err; i++) {
        err = cold_open(p, pinned->runs[i], &ret[i]);
        if (err)
            *ret_broken = pinned->runs[i];
    }
    return err;
}

void cold_close(struct cold_run *r)
{
    opened_free(r->opened);
    r->opened = NULL;
}

void cold_load_filter(struct partition *p, struct cold_run *r)
{
    struct run *run;
    struct buf filter = { 0 };

    if (cold_open(p, r, &run) < 0)
        return;
    pthread_mutex_lock(&p->open_lock);
    struct opened *o = r->opened;
    bool known = o->has_filter || p->bytes.filters > p->o.memory_bytes / 8;
    pthread_mutex_unlock(&p->open_lock);
    if (known || run_filter_load(run, &filter) < 0)
        return;
    pthread_mutex_lock(&p->open_lock);
    if (!o->has_filter) {
        o->filter = filter;
        o->has_filter = true;
        p->bytes.filters += filter.len;
        filter = (struct buf){ 0 };
    }
    pthread_mutex_unlock(&p->open_lock);
    buf_fini(&filter);
}

bool cold_may_have(void *partition, uint64_t hash)
{
    struct partition *p = partition;
    const struct cold_run *r;
    bool may = false;

    pthread_mutex_lock(&p->open_lock);
    each_run (r, engine_runs(p->engine)) {
        const struct opened *o = r->opened;

        if (r->d.family == FAMILY_LOCATOR &&
            (!o || !o->has_filter || run_filter_has(buf_view(&o->filter), hash))) {
            may = true;
            break;
        }
    }
    pthread_mutex_unlock(&p->open_lock);
    return may;
}

/* ---- Strays ---- */

struct strays {
    struct partition *p;
    size_t known;       /* logs of runs that count */
    uint32_t last_file; /* the greatest number of a log */
    struct buf names;   /* of strays, each with a zero behind it */
};

static int note_stray(void *arg, struct str name)
{
    struct strays *s = arg;
    const struct cold_run *r;
    char known[NAME_BYTES] = { 0 };

    memcpy(known, name.ptr, name.len < NAME_BYTES ? name.len : NAME_BYTES - 1);
    uint32_t file = (uint32_t)strtoul(strrchr(known, '/') + 1, NULL, 10);
    if (file > s->last_file)
        s->last_file = file;
    each_run (r, engine_runs(s->p->engine)) {
        cold_log_name(s->p, r->d.file, known);
        if (str_eq(name, str_of(known))) {
            s->known++;
            return 0;
        }
    }
    buf_str(&s->names, name);
    buf_append(&s->names, "", 1);
    return s->names.failed ? BELFRY_NOMEM : 0;
}

static int remove_strays(const struct strays *s)
{
    struct store *store = s->p->store;
    int err = 0;

    for (size_t at = 0; at < s->names.len && !err; at += strlen(s->names.ptr + at) + 1)
        err = store->ops->remove(store, str_of(s->names.ptr + at));
    return err;
}

/* Strays are kept: new runs get numbers behind them. */
static void pass_strays(const struct strays *s)
{
    uint32_t next = engine_reserve_files(s->p->engine, 0);

    if (s->last_file >= next)
        engine_reserve_files(s->p->engine, s->last_file + 1 - next);
}

int cold_remove_strays(struct partition *p)
{
    struct strays s = { .p = p };
    char prefix[NAME_BYTES];

    snprintf(prefix, sizeof(prefix), "p%04x/run/", p->o.number);
    int err = p->store->ops->list(p->store, str_of(prefix), note_stray, &s);
    if (!err && s.known == list_length(engine_runs(p->engine)))
        err = remove_strays(&s);
    else if (!err)
        pass_strays(&s);
    buf_fini(&s.names);
    return err;
}

/* ---- Items ---- */

int items_add(struct items *x, const struct run_entry *e, uint32_t number)
{
    struct cold_item *grown = array_room(x->at, x->n, &x->cap, sizeof(*grown));

    if (!grown)
        return BELFRY_NOMEM;
    x->at = grown;
    struct cold_item *item = &grown[x->n++];
    *item = (struct cold_item){
        .number = number,
        .key_len = e->key.len,
        .body = { (const char *)(uintptr_t)x->bodies.len, e->value.len },
    };
    memcpy(item->key, e->key.ptr, e->key.len);
    buf_str(&x->bodies, e->value);
    return x->bodies.failed ? BELFRY_NOMEM : 0;
}

void items_settle(struct items *x)
{
    for (size_t i = 0; i < x->n; i++)
        x->at[i].body.ptr = x->bodies.ptr + (uintptr_t)x->at[i].body.ptr;
}

void items_fini(struct items *x)
{
    free(x->at);
    buf_fini(&x->bodies);
}

/* ---- Writing ---- */

void cold_discard(struct partition *p, uint32_t file, uint32_t n, int err)
{
    char log[NAME_BYTES];

    for (uint32_t i = 0; i < n && err != BELFRY_FENCED; i++) {
        cold_log_name(p, file + i, log);
        p->store->ops->remove(p->store, str_of(log));
    }
}

int64_t entry_gone_ms(const struct run_entry *e)
{
    struct job_image image;
    struct str place;
    int64_t until;

    if (e->key.ptr[0] == FAMILY_LOCATOR) {
        if (!cold_place_get(e->value, &place, &until) || family_is_backlog(place.ptr[0]))
            return INT64_MAX;
        return until;
    }
    if (!family_is_history(e->key.ptr[0]) || !record_get_job(e->value, &image) || !image.has_trail)
        return INT64_MAX;
    return trail_image_gone_ms(&image.trail);
}

static void copy_key(struct cold_key *to, struct str key)
{
    to->len = key.len;
    memcpy(to->bytes, key.ptr, key.len);
}

/* Keeps points that are equally many entries apart. If there is no room, every second one goes. */
static void out_point(struct out_run *o, int64_t at_ms)
{
    struct run_desc *d = &o->d;

    if (d->entries != o->next)
        return;
    if (d->spread_count == SPREAD_POINTS - 1) {
        unsigned n = 0;

        for (unsigned i = 0; i < d->spread_count; i += 2)
            d->spread[n++] = d->spread[i];
        d->spread_count = n;
        o->stride *= 2;
        o->next = n * o->stride;
        if (d->entries != o->next)
            return;
    }
    d->spread[d->spread_count++] = at_ms;
    o->next += o->stride;
}

static void out_describe(struct out_run *o, const struct run_entry *e, int64_t gone_ms)
{
    struct cold_point at;

    if (o->d.entries == 0)
        copy_key(&o->first, e->key);
    copy_key(&o->last, e->key);
    if (gone_ms > o->d.gone_ms)
        o->d.gone_ms = gone_ms;
    if (o->d.family == FAMILY_DUE && cold_key_point(e->key, &at))
        out_point(o, at.at_ms);
    o->d.entries++;
}

static int out_begin(struct out_run *o, char family, bool split, uint64_t filter_items)
{
    struct run_options options = {
        .store = o->p->store,
        .fence = str_of(o->p->fence),
        .epoch = o->p->epoch,
        .block_bytes = o->p->o.block_bytes,
        .filter_items = filter_items,
    };

    cold_log_name(o->p, o->file, o->log);
    options.log = str_of(o->log);
    o->d = (struct run_desc){
        .file = o->file++,
        .number = o->number,
        .oldest = o->oldest,
        .family = family,
        .split = split,
    };
    o->stride = 1;
    o->next = 0;
    ++*o->written;
    return run_writer_new(&options, &o->writer);
}

int out_add(struct out_run *o, const struct run_entry *e, int64_t gone_ms, bool split,
            uint64_t filter_items)
{
    int err = o->writer ? 0 : out_begin(o, e->key.ptr[0], split, filter_items);

    if (err)
        return err;
    out_describe(o, e, gone_ms);
    if (filter_items)
        run_writer_filter(o->writer, cold_key_hash(e->key));
    return run_writer_add(o->writer, e);
}

int out_end(struct out_run *o)
{
    struct run_info info;
    struct run_desc *d = &o->d;
    struct cold_point last;

    if (!o->writer)
        return 0;
    int err = run_writer_end(o->writer, &info);
    run_writer_free(o->writer);
    o->writer = NULL;
    if (err)
        return err;
    d->bytes = info.bytes;
    d->graves = info.graves;
    d->elements = info.place.elements;
    d->root_at = info.place.root_at;
    d->first = cold_key_str(&o->first);
    d->last = cold_key_str(&o->last);
    if (d->family == FAMILY_DUE && cold_key_point(d->last, &last)) {
        d->spread[d->spread_count++] = last.at_ms;
        if (last.at_ms > o->p->store->ops->now_ms(o->p->store) + SOON_MS)
            store_cool(o->p->store, str_of(o->log));
    }
    run_desc_put(o->descs, d);
    return o->descs->failed ? BELFRY_NOMEM : 0;
}
