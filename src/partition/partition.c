/* SPDX-License-Identifier: MIT */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define SEGMENT_BYTES_DEFAULT (UINT64_C(32) << 20)
#define SLICE_BYTES_DEFAULT   (UINT64_C(1) << 20)
#define EPOCH_BITS            24 /* the part of a token above its counter */

void partition_log_name(const struct partition *p, uint32_t segment, char ret[NAME_BYTES])
{
    snprintf(ret, NAME_BYTES, "p%04x/journal/%010u", p->o.number, segment);
}

int partition_add_segment(struct partition *p, struct segment s)
{
    if (p->segment_count == p->segment_cap) {
        size_t cap = p->segment_cap ? 2 * p->segment_cap : 16;
        struct segment *grown = realloc(p->segments, cap * sizeof(*grown));

        if (!grown)
            return BELFRY_NOMEM;
        p->segments = grown;
        p->segment_cap = cap;
    }
    p->segments[p->segment_count++] = s;
    return 0;
}

static struct segment *last_segment(struct partition *p)
{
    return p->segment_count ? &p->segments[p->segment_count - 1] : NULL;
}

int partition_gather(struct partition *p, bool fresh)
{
    struct commit *c = &p->commits[p->writing == &p->commits[0]];
    struct segment *last = last_segment(p);
    uint64_t previous = last ? last->elements : 0;
    uint32_t number = last ? last->number : 0;

    fresh = fresh || last->bytes >= p->o.segment_bytes;
    buf_reset(&c->buf, COMMIT_KEEP);
    if (!buf_reserve(&c->buf, 4096)) /* enough for the head, so that it cannot fail */
        return BELFRY_NOMEM;
    if (fresh) {
        if (partition_add_segment(p, (struct segment){ number + 1, 0, 0 }) < 0)
            return BELFRY_NOMEM;
        last = last_segment(p);
    }
    c->p = p;
    c->segment = last->number;
    engine_direct(p->engine, &c->buf, c->segment, fresh, previous);
    p->gathering = c;
    p->gather_lsn = engine_lsn(p->engine);
    return 0;
}

/* The layout of the store is fixed when it is made. */
static int check_meta(struct store *store, uint16_t number)
{
    static const char made[] = "belfry 1\npartitions 1\n";
    char value[128] = { 0 };
    struct store_record r;
    unsigned format = 0, partitions = 0;
    int err = store_get(store, STR("meta"), value, sizeof(value) - 1, &r);

    if (err == BELFRY_NOTFOUND) {
        memcpy(value, made, sizeof(made));
        err = store->ops->cas(
            store, &(struct store_cas){ .name = STR("meta"), .next = 1, .value = STR(made) });
    }
    if (err)
        return err;
    if (sscanf(value, "belfry %u\npartitions %u", &format, &partitions) != 2 || format != 1 ||
        number >= partitions)
        return store_fail(BELFRY_CORRUPT, "record meta: expected format 1, found '%s'", value);
    return 0;
}

/* Takes the partition over: from now on appends of an older epoch are refused. */
static int raise_epoch(struct partition *p, bool *ret_clean)
{
    char value[64] = { 0 };
    struct store_record r = { 0 };
    struct store_cas c = { .name = str_of(p->fence), .value = STR("open") };
    int err;

    do {
        err = store_get(p->store, c.name, value, sizeof(value) - 1, &r);
        if (err == BELFRY_NOTFOUND)
            r = (struct store_record){ .value = STR("clean") };
        else if (err)
            return err;
        *ret_clean = strcmp(value, "open") != 0;
        c.expect = r.version;
        c.next = r.version + 1;
        err = p->store->ops->cas(p->store, &c);
    } while (err == BELFRY_INDOUBT || err == BELFRY_CONFLICT);
    p->epoch = c.next;
    if (!err && p->epoch >> EPOCH_BITS)
        return store_fail(BELFRY_CORRUPT, "record %s: the epoch %llu is beyond its range", p->fence,
                          (unsigned long long)p->epoch);
    return err;
}

static int open_engine(struct partition *p, int64_t wall_ms, int64_t mono_ms,
                       struct partition_report *ret)
{
    struct engine_options o = {
        .partition = p->o.number,
        .epoch = p->epoch,
        .seed = p->o.seed,
        .history_bytes = p->o.history_bytes,
        .mutant = p->o.mutant,
        .deliver = p->o.deliver,
        .host = p->o.host,
    };
    int err;

    p->engine = engine_new(&o);
    if (!p->engine)
        return BELFRY_NOMEM;
    err = partition_replay(p, ret);
    if (err)
        return err;
    /* Records can be written as soon as the clock starts: leases may end in that moment. A fresh
     * segment says how long the one before was, so nothing can be added to that any more. */
    err = partition_gather(p, true);
    if (err)
        return err;
    p->owed = true;
    engine_start(p->engine, wall_ms, mono_ms, !ret->clean);
    return 0;
}

