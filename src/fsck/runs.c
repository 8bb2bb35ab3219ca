/* SPDX-License-Identifier: MIT */
#include "fsck/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "run/run.h"
#include "store/datadir.h"

#define SHOW_EVERY 1024 /* entries */

const struct runs_kind runs_kinds[RUNS_KINDS] = {
    { FAMILY_DUE, "due", "scheduled jobs" },
    { FAMILY_BACKLOG, "backlog", "due jobs that wait for room in memory" },
    { FAMILY_ASIDE, "aside", "due jobs whose ordering key is stuck" },
    { FAMILY_PAST, "past", "done and cancelled jobs" },
    { FAMILY_KEPT, "kept", "dead jobs, and ended ones that hold their keys" },
    { FAMILY_LOCATOR, "locator", "places of jobs, by key and id" },
    { 0, "unknown", "unknown to this version of Belfry" },
};

const struct runs_kind *runs_kind(char family)
{
    const struct runs_kind *k = runs_kinds;

    while (k->family && k->family != family)
        k++;
    return k;
}

/* ---- One run ---- */

struct look {
    struct runs *r;
    const struct run_desc *d;
    struct journal_name log;
    struct run *run;
    struct run_cursor c;
    struct buf filter;
    bool filter_bad;
    uint64_t read;
    uint64_t senseless; /* entries that were read and mean nothing */
    struct cold_key last;
    struct runs_finding f;
};

static void show_progress(const struct runs *r, uint64_t done)
{
    if (r->o->progress)
        r->o->progress(r->o->arg, done, r->total);
}

/* Notes a fault of the run; only the first note is kept. */
__attribute__((format(printf, 2, 3))) static void look_note(struct look *l, const char *format, ...)
{
    va_list args;

    if (l->f.what[0])
        return;
    va_start(args, format);
    vsnprintf(l->f.what, sizeof(l->f.what), format, args);
    va_end(args);
}

/* Notes a failure's detail without the file's name, which the report has already. */
static void note_detail(struct look *l, const char *detail)
{
    const char *at = strstr(detail, ": offset ");

    if (!at)
        at = strstr(detail, ": element ");
    look_note(l, "%s", at ? at + 2 : detail);
}

/* Notes an error that is about this run and answers 0; answers any other error. */
static int note_error(struct look *l, int err)
{
    if (err != BELFRY_CORRUPT && err != BELFRY_NOTFOUND && err != BELFRY_INVALID)
        return err;
    if (err == BELFRY_NOTFOUND) {
        l->f.missing = true;
        look_note(l, "the file is missing");
    } else {
        note_detail(l, store_detail());
    }
    return 0;
}

/* Names the fault of an entry that can be read; NULL: none. */
static const char *judge_entry(const struct look *l, const struct run_entry *e)
{
    struct job_image image;
    struct cold_point point;
    struct str place;
    int64_t until;

    if (e->key.len > COLD_KEY_MAX || e->key.ptr[0] != l->d->family)
        return "it has a key of another family";
    if (!runs_kind(l->d->family)->family)
        return NULL;
    if (l->d->family != FAMILY_LOCATOR) {
        if (!cold_key_point(e->key, &point))
            return "its key names no job";
        if (e->grave)
            return NULL;
        return !record_get_job(e->value, &image) ? "it is no job"
               : image.seq != point.seq          ? "it is another job than its key says"
                                                 : NULL;
    }
    if (!run_filter_has(buf_view(&l->filter), cold_key_hash(e->key)))
        return "the filter does not have its key";
    return e->grave || cold_place_get(e->value, &place, &until) ? NULL : "it is no place";
}

static void take_entry(struct look *l)
{
    const struct run_entry *e = &l->c.entry;
    const char *wrong = judge_entry(l, e);

    if (wrong) {
        l->senseless++;
        look_note(l, "entry %llu: %s", (unsigned long long)l->read, wrong);
    }
    if (l->read == 0 && l->c.damaged == 0 && !str_eq(e->key, l->d->first))
        look_note(l, "it begins with another key than the journal says");
    l->last.len = e->key.len <= COLD_KEY_MAX ? e->key.len : 0;
    memcpy(l->last.bytes, e->key.ptr, l->last.len);
    l->read++;
    if (++l->r->done % SHOW_EVERY == 0)
        show_progress(l->r, l->r->done);
}

static void note_left_out(struct look *l)
{
    if (l->c.damaged > 0)
        note_detail(l, l->c.where);
}

static int read_entries(struct look *l)
{
    int err = run_seek(&l->c, l->run, (struct str){ 0 });

    while (!err && !l->c.at_end) {
        note_left_out(l);
        take_entry(l);
        err = run_next(&l->c);
    }
    note_left_out(l);
    if (err) {
        l->f.unusable = true;
        return note_error(l, err);
    }
    if (l->c.damaged == 0 && l->read != l->d->entries)
        look_note(l, "it has %llu entries where the journal says %llu", (unsigned long long)l->read,
                  (unsigned long long)l->d->entries);
    if (l->c.damaged == 0 && !str_eq(cold_key_str(&l->last), l->d->last))
        look_note(l, "it ends with another key than the journal says");
    return 0;
}

