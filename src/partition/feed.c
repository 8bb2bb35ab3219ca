/* SPDX-License-Identifier: MIT */
/*
 * Feeding. The engine writes the jobs that leave memory as a batch of bytes, slice by slice. The
 * chore sorts the batch and writes a run for each family in it. Then one record makes the runs
 * count. A crash before that record leaves logs that no record names, which the next start removes.
 */
#include "partition/internal.h"

#include <stdlib.h>

#include "base/array.h"
#include "record/opts.h"
#include "record/record.h"

#define GATHER_JOBS 500
#define PREFETCH    8 /* entries ahead: neighbours are far apart in the batch */

struct entry {
    uint64_t head;   /* the first bytes of the key, as a number */
    const char *key; /* with the value behind it */
    uint64_t seq;    /* of the job; for the locator: the order in the batch */
    uint32_t value_len;
    uint16_t key_len;
    bool grave;
    bool locates;
};

static struct str entry_key(const struct entry *e)
{
    return (struct str){ e->key, e->key_len };
}

static struct str entry_value(const struct entry *e)
{
    return (struct str){ e->key + e->key_len, e->value_len };
}

struct sorting {
    struct entry *entries;
    size_t n;
    size_t cap;
    struct buf located; /* keys and values of the locator */
    const struct cold_names *naming;
    unsigned mutant;
};

/* The first bytes of the key as a number, so that keys are hardly ever compared. The two upper
 * bytes of a moment are zero: the family stands in place of the first. */
static uint64_t head_of(struct str key)
{
    uint64_t head = 0;
    size_t skipped = key.ptr[0] == FAMILY_DUE ? 1 : 0;

    for (size_t i = skipped; i < 8 + skipped; i++)
        head = head << 8 | (i < key.len ? (unsigned char)key.ptr[i] : 0);
    return skipped ? head | (uint64_t)FAMILY_DUE << 56 : head;
}

/* A job comes before a grave of its key. Two jobs may have had one user's key while the batch was
 * gathered: the later job comes first, because it has the key now. */
static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    if (x->key[0] == FAMILY_DUE && y->key[0] == FAMILY_DUE && !x->grave && !y->grave)
        return x->seq < y->seq ? -1 : 1;
    int order = str_compare(entry_key(x), entry_key(y));
    if (!order && x->locates)
        return x->seq > y->seq ? -1 : 1;
    return order ? order : x->grave - y->grave;
}

/* Sorts entries by their heads, byte by byte from the lowest, without bytes that are equal in all
 * entries. Then it sorts entries with equal heads by their keys. `spare` has room for all entries.
 */
static struct entry *sort(struct entry *entries, struct entry *spare, size_t n)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[257] = { 0 };

        for (size_t i = 0; i < n; i++)
            starts[(entries[i].head >> shift & 255) + 1]++;
        if (n == 0 || starts[(entries[0].head >> shift & 255) + 1] == n)
            continue;
        for (unsigned b = 0; b < 256; b++)
            starts[b + 1] += starts[b];
        for (size_t i = 0; i < n; i++)
            spare[starts[entries[i].head >> shift & 255]++] = entries[i];
        struct entry *swap = entries;
        entries = spare;
        spare = swap;
    }
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && entries[to].head == entries[from].head; to++)
            ;
        if (to - from > 1)
            qsort(entries + from, to - from, sizeof(*entries), by_key);
    }
    return entries;
}

static struct entry *entry_new(struct sorting *s)
{
    struct entry *grown = array_room(s->entries, s->n, &s->cap, sizeof(*grown));

    if (!grown)
        return NULL;
    s->entries = grown;
    return &grown[s->n++];
}

/* Adds an entry of the locator. Its key is an offset into `located`, which still grows. */
static int locate(struct sorting *s, const struct cold_key *key, struct str place, int64_t until)
{
    struct entry *e = entry_new(s);
    size_t start = s->located.len;

    if (!e)
        return BELFRY_NOMEM;
    buf_str(&s->located, cold_key_str(key));
    cold_place_put(&s->located, place, until);
    *e = (struct entry){
        .head = head_of(cold_key_str(key)),
        .key = (const char *)(uintptr_t)start,
        .key_len = (uint16_t)key->len,
        .value_len = (uint32_t)(s->located.len - start - key->len),
        .seq = MUTANT(s->mutant, KEY_STALE) ? UINT64_MAX - start : start,
        .locates = true,
    };
    return s->located.failed ? BELFRY_NOMEM : 0;
}

