/* SPDX-License-Identifier: MIT */
/*
 * Files that go while no process runs. Between two processes the disk is copied, something is taken
 * from the copy, and the partition is opened there: that must be refused, and nothing may be
 * removed by trying. The disk itself stays as it is.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "partition/owner.h"
#include "record/record.h"
#include "sim/steps.h"

#define SEGMENTS_MAX 65536 /* a recurrence may catch up decades, with a commit for each day */

enum loss {
    LOSS_FIRST,   /* the first segments */
    LOSS_LAST,    /* the last */
    LOSS_ALL,     /* all */
    LOSS_CUT,     /* the commits of the last segment, with its file left */
    LOSS_OWNER,   /* the owner record */
    LOSS_RECORDS, /* all records */
    LOSS_NEWER,   /* the owner record, with an old copy in its place */
    LOSS_COMMIT,  /* after a clean stop: the last commit */
    LOSS_DAMAGE,  /* after a clean stop: the last commit, of which a part is left */
    LOSS_ANOTHER, /* after a clean stop: the last commit, with another in its place */
    LOSS_NOTES,   /* nothing: the record is as an older version writes it */
    LOSS_COUNT
};

static const char *const losses[LOSS_COUNT] = {
    [LOSS_FIRST] = "its first segments",
    [LOSS_LAST] = "its last segments",
    [LOSS_ALL] = "any segment",
    [LOSS_CUT] = "the commits of its last segment",
    [LOSS_OWNER] = "its owner record",
    [LOSS_RECORDS] = "any record",
    [LOSS_NEWER] = "its latest owner record",
    [LOSS_COMMIT] = "its last commit, closed in order",
    [LOSS_DAMAGE] = "a whole last commit, closed in order",
    [LOSS_ANOTHER] = "its own last commit, closed in order",
    [LOSS_NOTES] = "notes on its end",
};

struct copying {
    struct store *from;
    struct store *to;
    enum loss loss;
    uint64_t epoch;
    uint64_t last_epoch; /* of any commit */
    struct str log;
    uint32_t segments[SEGMENTS_MAX];
    size_t count;
    size_t skip_first; /* first segments that are left out */
    size_t skip_last;  /* last segments that are left out */
    uint64_t upto;     /* commits of the last segment that are copied */
    size_t at;         /* segment that is copied */
};

static bool is_segment(struct str name)
{
    return str_starts(name, STR("p0000/journal/"));
}

static int put_element(struct copying *c, uint64_t seq, struct str element)
{
    return c->to->ops->append(c->to, &(struct store_append){ .log = c->log,
                                                             .fence = STR("p0000/owner"),
                                                             .epoch = c->epoch,
                                                             .seq = seq,
                                                             .element = element,
                                                             .durable = true });
}

/* A whole commit that says nothing. */
static int put_another(struct copying *c, uint64_t seq)
{
    struct buf b = { 0 };
    int err;

    record_head(&b, 1, YEAR_2026);
    err = put_element(c, seq, buf_view(&b));
    buf_fini(&b);
    return err;
}

static int copy_element(void *arg, uint64_t seq, struct str element)
{
    struct copying *c = arg;

    if (!is_segment(c->log) || c->at != c->count - 1 || seq + 1 < c->upto)
        return put_element(c, seq, element);
    switch (c->loss) {
    case LOSS_COMMIT: return 1;
    case LOSS_CUT:
    case LOSS_DAMAGE: return memory_tear(c->to, c->log, 17) ? BELFRY_NOMEM : 1;
    case LOSS_ANOTHER: return put_another(c, seq);
    default: return put_element(c, seq, element);
    }
}

static int copy_log(void *arg, struct str name)
{
    struct copying *c = arg;
    int err;

    if (is_segment(name)) {
        size_t at = c->at;
        if (at < c->skip_first || at >= c->count - c->skip_last) {
            c->at++;
            return 0;
        }
    }
    c->log = name;
    err = c->from->ops->read(c->from, name, 0, 0, copy_element, c, NULL);
    c->at += is_segment(name);
    return err == 1 ? 0 : err;
}

static int look_at_head(void *arg, enum record_type type, struct str body)
{
    (void)arg, (void)type, (void)body;
    return 1;
}

static int note_epoch(void *arg, uint64_t seq, struct str element)
{
    struct copying *c = arg;
    struct commit_head head = { 0 };

    (void)seq;
    record_walk(element, &head, look_at_head, NULL);
    c->last_epoch = head.epoch > c->last_epoch ? head.epoch : c->last_epoch;
    return 0;
}

static int note_segment(void *arg, struct str name)
{
    struct copying *c = arg;
    struct store_tail tail = { 0 };
    char digits[11] = { 0 };
    int err = c->from->ops->read(c->from, name, 0, 0, note_epoch, c, &tail);

    CHECK(c->count < SEGMENTS_MAX, "the simulator has room for %d segments", SEGMENTS_MAX);
    memcpy(digits, name.ptr + name.len - 10, 10);
    if (!err && tail.elements > 0) {
        c->segments[c->count++] = (uint32_t)strtoul(digits, NULL, 10);
        c->upto = tail.elements;
    }
    return err;
}

static int count_log(void *arg, struct str name)
{
    (void)name;
    ++*(size_t *)arg;
    return 0;
}

