/* SPDX-License-Identifier: MIT */
/*
 * The tenure of an owner, and the end of the journal in the owner record. docs/internals/journal.md
 * has the order of writes: the record is true after any crash, and no whole journal is refused.
 */
#include "partition/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#define EPOCH_BITS 24 /* the part of a token above its counter */

/* ---- Beginning ---- */

static int stop_at_first(void *arg, struct str name)
{
    (void)arg;
    (void)name;
    return 1;
}

/* 1 if the partition has logs of this kind, 0 if not. */
static int has_logs(const struct partition *p, const char *kind)
{
    char prefix[NAME_BYTES];

    snprintf(prefix, sizeof(prefix), "p%04x/%s/", p->o.number, kind);
    return p->store->ops->list(p->store, str_of(prefix), stop_at_first, NULL);
}

/* Without an owner record there must be no logs: else its epoch would be given a second time. */
static int refuse_orphans(const struct partition *p)
{
    int journal = has_logs(p, "journal"), runs = journal ? 0 : has_logs(p, "run");

    if (journal < 0 || runs < 0)
        return journal < 0 ? journal : runs;
    if (!journal && !runs)
        return 0;
    if (MUTANT(p->o.mutant, OWNER_FORGOTTEN))
        return 0;
    return store_fail(BELFRY_CORRUPT,
                      "record %s is missing, though there %s: tokens would be given twice",
                      p->fence, journal ? "is a journal" : "are runs");
}

/* Changes the version of the record, and keeps its text. */
static int raise(struct partition *p, uint64_t version)
{
    char text[OWNER_TEXT];

    owner_text(&p->note, text);
    p->epoch = version + 1;
    return p->store->ops->cas(p->store, &(struct store_cas){ .name = str_of(p->fence),
                                                             .expect = version,
                                                             .next = version + 1,
                                                             .value = str_of(text) });
}

int tenure_look(struct partition *p)
{
    int err = owner_read(p->store, p->o.number, &p->note, &p->epoch);

    return err || p->note.present ? err : refuse_orphans(p);
}

int tenure_begin(struct partition *p)
{
    uint64_t version = 0;
    int err;

    do {
        err = owner_read(p->store, p->o.number, &p->note, &version);
        if (!err)
            err = raise(p, version);
    } while (err == BELFRY_INDOUBT || err == BELFRY_CONFLICT);
    if (!err && p->epoch >> EPOCH_BITS)
        return store_fail(BELFRY_CORRUPT, "record %s: the epoch %" PRIu64 " is beyond its range",
                          p->fence, p->epoch);
    return err;
}

/* ---- Looking at the journal ---- */

/* The last segment that has a commit; NULL: none has. */
static const struct segment *last_written(const struct partition *p)
{
    size_t n = p->segment_count;

    while (n > 0 && p->segments[n - 1].elements == 0)
        n--;
    return n > 0 ? &p->segments[n - 1] : NULL;
}

static int check_epoch(const struct partition *p)
{
    uint64_t epoch = engine_last_epoch(p->engine);

    if (epoch <= p->note.epoch)
        return 0;
    return store_fail(BELFRY_CORRUPT,
                      "record %s is older than the journal: it knows epochs up to %" PRIu64
                      ", a commit is of %" PRIu64 ": tokens would be given twice",
                      p->fence, p->note.epoch, epoch);
}

static int check_beginning(const struct partition *p)
{
    uint32_t oldest = engine_oldest(p->engine), first;

    /* A version that does not note the end of the journal does not note its beginning either. */
    if (p->segment_count == 0 || oldest == 0 || !p->note.known ||
        MUTANT(p->o.mutant, BEGINNING_LOST))
        return 0;
    first = p->segments[0].number;
    if (first <= oldest)
        return 0;
    return store_fail(BELFRY_CORRUPT,
                      "segment %u is missing: the journal begins with it, and the first that is "
                      "there is %u",
                      oldest, first);
}

/* No segment has a commit, though the record says that one had. */
static int check_anything(const struct partition *p)
{
    int runs = p->note.known ? 0 : has_logs(p, "run");

    if (runs < 0)
        return runs;
    if (!owner_misses_journal(&p->note, runs))
        return 0;
    if (p->note.last)
        return store_fail(BELFRY_CORRUPT,
                          "the journal is missing: no segment has a commit, and it went on to "
                          "segment %u at least",
                          p->note.last);
    return store_fail(BELFRY_CORRUPT, "the journal is missing, though its owner had epoch %" PRIu64,
                      p->note.epoch);
}