/* A damaged filter costs no entry: without it, a server reads more blocks than it need. */
static int read_filter(struct look *l)
{
    int err = run_filter_load(l->run, &l->filter);

    if (!err)
        return 0;
    l->filter_bad = true;
    buf_reset(&l->filter, 0);
    return note_error(l, err);
}

static int read_run(struct look *l, struct store *store)
{
    struct run_place place = { l->d->elements, l->d->root_at };
    const struct run_info *info;
    int err = run_open(store, str_of(l->log.text), &place, &l->run);

    if (err) {
        l->f.unusable = true;
        return note_error(l, err);
    }
    info = run_about(l->run);
    if (info->entries != l->d->entries || info->bytes != l->d->bytes)
        look_note(l, "its root tells of %llu entries in %llu bytes, the journal of %llu in %llu",
                  (unsigned long long)info->entries, (unsigned long long)info->bytes,
                  (unsigned long long)l->d->entries, (unsigned long long)l->d->bytes);
    err = read_filter(l);
    return err ? err : read_entries(l);
}

/* Finds out whether repair could mend the run. */
static int look_further(struct look *l, const struct journal *j)
{
    struct rebuild b = { .dir = j->dir, .log = str_of(l->log.text), .d = l->d };
    int err;

    if (l->f.missing || !(l->f.unusable || l->filter_bad))
        return 0;
    err = rebuild_look(&b);
    if (err)
        return note_error(l, err);
    l->f.whole = b.whole;
    l->f.mendable = b.possible;
    return 0;
}

static int add_finding(struct runs *r, const struct runs_finding *f)
{
    struct runs_finding *grown =
        array_room(r->findings, r->finding_count, &r->finding_cap, sizeof(*grown));

    if (!grown)
        return BELFRY_NOMEM;
    r->findings = grown;
    r->findings[r->finding_count++] = *f;
    return 0;
}

static int look_at(struct runs *r, struct store *store, const struct run_desc *d)
{
    struct look l = {
        .r = r, .d = d, .log = journal_log(&r->j, RUNS, d->file), .c = { .skips_damage = true }
    };
    struct runs_sum *sum = &r->sums[runs_kind(d->family) - runs_kinds];
    int err;

    sum->runs++;
    sum->entries += d->entries;
    sum->bytes += d->bytes;
    err = read_run(&l, store);
    if (!err && l.f.what[0])
        err = look_further(&l, &r->j);
    l.f.d = d;
    l.f.readable = l.read - l.senseless;
    l.f.blocks = l.c.damaged;
    run_cursor_fini(&l.c);
    buf_fini(&l.filter);
    run_close(l.run);
    if (err)
        return err;
    r->mended += d->broken && !l.f.what[0];
    return l.f.what[0] ? add_finding(r, &l.f) : 0;
}

/* ---- All of them ---- */

static bool journal_knows(const struct journal *j, struct str log)
{
    list_each_of (const struct cold_run, run, engine_runs(j->engine), link)
        if (str_eq(log, str_of(journal_log(j, RUNS, run->d.file).text)))
            return true;
    return false;
}

static int note_stray(void *arg, struct str name)
{
    struct runs *r = arg;
    char path[PATH_MAX];
    struct stat st;

    if (journal_knows(&r->j, name))
        return 0;
    datadir_log_path(r->j.dir, name, path);
    if (stat(path, &st) < 0) /* gone by now */
        return 0;
    r->stray_count++;
    r->stray_bytes += (uint64_t)st.st_size;
    buf_str(&r->strays, name);
    buf_append(&r->strays, "", 1);
    return r->strays.failed ? BELFRY_NOMEM : 0;
}

/* Drops findings about runs that a running server has merged and removed meanwhile: no loss. */
static int forgive_removed(struct runs *r, struct store *store)
{
    struct journal now;
    size_t kept = 0;
    int err = journal_load(&now, store, r->j.dir, r->j.partition);

    for (size_t i = 0; i < r->finding_count && !err; i++)
        if (journal_knows(&now, str_of(journal_log(&now, RUNS, r->findings[i].d->file).text)))
            r->findings[kept++] = r->findings[i];
    if (!err)
        r->finding_count = kept;
    journal_fini(&now);
    return err;
}

int runs_load(struct runs *r, struct store *store, uint16_t partition, const struct fsck_options *o)
{
    struct list *runs;
    int err;

    *r = (struct runs){ .o = o };
    err = journal_load(&r->j, store, o->dir, partition);
    if (err)
        return err;
    runs = engine_runs(r->j.engine);
    list_each_of (struct cold_run, run, runs, link)
        r->total += run->d.entries;
    show_progress(r, 0);
    list_each_of (struct cold_run, run, runs, link)
        if (!err)
            err = look_at(r, store, &run->d);
    show_progress(r, r->total);
    if (!err && r->finding_count && !r->j.clean)
        err = forgive_removed(r, store);
    return err ? err
               : store->ops->list(store, str_of(journal_prefix(&r->j, RUNS).text), note_stray, r);
}

bool runs_strays_matter(const struct runs *r)
{
    return r->stray_count > 0 && journal_faults(&r->j) > 0;
}

void runs_fini(struct runs *r)
{
    journal_fini(&r->j);
    free(r->findings);
    buf_fini(&r->strays);
}