/* How long a job can be at its place: see cold_place_put. */
static int64_t until_of(const struct job_image *image, struct str key, uint32_t number)
{
    struct cold_point p = { image->at_ms, 0 };

    switch (key.ptr[0]) {
    case FAMILY_DUE: cold_key_point(key, &p); return p.at_ms;
    case FAMILY_BACKLOG:
    case FAMILY_ASIDE: return number;
    default: return trail_image_gone_ms(&image->trail);
    }
}

static int add_located(struct sorting *s, struct str key, struct str body, uint32_t number)
{
    struct job_image image;
    struct cold_key k;
    struct str user_key, order;
    int err = 0;

    if (!record_get_job(body, &image))
        return BELFRY_CORRUPT;
    bool ended = state_is_ended(image.state);
    cold_keys_of(image.opts, &user_key, &order);
    if (key.ptr[0] != FAMILY_DUE || image.at_ms != image.born_ms) {
        cold_key_of_seq(&k, image.seq);
        err = locate(s, &k, key, until_of(&image, key, number));
    }
    if (!err && user_key.len && (!ended || image.trail.hold_ms)) {
        cold_key_of_key(&k, s->naming, image.queue, order, user_key);
        err = locate(s, &k, key, until_of(&image, key, number));
    }
    return err;
}

static int read_batch(struct sorting *s, struct str batch, uint32_t number, bool locates)
{
    struct wire_reader r = wire_reader_of(batch);
    int err = 0;

    while (r.p < r.end && !err) {
        unsigned flags = wire_u8(&r);
        uint64_t seq = wire_u64(&r);
        size_t key_len = wire_u16(&r);
        size_t body_len = wire_u32(&r);
        struct str key = { (const char *)r.p, key_len };
        struct str body = { key.ptr + key_len, body_len };
        struct entry *e = entry_new(s);

        if (!e || r.bad || key_len + body_len > (size_t)(r.end - r.p))
            return BELFRY_NOMEM;
        r.p += key_len + body_len;
        *e = (struct entry){
            .head = head_of(key),
            .key = key.ptr,
            .key_len = (uint16_t)key.len,
            .value_len = (uint32_t)body.len,
            .grave = flags & FEED_GRAVE,
            .seq = seq,
        };
        if (flags & FEED_LOCATE && locates)
            err = add_located(s, key, body, number);
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].locates)
            s->entries[i].key = s->located.ptr + (uintptr_t)s->entries[i].key;
    return err;
}

static int count_entry(struct feed *f, struct tally *t, const struct entry *e, uint64_t *last_seq)
{
    struct job_image image;

    if (e->grave || e->locates)
        return 0;
    wire_put_zigzag(&f->seqs, (int64_t)(e->seq - *last_seq));
    *last_seq = e->seq;
    if (!record_get_job(entry_value(e), &image))
        return BELFRY_CORRUPT;
    enum cold_slot slot = cold_slot_of(e->key[0], image.state, cold_key_class(entry_key(e)));
    return tally_count(t, image.queue, cold_slot_at(slot, image.at_ms),
                       (struct counted){ 1, (int64_t)image_bytes(&image) }, entry_key(e));
}

static size_t count_family(const struct sorting *s, size_t from)
{
    size_t i = from;

    while (i < s->n && s->entries[i].key[0] == s->entries[from].key[0])
        i++;
    return i - from;
}

static int write_runs(struct partition *p, struct feed *f, const struct sorting *s)
{
    struct out_run out = {
        .p = p,
        .file = f->file,
        .number = f->file,
        .oldest = f->file,
        .written = &f->written,
        .descs = &f->runs,
    };
    struct tally tally = { .key = p->o.secret };
    uint64_t last_seq = 0, filter_items = 0;
    int err = 0;

    for (size_t i = 0; i < s->n && !err; i++) {
        const struct entry *e = &s->entries[i];
        const struct entry *before = i ? e - 1 : NULL;
        struct run_entry entry = {
            .key = entry_key(e),
            .version = f->file,
            .grave = e->grave,
            .value = entry_value(e),
        };

        if (i + PREFETCH < s->n) {
            __builtin_prefetch(e[PREFETCH].key);
            __builtin_prefetch(e[PREFETCH].key + 64);
            __builtin_prefetch(e[PREFETCH].key + 128);
        }
        if (!before || before->key[0] != e->key[0]) {
            err = out_end(&out);
            filter_items = e->key[0] == FAMILY_LOCATOR ? count_family(s, i) : 0;
            /* Each filter adds its wrong answers until runs are merged. A larger filter gives
             * fewer, and is made as long as all filters have room. */
            if (p->bytes.filters < p->o.memory_bytes / 16)
                filter_items *= 2;
        } else if (str_eq(entry.key, entry_key(before))) {
            continue;
        }
        if (!err)
            err = out_add(&out, &entry, e->grave ? (int64_t)e->seq : entry_gone_ms(&entry), false,
                          filter_items);
        if (!err)
            err = count_entry(f, &tally, e, &last_seq);
    }
    if (!err)
        err = out_end(&out);
    run_writer_free(out.writer);
    tally_write(&tally, &f->tallies);
    tally_fini(&tally);
    return err ? err : f->seqs.failed || f->tallies.failed ? BELFRY_NOMEM : 0;
}