/* The segment that the record names, or one before it, is not there or has no commit. */
static int refuse_end(const struct partition *p, const struct segment *last,
                      const struct store_tail *tail)
{
    const struct segment *s = last + 1;

    if (s < p->segments + p->segment_count)
        return store_fail(BELFRY_CORRUPT, "segment %u has no whole commit, though it had one%s%s",
                          s->number, damage_at(tail), tail->where);
    return store_fail(BELFRY_CORRUPT,
                      "segment %u is missing: the journal goes on to segment %u at least, and the "
                      "last that is there is %u",
                      last->number + 1, p->note.last, last->number);
}

/* After a clean stop no commit is half-written: the journal ends exactly as noted. */
static int check_clean_end(const struct partition *p, const struct segment *last,
                           const struct store_tail *tail)
{
    const struct owner_note *n = &p->note;

    if (MUTANT(p->o.mutant, CLEAN_END_IGNORED))
        return 0;
    if (last->number != n->last)
        return store_fail(BELFRY_CORRUPT,
                          "the journal goes on to segment %u, though it ended with %u when it was "
                          "closed",
                          last->number, n->last);
    if (last->elements != n->elements)
        return store_fail(BELFRY_CORRUPT,
                          "segment %u has %" PRIu64 " whole commits where it had %" PRIu64
                          " when it was closed%s%s",
                          n->last, last->elements, n->elements, damage_at(tail), tail->where);
    if (p->end_hash != n->hash)
        return store_fail(BELFRY_CORRUPT,
                          "segment %u, commit %" PRIu64 ": another one than when it was closed",
                          n->last, n->elements - 1);
    return 0;
}

static int check_end(const struct partition *p, const struct store_tail *tail)
{
    const struct segment *last = last_written(p);

    if (MUTANT(p->o.mutant, END_LOST))
        return 0;
    if (!last)
        return check_anything(p);
    if (!p->note.known)
        return 0;
    if (last->number < p->note.last)
        return refuse_end(p, last, tail);
    return p->note.clean ? check_clean_end(p, last, tail) : 0;
}

int tenure_check(const struct partition *p, const struct store_tail *tail)
{
    if (!p->note.present && MUTANT(p->o.mutant, OWNER_FORGOTTEN))
        return 0;
    int err = check_end(p, tail); /* first: its records tell where the beginning is */
    if (!err)
        err = check_beginning(p);
    return err ? err : check_epoch(p);
}

/* ---- Writing it down ---- */

#define NOTE_TRIES 3

/* Writes the record. FENCED if there is another owner; INDOUBT if all tries are in doubt. */
static int write_note(struct partition *p, const struct owner_note *n)
{
    char text[OWNER_TEXT];
    struct store_cas c = { .name = str_of(p->fence), .expect = p->epoch, .next = p->epoch };
    int err = BELFRY_INDOUBT;

    owner_text(n, text);
    c.value = str_of(text);
    for (int i = 0; i < NOTE_TRIES && err == BELFRY_INDOUBT; i++)
        err = p->store->ops->cas(p->store, &c);
    if (!err)
        p->note = *n;
    return err == BELFRY_CONFLICT ? BELFRY_FENCED : err;
}

int tenure_confirm(struct partition *p)
{
    const struct segment *last = last_written(p);
    struct owner_note n = {
        .present = true, .known = true, .epoch = p->epoch, .last = last ? last->number : 0
    };

    return write_note(p, &n);
}

void tenure_note(struct partition *p, uint32_t segment)
{
    struct owner_note n = p->note;

    /* Writing the cell would take space of the reserve. */
    if (segment <= n.last || atomic_load(&p->store->low))
        return;
    n.last = segment;
    write_note(p, &n);
}

struct ending {
    uint64_t seq;
    uint64_t hash;
};

static int hash_element(void *arg, uint64_t seq, struct str element)
{
    struct ending *e = arg;

    if (seq != e->seq)
        return BELFRY_CORRUPT;
    e->hash = XXH3_64bits(element.ptr, element.len);
    return 1;
}

void tenure_end(struct partition *p)
{
    const struct segment *last = last_written(p);
    struct owner_note n = p->note;
    char log[NAME_BYTES];

    if (!last)
        return;
    struct ending e = { .seq = last->elements - 1 };
    partition_log_name(p, last->number, log);
    if (p->store->ops->read(p->store, str_of(log), e.seq, 0, hash_element, &e, NULL) != 1)
        return;
    n.clean = true;
    n.last = last->number;
    n.elements = last->elements;
    n.hash = e.hash;
    write_note(p, &n);
}
