/* SPDX-License-Identifier: MIT */
/*
 * Reading the journal. Every segment begins with a record that tells the number of elements in the
 * segment before. So all segments but the last are known to be whole, and damage there is an error.
 * The last may end in a commit that was being written when its owner died. It is cut off, once
 * tenure_check has found nothing missing.
 */
#include "partition/internal.h"
#include "record/record.h"

#include <stdlib.h>
#include <xxhash.h>

struct replay {
    struct partition *p;
    uint32_t number;
    uint64_t bytes;
    uint64_t previous; /* elements in the segment before, by the first commit */
    bool begun;
};

static int note_begin(void *arg, enum record_type type, struct str body)
{
    struct replay *r = arg;
    struct begin_record begin;

    if (type != RECORD_BEGIN || !record_get_begin(body, &begin))
        return BELFRY_CORRUPT;
    r->previous = begin.previous;
    r->begun = true;
    return 1; /* only the first record is wanted */
}

static int replay_element(void *arg, uint64_t seq, struct str element)
{
    struct replay *r = arg;
    int err = 0;

    if (seq == 0)
        record_walk(element, NULL, note_begin, r);
    if (r->begun)
        err = engine_replay(r->p->engine, element, r->number);
    if (err == BELFRY_CORRUPT || !r->begun)
        return store_fail(BELFRY_CORRUPT, "segment %u, commit %llu: malformed record", r->number,
                          (unsigned long long)seq);
    r->bytes += element.len + ELEMENT_FRAME;
    if (r->number == r->p->note.last && seq + 1 == r->p->note.elements)
        r->p->end_hash = XXH3_64bits(element.ptr, element.len);
    return err;
}

/* Notes a segment. The store lists them in order. */
static int note_name(void *arg, struct str name)
{
    struct partition *p = arg;
    const char *digits = memrchr(name.ptr, '/', name.len);
    char text[16] = { 0 };
    struct segment s = { 0 };

    if (!digits || name.ptr + name.len - digits - 1 != 10)
        return store_fail(BELFRY_CORRUPT, "log %.*s: not a segment's name", STR_ARG(name));
    memcpy(text, digits + 1, 10);
    s.number = (uint32_t)strtoul(text, NULL, 10);
    if (p->segment_count && s.number != p->segments[p->segment_count - 1].number + 1)
        return store_fail(BELFRY_CORRUPT, "segment %u is missing: %u follows %u", s.number - 1,
                          s.number, p->segments[p->segment_count - 1].number);
    return partition_add_segment(p, s);
}

static int check_previous(const struct replay *r, const struct segment *before,
                          const struct store_tail *tail)
{
    if (before->elements == r->previous)
        return 0;
    return store_fail(BELFRY_CORRUPT,
                      "segment %u has %llu whole commits where segment %u says it has %llu%s%s",
                      before->number, (unsigned long long)before->elements, r->number,
                      (unsigned long long)r->previous, damage_at(tail), tail->where);
}

static void report_torn(const struct store_tail *tail, struct partition_report *ret)
{
    if (tail->torn_bytes) {
        ret->torn_bytes = tail->torn_bytes;
        memcpy(ret->where, tail->where, sizeof(ret->where));
    }
}

/* Makes the journal end in a whole commit that survives power loss. The commits that were read may
 * be in the system's cache only, and are about to be shown. */
static int finish_tail(struct partition *p, const struct store_tail *tail,
                       const struct store_tail *before, struct partition_report *ret)
{
    char log[NAME_BYTES];
    int err = 0;

    report_torn(tail, ret);
    if (tail->elements == 0) { /* It has no commit: the segment before is the last. */
        partition_log_name(p, p->segments[--p->segment_count].number, log);
        err = p->store->ops->remove(p->store, str_of(log));
        report_torn(before, ret);
    }
    if (err || p->segment_count == 0)
        return err;
    partition_log_name(p, p->segments[p->segment_count - 1].number, log);
    ret->segments = (uint32_t)p->segment_count;
    return p->store->ops->sync(p->store, str_of(log));
}

int partition_replay(struct partition *p, struct partition_report *ret)
{
    struct store_tail tail = { 0 }, before_tail = { 0 };
    char prefix[NAME_BYTES], log[NAME_BYTES];

    partition_log_name(p, 0, prefix);
    *(strrchr(prefix, '/') + 1) = '\0';
    int err = p->store->ops->list(p->store, str_of(prefix), note_name, p);
    for (size_t i = 0; i < p->segment_count && !err; i++) {
        struct segment *s = &p->segments[i];
        struct replay r = { .p = p, .number = s->number };

        before_tail = tail;
        tail = (struct store_tail){ 0 };
        partition_log_name(p, s->number, log);
        err = p->store->ops->read(p->store, str_of(log), 0, 0, replay_element, &r, &tail);
        if (!err && tail.elements > 0 && i > 0)
            err = check_previous(&r, &p->segments[i - 1], &before_tail);
        s->elements = tail.elements;
        s->bytes = r.bytes;
        ret->commits += tail.elements;
        if (!err && tail.elements == 0 && i + 1 < p->segment_count)
            err = store_fail(BELFRY_CORRUPT, "segment %u has no whole commit%s%s", s->number,
                             damage_at(&tail), tail.where);
    }
    if (!err)
        err = tenure_check(p, &tail);
    if (err || p->segment_count == 0)
        return err;
    return finish_tail(p, &tail, &before_tail, ret);
}