int partition_open(struct store *store, const struct partition_options *o, int64_t wall_ms,
                   int64_t mono_ms, struct partition **ret, struct partition_report *ret_report)
{
    struct partition *p = calloc(1, sizeof(*p));
    struct partition_report report = { 0 };
    int err;

    if (!p)
        return BELFRY_NOMEM;
    p->store = store;
    p->o = *o;
    p->o.segment_bytes = o->segment_bytes ? o->segment_bytes : SEGMENT_BYTES_DEFAULT;
    p->o.slice_bytes = o->slice_bytes ? o->slice_bytes : SLICE_BYTES_DEFAULT;
    snprintf(p->fence, sizeof(p->fence), "p%04x/owner", o->number);
    err = check_meta(store, o->number);
    if (!err)
        err = raise_epoch(p, &report.clean);
    report.epoch = p->epoch;
    if (!err)
        err = open_engine(p, wall_ms, mono_ms, &report);
    if (err) {
        partition_close(p);
        return err;
    }
    *ret = p;
    *ret_report = report;
    return 0;
}

void partition_close(struct partition *p)
{
    if (!p)
        return;
    if (p->gathering && !p->writing && !p->owed && engine_lsn(p->engine) == p->gather_lsn) {
        /* If this fails the next start merely takes more care. */
        p->store->ops->cas(p->store, &(struct store_cas){ .name = str_of(p->fence),
                                                          .expect = p->epoch,
                                                          .next = p->epoch,
                                                          .value = STR("clean") });
    }
    engine_free(p->engine);
    buf_fini(&p->commits[0].buf);
    buf_fini(&p->commits[1].buf);
    buf_fini(&p->chore.elements);
    free(p->segments);
    free(p);
}

struct engine *partition_engine(struct partition *p)
{
    return p->engine;
}

struct commit *partition_take(struct partition *p)
{
    struct commit *c = p->gathering;
    struct segment *last = last_segment(p);
    uint64_t bytes = c->buf.len + ELEMENT_FRAME;

    if (p->writing || (engine_lsn(p->engine) == p->gather_lsn && !p->owed))
        return NULL;
    c->seq = last->elements++;
    c->last_lsn = engine_lsn(p->engine);
    last->bytes += bytes;
    p->writing = c;
    if (partition_gather(p, false) < 0) { /* no memory for another: go on gathering in this one */
        p->segments[p->segment_count - 1].elements--;
        p->segments[p->segment_count - 1].bytes -= bytes;
        p->writing = NULL;
        return NULL;
    }
    p->owed = false;
    p->stats.commits++;
    p->stats.committed_bytes += bytes;
    return c;
}

static int matches(void *arg, uint64_t seq, struct str element)
{
    const struct commit *c = arg;

    return seq == c->seq && str_eq(element, buf_view(&c->buf)) ? 1 : BELFRY_CONFLICT;
}

/* Whether an append that was in doubt is there: 1 or 0. */
static int read_back(struct commit *c, struct str log)
{
    struct store *s = c->p->store;
    int found = s->ops->read(s, log, c->seq, matches, c, NULL);

    if (found == BELFRY_NOTFOUND)
        return 0;
    if (found == 1 && c->p->o.durable) {
        int err = s->ops->sync(s, log);

        return err ? err : 1;
    }
    return found;
}

static int sync_segment(struct partition *p, uint32_t number)
{
    char log[NAME_BYTES];
    int err;

    partition_log_name(p, number, log);
    err = p->store->ops->sync(p->store, str_of(log));
    return err == BELFRY_NOTFOUND ? 0 : err;
}

/* Without `durable`, power loss may take the end of the journal but not its middle: a segment is
 * synced before the next one begins. */
int commit_write(struct commit *c)
{
    struct partition *p = c->p;
    char log[NAME_BYTES];
    struct store_append a = {
        .fence = str_of(p->fence),
        .epoch = p->epoch,
        .seq = c->seq,
        .element = buf_view(&c->buf),
        .durable = p->o.durable,
    };
    int err;

    if (!p->o.durable && c->seq == 0) {
        err = sync_segment(p, c->segment - 1);
        if (err)
            return err;
    }
    partition_log_name(p, c->segment, log);
    a.log = str_of(log);
    do {
        err = p->store->ops->append(p->store, &a);
        if (err == BELFRY_INDOUBT && MUTANT(p->o.mutant, TORN_ACCEPTED))
            return 0;
        if (err != BELFRY_INDOUBT)
            return err;
        err = read_back(c, a.log);
    } while (err == 0 || err == BELFRY_INDOUBT);
    return err == 1 ? 0 : err;
}

void partition_settle(struct partition *p, struct commit *c)
{
    assert(p->writing == c);
    if (p->o.durable)
        p->safe_lsn = c->last_lsn;
    else if (c->seq == 0) /* the segments before were synced first */
        p->safe_lsn = p->durable_lsn;
    p->durable_lsn = c->last_lsn;
    p->sync_segment = c->segment;
    p->writing = NULL;
}

uint64_t partition_durable_lsn(const struct partition *p)
{
    return p->durable_lsn;
}

uint64_t partition_gathered_bytes(const struct partition *p)
{
    return p->gathering->buf.len;
}

int partition_sync(struct partition *p)
{
    return sync_segment(p, p->sync_segment);
}

void partition_stats(const struct partition *p, struct partition_stats *ret)
{
    *ret = p->stats;
    ret->epoch = p->epoch;
    ret->segments = (uint32_t)p->segment_count;
    ret->journal_bytes = 0;
    for (size_t i = 0; i < p->segment_count; i++)
        ret->journal_bytes += p->segments[i].bytes;
}