static int feed_run(struct chore *c)
{
    struct feed *f = &c->feed;
    struct sorting s = { .naming = engine_naming(c->p->engine), .mutant = c->p->o.mutant };
    int err = read_batch(&s, buf_view(&f->batch), f->file, !MUTANT(c->p->o.mutant, LOCATOR_LOST));
    struct entry *spare = err ? NULL : malloc((s.n + 1) * sizeof(*spare));

    if (!err && !spare)
        err = BELFRY_NOMEM;
    if (!err) {
        struct entry *sorted = sort(s.entries, spare, s.n);

        spare = sorted == spare ? s.entries : spare;
        s.entries = sorted;
        err = write_runs(c->p, f, &s);
    }
    free(spare);
    free(s.entries);
    buf_fini(&s.located);
    if (err)
        cold_discard(c->p, f->file, f->written, err);
    return err;
}

void feed_clear(struct feed *f)
{
    buf_fini(&f->batch);
    buf_fini(&f->runs);
    buf_fini(&f->seqs);
    buf_fini(&f->tallies);
    *f = (struct feed){ 0 };
}

/* Keeps memory for the next batch, which is about as large. But memory beyond that must not count
 * as memory of jobs. Otherwise new jobs would be refused until the next batch, which may never
 * come. */
static void batch_reset(struct partition *p)
{
    buf_reset(&p->chores[CHORE_FEED].feed.batch,
              MUTANT(p->o.mutant, BATCH_KEPT) ? SIZE_MAX : p->o.memory_bytes / 4);
}

/* Ends a batch. */
static void feed_reset(struct partition *p)
{
    struct feed *f = &p->chores[CHORE_FEED].feed;
    struct buf batch;

    batch_reset(p);
    batch = f->batch;
    f->batch = (struct buf){ 0 };
    feed_clear(f);
    f->batch = batch;
}

/* Whether a batch is due. Its jobs are beyond the frontier, which must not move until the batch is
 * written. So no load by due time begins, and the feed waits for one that is under way. */
bool feed_waits(const struct partition *p)
{
    return engine_feed_due(p->engine) && !p->feed_paused && !atomic_load(&p->store->low);
}

static bool frontier_moves(const struct partition *p)
{
    const struct chore *c = &p->chores[CHORE_LOAD];

    return c->running && !c->load.want.backlog;
}

/* On the engine's thread: begins a batch when it is due, and adds a slice to it. */
bool feed_work(struct partition *p)
{
    struct feed *f = &p->chores[CHORE_FEED].feed;

    if (f->state == FEED_IDLE && feed_waits(p) && !frontier_moves(p)) {
        engine_feed_begin(p->engine);
        buf_reserve(&f->batch, engine_feed_bytes(p->engine));
        f->state = FEED_GATHER;
    }
    if (f->state == FEED_GATHER) {
        if (engine_feed_slice(p->engine, &f->batch, partition_slice(p, GATHER_JOBS)))
            return true;
        if (f->batch.failed || f->batch.len == 0) {
            bool failed = f->batch.failed;

            engine_feed_abort(p->engine);
            feed_reset(p);
            return !failed && feed_waits(p); /* further queues have a turn in the next batch */
        }
        f->file = engine_reserve_files(p->engine, 8);
        f->state = FEED_WRITE;
    }
    if (f->state == FEED_RECORD) {
        if (engine_fed(p->engine, &(struct feed_result){ buf_view(&f->runs), buf_view(&f->seqs),
                                                         buf_view(&f->tallies) }) < 0)
            return false; /* out of memory: the next turn tries again */
        p->stats.fed_batches++;
        p->last_fed_ms = engine_now(p->engine);
        feed_reset(p);
        return true;
    }
    return false;
}

static bool feed_begin(struct partition *p, struct chore *c)
{
    p->feed_paused = false;
    return c->feed.state == FEED_WRITE;
}

static int feed_end(struct partition *p, struct chore *c, int result)
{
    if (result) {
        engine_feed_abort(p->engine);
        feed_reset(p);
        p->feed_paused = true; /* until the host asks for a chore of this kind again */
        return result;
    }
    batch_reset(p);
    c->feed.state = FEED_RECORD;
    return 0;
}

const struct chore_ops feed_chore = {
    { "writing jobs from memory to runs" },
    feed_begin,
    feed_run,
    feed_end,
};
