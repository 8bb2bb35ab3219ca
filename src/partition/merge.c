/* SPDX-License-Identifier: MIT */
/*
 * Merging the runs that merge_choose.c chose. Entries that no longer count are left out. Runs by
 * due time are cut into stretches of time. Entries of history whose time is over are left out and
 * counted.
 */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "record/record.h"

#define FAN_IN_MAX  64
#define FILES       256
#define NOTE_QUEUES 500 /* in a turn */

void merge_clear(struct merge *m)
{
    for (size_t i = 0; i < m->inputs.n; i++) {
        m->inputs.runs[i]->busy = false;
        m->inputs.runs[i]->going_ms = 0;
        m->inputs.runs[i]->cuts = (struct str){ 0 };
        buf_fini(&m->inputs.runs[i]->taken);
        buf_fini(&m->inputs.runs[i]->cut_taken);
    }
    cold_unpin(&m->inputs);
    cold_unpin(&m->others);
    buf_fini(&m->floors.bytes);
    free(m->graves);
    buf_fini(&m->grave_bytes);
    buf_fini(&m->runs);
    buf_fini(&m->drops);
    buf_fini(&m->tallies);
    buf_fini(&m->dropped);
    *m = (struct merge){ 0 };
}

static bool is_other(void *arg, const struct cold_run *r)
{
    const struct merge *m = arg;

    return r->d.family == m->family && !r->busy;
}

static bool overlaps(const struct cold_run *a, const struct cold_run *b)
{
    return str_compare(a->d.first, b->d.last) <= 0 && str_compare(b->d.first, a->d.last) <= 0;
}

/* A grave can go when no other run could have an entry at its place. A merge of history reads the
 * other runs, too, and knows this exactly. */
static bool graves_can_go(const struct merge *m)
{
    for (size_t i = 0; i < m->others.n; i++)
        for (size_t k = 0; k < m->inputs.n; k++)
            if (overlaps(m->others.runs[i], m->inputs.runs[k]))
                return false;
    return true;
}

/* Notes the present floors of a class in the backlog. */
static void note_floors(void *arg, const struct class_floors *c)
{
    struct buf *bytes = arg, floors = { 0 };
    struct cold_key prefix;

    cold_key_queue(&prefix, FAMILY_BACKLOG, c->queue, c->class, (struct cold_point){ 0, 0 });
    prefix.len -= 16;
    for (size_t i = 0; i < c->n; i++) {
        wire_put_varint(&floors, c->floors[i].number);
        wire_put_zigzag(&floors, c->floors[i].upto.at_ms);
        wire_put_varint(&floors, c->floors[i].upto.seq);
    }
    wire_put_bytes(bytes, cold_key_str(&prefix));
    wire_put_bytes(bytes, buf_view(&floors));
    bytes->failed = bytes->failed || floors.failed;
    buf_fini(&floors);
}

/* There may be tens of thousands of classes, so each turn of the loop takes notes of some queues.
 * A floor may rise after its note was taken: then the merge keeps entries that could go. A class
 * without a note has no job in the inputs, because new jobs go to other runs. */
bool merge_work(struct partition *p)
{
    struct merge *m = &p->chores[CHORE_MERGE].merge;
    struct floor_notes *f = &m->floors;
    struct str after = { f->last, f->last_len };

    if (!m->noting)
        return false;
    m->noting = engine_classes_on_disk(p->engine, &after, partition_slice(p, NOTE_QUEUES),
                                       note_floors, &f->bytes);
    if (f->bytes.failed) {
        merge_clear(m);
        return false;
    }
    if (after.ptr != f->last)
        memcpy(f->last, after.ptr, after.len);
    f->last_len = after.len;
    m->noted = !m->noting;
    return true;
}

static int note_grave(void *arg, struct str key)
{
    struct merge *m = arg;

    if (key.ptr[0] != m->family)
        return 0;
    wire_put_bytes(&m->grave_bytes, key);
    m->grave_count++;
    return m->grave_bytes.failed ? BELFRY_NOMEM : 0;
}

