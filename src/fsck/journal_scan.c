/* SPDX-License-Identifier: MIT */
/* Reading one segment of a journal, whatever state it is in. */
#include "fsck/journal.h"

#include <xxhash.h>

#include "store/salvage.h"

#define FRAME_BYTES 24 /* about the bytes that a store adds to a commit */

struct scan {
    struct journal *j;
    size_t index;
    struct journal_segment *s;
    uint64_t expected; /* the next commit */
    size_t open;       /* finding + 1 that the next gap in the numbers belongs to; 0: none */
    bool excess;
};

/* Charges a finding with the commits from `expected` up to `next`, which are lost. */
static int note_gap(struct scan *c, uint64_t next)
{
    struct journal_finding *f;

    if (next <= c->expected)
        return 0;
    if (!c->open && journal_find(c->j, c->index, "the commits are not there"))
        return BELFRY_NOMEM;
    f = c->open ? &c->j->findings[c->open - 1] : journal_found(c->j);
    f->first = c->expected;
    f->lost = next - c->expected;
    return 0;
}

/* Whether a clean stop noted that the journal ends in this segment. */
static bool is_closed_end(const struct scan *c)
{
    const struct owner_note *n = &c->j->note;

    return n->known && n->clean && n->last == c->s->number;
}

/* The last commit of a journal that was closed must be the one that the stop noted. */
static int check_hash(struct scan *c, uint64_t seq, struct str element)
{
    const struct owner_note *n = &c->j->note;

    if (!is_closed_end(c) || seq + 1 != n->elements ||
        XXH3_64bits(element.ptr, element.len) == n->hash)
        return 0;
    return journal_find(c->j, c->index, "commit %llu is another one than when it was closed",
                        (unsigned long long)seq);
}

/* Adds a finding if the segment has more commits than it must; they never counted. */
static int note_excess(struct scan *c)
{
    if (c->excess)
        return 0;
    c->excess = true;
    if (is_closed_end(c))
        return journal_find(c->j, c->index,
                            "it has more than the %llu commits that it was closed with",
                            (unsigned long long)c->s->limit);
    return journal_find(c->j, c->index,
                        "it has more than the %llu commits that segment %u tells of",
                        (unsigned long long)c->s->limit, c->s->number + 1);
}

/* Replays a commit as the server does. The first commit of a segment must begin with BEGIN. */
static int replay_commit(struct scan *c, uint64_t seq, struct str element)
{
    struct commit_head head = { 0 };
    struct str body;
    enum record_type type = journal_first_record(element, &head, &body);

    if (head.epoch > c->j->newest_epoch)
        c->j->newest_epoch = head.epoch;
    if (seq == 0 && type != RECORD_BEGIN)
        return BELFRY_CORRUPT;
    return engine_replay(c->j->engine, element, c->s->number);
}

static int scan_element(void *arg, uint64_t seq, struct str element)
{
    struct scan *c = arg;
    int err;

    if (seq >= c->s->limit)
        return c->s->tail ? 0 : note_excess(c);
    err = note_gap(c, seq);
    if (err)
        return err;
    c->open = 0;
    c->expected = c->s->next = seq + 1;
    err = check_hash(c, seq, element);
    if (!err)
        err = replay_commit(c, seq, element);
    if (err == BELFRY_CORRUPT) {
        struct journal_finding *f;

        if (journal_find(c->j, c->index, "a malformed record, or one of a newer version of Belfry"))
            return BELFRY_NOMEM;
        f = journal_found(c->j);
        f->malformed = true;
        f->first = seq;
        f->lost = 1;
        return 0;
    }
    c->s->whole++;
    c->s->bytes += element.len + FRAME_BYTES;
    return err;
}

static int scan_damage(void *arg, uint64_t offset, uint64_t bytes, const char *what)
{
    struct scan *c = arg;
    struct journal_finding *f;

    if (c->expected >= c->s->limit) /* half-written bytes behind the last commit */
        return 0;
    if (journal_find(c->j, c->index, "%s", what))
        return BELFRY_NOMEM;
    f = journal_found(c->j);
    f->offset = offset;
    f->bytes = bytes;
    if (offset > 0 || c->s->headless)
        c->open = c->j->finding_count;
    return 0;
}

/* Compares the segment with the number of commits that its neighbours tell. */
static int check_chain(struct scan *c)
{
    struct journal *j = c->j;
    struct journal_segment *s = c->s;

    if (s->limit != JOURNAL_UNKNOWN)
        return note_gap(c, s->limit);
    if (c->index + 1 < j->segment_count && c->expected == 0 && !s->faulty)
        return journal_find(j, c->index, "it has no whole commit");
    return 0;
}

int journal_scan(struct journal *j, size_t index)
{
    struct scan c = { .j = j, .index = index, .s = &j->segments[index] };
    int err = 0;

    if (c.s->missing) {
        if (journal_find(j, index, "the file is missing%s",
                         j->end_lost ? ", or a commit that is lost told of its removal" : ""))
            return BELFRY_NOMEM;
        c.open = j->finding_count;
    } else {
        err = store_salvage(j->dir, str_of(journal_log(j, SEGMENTS, c.s->number).text),
                            scan_element, scan_damage, &c);
    }
    if (err && !(err == BELFRY_CORRUPT && c.s->headless))
        return err;
    err = check_chain(&c);
    j->commits += c.s->whole;
    j->bytes += c.s->bytes;
    return err;
}