static int copy_record(void *arg, const struct store_cell *r)
{
    struct copying *c = arg;

    return c->to->ops->cas(
        c->to, &(struct store_cas){ .name = r->name, .next = r->version, .value = r->value });
}

/* Whether what is to be lost is there, and would be missed. */
static bool choose(struct copying *c, struct rng *r, const struct owner_note *n)
{
    switch (c->loss) {
    case LOSS_FIRST: /* one more may have been about to go */
        if (c->count < 3)
            return false;
        c->skip_first = (size_t)rng_between(r, 2, (int64_t)c->count - 1);
        return true;
    case LOSS_LAST:
        if (c->count < 2)
            return false;
        c->skip_last = (size_t)rng_between(r, 1, (int64_t)c->count - 1);
        return n->last > c->segments[c->count - 1 - c->skip_last];
    case LOSS_ALL: c->skip_first = c->count; return n->last > 0;
    case LOSS_CUT:
        if (c->count == 0 || n->last < c->segments[c->count - 1])
            return false;
        c->upto = 1;
        return true;
    case LOSS_OWNER:
    case LOSS_RECORDS: return c->count > 0;
    case LOSS_NEWER: return c->last_epoch > 1;
    case LOSS_COMMIT:
    case LOSS_DAMAGE:
    case LOSS_ANOTHER: return n->clean && n->known && c->count > 0 && c->upto > 1;
    default: return c->count > 0;
    }
}

/* Changes the record after its version has let the copy be written. */
static void lose_record(struct copying *c, const struct owner_note *n)
{
    struct str name = STR("p0000/owner"), old = n->clean ? STR("clean") : STR("open");

    if (c->loss == LOSS_OWNER || c->loss == LOSS_RECORDS || c->loss == LOSS_NEWER)
        memory_forget(c->to, name);
    if (c->loss == LOSS_RECORDS)
        memory_forget(c->to, STR("meta"));
    if (c->loss == LOSS_NEWER)
        c->to->ops->cas(c->to, &(struct store_cas){
                                   .name = name, .next = 1, .value = STR("open epoch 1 last 1") });
    if (c->loss == LOSS_NOTES)
        c->to->ops->cas(c->to,
                        &(struct store_cas){
                            .name = name, .expect = c->epoch, .next = c->epoch, .value = old });
}

static void try_open(struct world *w, struct copying *c)
{
    struct partition_options o = w->options;
    struct partition_report report;
    struct partition *p = NULL;
    size_t before = 0, after = 0;
    bool good = c->loss == LOSS_NOTES;
    int tries = good ? 1 : 2; /* a refusal is not forgotten by the next start */

    o.event = NULL;
    o.listen = false;
    c->to->ops->list(c->to, STR(""), count_log, &before);
    while (tries-- > 0) {
        int err = partition_open(c->to, &o, w->wall_ms, w->mono_ms, &p, &report);
        trace_note("  without %s: %s: %s", losses[c->loss], err ? error_name(err) : "ok",
                   err ? store_detail() : "");
        CHECK(err == (good ? 0 : BELFRY_CORRUPT), "a journal without %s is %s: %s", losses[c->loss],
              err ? "refused" : "opened", err ? store_detail() : "");
        partition_close(p);
    }
    c->to->ops->list(c->to, STR(""), count_log, &after);
    CHECK(good || after == before, "a start that is refused removes %zu of %zu logs",
          before - after, before);
}

static const enum event told[LOSS_COUNT] = {
    [LOSS_FIRST] = EVENT_FIRST_MISSING, [LOSS_LAST] = EVENT_LAST_MISSING,
    [LOSS_ALL] = EVENT_ALL_MISSING,     [LOSS_CUT] = EVENT_LAST_CUT,
    [LOSS_OWNER] = EVENT_OWNER_MISSING, [LOSS_RECORDS] = EVENT_OWNER_MISSING,
    [LOSS_NEWER] = EVENT_OWNER_OLD,     [LOSS_COMMIT] = EVENT_END_MISSING,
    [LOSS_DAMAGE] = EVENT_END_DAMAGED,  [LOSS_ANOTHER] = EVENT_END_DAMAGED,
    [LOSS_NOTES] = EVENT_NOTES_UNKNOWN,
};

void tamper(struct world *w)
{
    /* Random numbers of its own: what else happens does not depend on it. */
    struct rng r = { w->seed ^ (w->crashes << 32) ^ w->epoch };
    struct copying c = { .from = w->memory, .loss = (enum loss)rng_below(&r, LOSS_COUNT) };
    struct owner_note note;
    int err = owner_read(w->memory, 0, &note, &c.epoch);

    if (!err)
        err = w->memory->ops->list(w->memory, STR("p0000/journal/"), note_segment, &c);
    CHECK(err == 0, "the disk cannot be read: %s", store_detail());
    if (!note.present || !choose(&c, &r, &note))
        return;
    CHECK(store_open("memory:", NULL, &c.to) == 0, "no store");
    err = c.from->ops->scan(c.from, STR(""), copy_record, &c);
    if (!err)
        err = c.from->ops->list(c.from, STR(""), copy_log, &c);
    CHECK(err == 0, "the disk cannot be copied: %s: %s", error_name(err), store_detail());
    lose_record(&c, &note);
    try_open(w, &c);
    cover_event(told[c.loss]);
    store_close(c.to);
}