static int by_bytes(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static int sort_graves(struct merge *m)
{
    struct wire_reader r = wire_reader_of(buf_view(&m->grave_bytes));

    m->graves = malloc((m->grave_count + 1) * sizeof(struct str));
    if (!m->graves)
        return BELFRY_NOMEM;
    for (size_t i = 0; i < m->grave_count; i++)
        m->graves[i] = wire_bytes(&r);
    qsort(m->graves, m->grave_count, sizeof(struct str), by_bytes);
    return 0;
}

/* Copies the facts of the engine that the merging thread needs. */
static int take_notes(struct partition *p, struct merge *m)
{
    const struct cold_run *r;

    m->mutant = p->o.mutant;
    m->now_ms = engine_now(p->engine);
    m->frontier = engine_frontier(p->engine);
    m->oldest_backlog = UINT32_MAX;
    each_run (r, engine_runs(p->engine))
        if (family_is_backlog(r->d.family) && r->d.oldest < m->oldest_backlog)
            m->oldest_backlog = r->d.oldest;
    return engine_graves(p->engine, note_grave, m);
}

/* A grave in history must stay as long as another run may have an entry at its place. */
static int64_t last_gone(const struct pinned *others)
{
    int64_t gone_ms = 0;

    for (size_t i = 0; i < others->n; i++)
        if (others->runs[i]->d.gone_ms > gone_ms)
            gone_ms = others->runs[i]->d.gone_ms;
    return gone_ms;
}

static bool merge_begin(struct partition *p, struct chore *c)
{
    struct merge *m = &c->merge;
    int err;

    if (m->noting || m->noted) {
        bool ready = m->noted;

        m->noted = false;
        return ready;
    }
    if (!merge_choose(p, m, &err))
        return false;
    for (; m->inputs.n > 1 + partition_slice(p, FAN_IN_MAX - 1); m->inputs.n--)
        m->inputs.runs[m->inputs.n - 1]->pins--;
    for (size_t i = 0; i < m->inputs.n; i++) {
        struct cold_run *r = m->inputs.runs[i];

        r->busy = true;
        if (m->cut.run)
            r->cuts = (struct str){ m->cut.tenant, m->cut.tenant_len };
        r->going_ms = m->expires ? INT64_MAX : engine_now(p->engine) - 1;
        if (r->d.number > m->number)
            m->number = r->d.number;
        if (i == 0 || r->d.oldest < m->oldest)
            m->oldest = r->d.oldest;
        wire_put_varint(&m->drops, r->d.file);
    }
    if (!err)
        err = cold_pin(p, is_other, m, &m->others);
    if (!err)
        err = take_notes(p, m);
    if (err || m->drops.failed || m->inputs.n == 0) {
        merge_clear(m);
        return false;
    }
    m->drops_graves = graves_can_go(m);
    m->graves_gone_ms = last_gone(&m->others);
    m->file = engine_reserve_files(p->engine, m->expires ? 1 : FILES);
    m->noting = m->family == FAMILY_BACKLOG;
    return !m->noting;
}

/* ---- Off the engine's thread ---- */

/* Whether there is a note of the class. It is read last then. */
static bool note_find(struct floor_notes *f, struct str prefix)
{
    struct str asked = cold_key_str(&f->asked);

    if (str_eq(prefix, asked))
        return f->found;
    if (str_compare(prefix, asked) < 0) { /* never in sound runs */
        f->at = 0;
        f->prefix = (struct str){ 0 };
    }
    f->asked.len = prefix.len;
    memcpy(f->asked.bytes, prefix.ptr, prefix.len);
    while (f->at < f->bytes.len && str_compare(f->prefix, prefix) < 0) {
        struct wire_reader r = wire_reader_of(str_from(buf_view(&f->bytes), f->at));

        f->prefix = wire_bytes(&r);
        f->floors = wire_bytes(&r);
        f->at = (size_t)((const char *)r.p - f->bytes.ptr);
    }
    return f->found = str_eq(f->prefix, prefix);
}

/* If a class has nothing on disk, its jobs there do not count, but its graves do. A job that was
 * taken out alone raises no floor. Only its grave hides its entry in an older run, and the class
 * may have jobs on disk again later. */
static struct cold_point floor_for(struct merge *m, const struct run_entry *e, size_t input)
{
    const struct cold_point none = { -1, 0 }, all = { INT64_MAX, UINT64_MAX };

    if (e->key.len < 17 || e->key.len > COLD_KEY_MAX || m->floors.bytes.len == 0)
        return none;
    if (!note_find(&m->floors, (struct str){ e->key.ptr, e->key.len - 16 }))
        return e->grave && !MUTANT(m->mutant, GRAVE_LOST) ? none : all;
    struct wire_reader r = wire_reader_of(m->floors.floors);
    while (r.p < r.end && !r.bad) {
        uint64_t number = wire_varint(&r);
        int64_t at_ms = wire_zigzag(&r);
        struct cold_point upto = { at_ms, wire_varint(&r) };

        if (number >= m->inputs.runs[input]->d.number)
            return upto;
    }
    return none;
}

static bool place_is_dead(const struct merge *m, const struct run_entry *e)
{
    struct str place;
    int64_t until;

    if (!cold_place_get(e->value, &place, &until))
        return false;
    switch (place.ptr[0]) {
    case FAMILY_DUE: return until < m->frontier.at_ms;
    case FAMILY_BACKLOG:
    case FAMILY_ASIDE: return until < (int64_t)m->oldest_backlog;
    default: return until < m->now_ms;
    }
}

/* Whether an entry need not be kept. */
static bool is_dead(struct merge *m, const struct run_entry *e, size_t input)
{
    struct cold_point p;

    if (e->grave && m->drops_graves && !family_is_history(m->family))
        return true;
    switch (m->family) {
    case FAMILY_DUE: return cold_key_point(e->key, &p) && !point_after(p, m->frontier);
    case FAMILY_BACKLOG:
        return cold_key_point(e->key, &p) && !point_after(p, floor_for(m, e, input));
    case FAMILY_ASIDE: return false; /* A dead one has a grave. */
    case FAMILY_LOCATOR: return place_is_dead(m, e);
    default:
        return m->expires || e->grave || entry_gone_ms(e) < m->now_ms ||
               (m->cut.run && (cut_has(&m->cut, e) || MUTANT(m->mutant, CUT_WIDE)));
    }
}

/* Whether an entry is among the oldest of the audit log, which the merge leaves out. An entry in a
 * run that is not merged (not `ours`) cannot go, and keeps all younger entries from going. */
static bool audit_goes(struct merge *m, const struct run_entry *e, bool ours)
{
    if (!m->audits || e->grave || !cold_is_audit(e->key) ||
        bsearch(&e->key, m->graves, m->grave_count, sizeof(struct str), by_bytes))
        return false;
    if (MUTANT(m->mutant, AUDIT_MERGED) && e->key.ptr[e->key.len - 1] & 1)
        return false;
    m->audits = ours ? m->audits - 1 : 0;
    return ours;
}

/* Whether a run that is not merged has an older entry of this key. Then the entry must leave a
 * grave: else the older one would come to light, and be counted again when it goes. */
static bool hides_another(const struct merge *m, const struct run_merge *in)
{
    for (size_t i = m->inputs.n; i < in->n; i++)
        if (!in->cursors[i].at_end && str_eq(in->cursors[i].entry.key, in->now->entry.key))
            return true;
    return false;
}

/* The jobs of history that a merge counts. */
struct counts {
    struct tally gone;
    struct tally dropped; /* the jobs of these whose time was not over */
};

/* Counts a job of the history that goes, unless it had been taken out before. */
static int uncount(const struct merge *m, struct counts *c, const struct run_entry *e)
{
    struct job_image image;
    int err = 0;

    if (e->grave || bsearch(&e->key, m->graves, m->grave_count, sizeof(struct str), by_bytes))
        return 0;
    if (!record_get_job(e->value, &image))
        return BELFRY_CORRUPT;
    int64_t bytes = (int64_t)image_bytes(&image);
    enum cold_slot slot = cold_slot_of(m->family, image.state, cold_key_class(e->key));
    if (entry_gone_ms(e) >= m->now_ms)
        err = tally_count(&c->dropped, image.queue, slot, (struct counted){ 1, bytes }, e->key);
    if (MUTANT(m->mutant, BYTES_LOST))
        bytes = 0;
    return err ? err
               : tally_count(&c->gone, image.queue, slot, (struct counted){ -1, -bytes }, e->key);
}

/* Ends an entry of the history. */
static int bury(const struct merge *m, const struct run_merge *in, struct out_run *out,
                struct counts *counts)
{
    const struct run_entry *e = &in->now->entry;
    int err = uncount(m, counts, e);

    if (err || !hides_another(m, in))
        return err;
    return out_add(out, &(struct run_entry){ .key = e->key, .version = e->version, .grave = true },
                   m->graves_gone_ms, false, 0);
}

/* Whether a run of the time-ordered family should end before this entry. */
static bool cuts(const struct merge *m, const struct out_run *out, struct str key, int64_t *stretch)
{
    struct cold_point p;

    if (m->family != FAMILY_DUE || !cold_key_point(key, &p))
        return false;
    int64_t now = merge_stretch(p.at_ms, m->now_ms);
    if (now == *stretch)
        return false;
    if (out->writer &&
        (run_writer_bytes(out->writer) < out->p->o.piece_bytes || out->file - m->file >= FILES - 1))
        return false;
    *stretch = now;
    return out->writer != NULL;
}

static int merge_all(struct chore *c, struct run_merge *in, struct counts *counts)
{
    struct merge *m = &c->merge;
    struct out_run out = {
        .p = c->p,
        .file = m->file,
        .number = m->number,
        .oldest = m->oldest,
        .written = &m->written,
        .descs = &m->runs,
    };
    uint64_t filter_items = 0;
    int64_t stretch = -1;
    int err = 0;

    for (size_t i = 0; i < m->inputs.n && m->family == FAMILY_LOCATOR; i++)
        filter_items += m->inputs.runs[i]->d.entries;
    while (in->now && !err) {
        const struct run_entry *e = &in->now->entry;
        size_t input = (size_t)(in->now - in->cursors);
        bool ours = input < m->inputs.n; /* else it only hides older entries */

        if (audit_goes(m, e, ours) || (ours && is_dead(m, e, input))) {
            if (family_is_history(m->family))
                err = bury(m, in, &out, counts);
        } else if (ours) {
            if (cuts(m, &out, e->key, &stretch))
                err = out_end(&out);
            if (!err)
                err = out_add(&out, e, e->grave ? m->graves_gone_ms : entry_gone_ms(e),
                              m->family == FAMILY_DUE, filter_items);
        }
        if (!err)
            err = run_merge_next(in);
    }
    if (!err)
        err = out_end(&out);
    run_writer_free(out.writer);
    return err;
}

/* Opens the inputs. For history it also opens the other runs of the family, whose newer entries
 * have been counted already. */
static int open_inputs(struct chore *c, struct run **runs, size_t *ret_n)
{
    struct merge *m = &c->merge;
    bool history = family_is_history(m->family);
    int err = cold_open_all(c->p, &m->inputs, runs, &m->broken);

    if (!err && history)
        err = cold_open_all(c->p, &m->others, runs + m->inputs.n, &m->broken);
    *ret_n = m->inputs.n + (history ? m->others.n : 0);
    return err;
}

static void note_damage(struct chore *c, const struct run_merge *in)
{
    struct merge *m = &c->merge;

    for (size_t i = 0; in->cursors && i < in->n; i++)
        if (in->cursors[i].failed)
            m->broken = i < m->inputs.n ? m->inputs.runs[i] : m->others.runs[i - m->inputs.n];
}

static int merge_run(struct chore *c)
{
    struct merge *m = &c->merge;
    struct run **runs = calloc(m->inputs.n + m->others.n + 1, sizeof(struct run *));
    struct run_merge in = { 0 };
    struct counts counts = { .gone.key = c->p->o.secret, .dropped.key = c->p->o.secret };
    size_t n = 0;
    int err = runs ? open_inputs(c, runs, &n) : BELFRY_NOMEM;

    if (!err)
        err = sort_graves(m);
    if (!err)
        err = run_merge_init(&in, runs, n, (struct str){ 0 }, false);
    if (!err && m->cut.run)
        err = cut_find(m, runs[0]);
    if (!err && !m->cut_none)
        err = merge_all(c, &in, &counts);
    note_damage(c, &in);
    run_merge_fini(&in);
    tally_write(&counts.gone, &m->tallies);
    tally_write(&counts.dropped, &m->dropped);
    tally_fini(&counts.gone);
    tally_fini(&counts.dropped);
    free(runs);
    if (!err && (m->tallies.failed || m->dropped.failed || m->runs.failed))
        err = BELFRY_NOMEM;
    if (err)
        cold_discard(c->p, m->file, m->written, err);
    return err;
}

static int merge_end(struct partition *p, struct chore *c, int result)
{
    struct merge *m = &c->merge;
    struct cold_run *broken = m->broken;
    uint64_t inputs = m->inputs.n;

    if (!result && m->cut.run)
        engine_cut_made(p->engine, &m->cut, m->cut_all);
    if (!result && m->cut_none) {
        merge_clear(m);
        return 0;
    }
    if (!result)
        result = engine_merged(p->engine, buf_view(&m->drops), buf_view(&m->runs),
                               buf_view(&m->tallies));
    if (!result) {
        engine_history_dropped(p->engine, buf_view(&m->dropped));
        cold_note_gone(p);
        p->stats.merged_runs += inputs;
    } else if (broken && (result == BELFRY_CORRUPT || result == BELFRY_NOTFOUND)) {
        cold_mark_broken(p, broken, false);
    }
    merge_clear(m);
    return result;
}

const struct chore_ops merge_chore = {
    { "merging runs" },
    merge_begin,
    merge_run,
    merge_end,
};
