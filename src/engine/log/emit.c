/* SPDX-License-Identifier: MIT */
/* Writing records: encode, apply, and take back a record that could not be applied. */
#include "engine/log/log.h"

#include <assert.h>

#include "engine/cold/cold.h"
#include "engine/place/awaited.h"
#include "engine/place/detail.h"
#include "record/record_cold.h"

/* Closes the commit if it is large enough. */
static void commit_roll(struct engine *e)
{
    if (e->o.roll && e->log.out->len >= e->o.commit_bytes)
        e->o.roll(e->o.journal);
}

bool commit_begin(struct engine *e)
{
    bool before = e->log.whole;

    e->log.whole = true;
    return before;
}

int commit_end(struct engine *e, bool before, int err)
{
    e->log.whole = before;
    if (!err && !before)
        commit_roll(e);
    return err;
}

int emit_settle(struct engine *e, size_t start, int applied, enum seen seen)
{
    assert(e->log.out && start <= e->log.out->len);
    if (applied < 0 || e->log.out->failed) {
        /* The head of the commit was written before: the buffer had memory then. */
        e->log.out->len = start;
        e->log.out->failed = false;
        return engine_plain(e, BELFRY_NOMEM);
    }
    e->lsn++;
    e->log.changes += seen >= SEEN_BY_READERS;
    e->log.bytes += e->log.out->len - start;
    if (e->mono_ms < e->log.strict_until_ms)
        seen = SEEN_BY_ALL;
    if (seen >= SEEN_BY_READERS)
        e->log.visible_lsn = e->lsn;
    if (seen == SEEN_BY_ALL)
        e->log.offered_lsn = e->lsn;
    assert(e->log.offered_lsn <= e->log.visible_lsn && e->log.visible_lsn <= e->lsn);
    if (!e->log.whole)
        commit_roll(e);
    return 0;
}

/* Writes and applies a record; if there is no memory to encode it, it is not applied. */
#define EMIT(kind, record, seen)        \
    size_t start = e->log.out->len;     \
    record_put_##record(e->log.out, r); \
    return emit_settle(e, start, e->log.out->failed ? BELFRY_NOMEM : apply_##kind(e, r), seen)

/* Does so with a record of which listeners are told. */
#define EMIT_EVENT(kind, record, seen)                            \
    struct event_draft d;                                         \
    bool told = e->log.listening && event_draft_##kind(e, r, &d); \
    size_t start = e->log.out->len;                               \
    record_put_##record(e->log.out, r);                           \
    return event_tell(                                            \
        e, told ? &d : NULL,                                      \
        emit_settle(e, start, e->log.out->failed ? BELFRY_NOMEM : apply_##kind(e, r), seen))

#define EMIT_SILENT(kind, seen)                                      \
    int emit_##kind(struct engine *e, const struct kind##_record *r) \
    {                                                                \
        EMIT(kind, kind, seen);                                      \
    }
SILENT_RECORDS(EMIT_SILENT)

int emit_put(struct engine *e, const struct job_image *r)
{
    EMIT_EVENT(put, job, SEEN_BY_ALL);
}

static int emit_put_quiet(struct engine *e, const struct job_image *r)
{
    EMIT(put, job, SEEN_BY_READERS);
}

const struct str opts_none = { "", 1 }; /* a varint of 0: the job was made when it was born */

int emit_put_payload(struct engine *e, struct job_image *image, struct buf *payload, bool quiet)
{
    int err = payload->failed ? engine_plain(e, BELFRY_NOMEM) : 0;

    image->payload = buf_view(payload);
    if (!err)
        err = quiet ? emit_put_quiet(e, image) : emit_put(e, image);
    buf_fini(payload);
    return err;
}

int emit_lease(struct engine *e, const struct lease_record *r)
{
    /* A job that a rate has counted is not shown before its count is durable. */
    bool counted = r->rated.len > 0 && !MUTANT(e->o.mutant, RATE_AHEAD);

    EMIT_EVENT(lease, lease, counted ? SEEN_BY_ALL : SEEN_BY_NONE);
}

int emit_back(struct engine *e, const struct back_record *r)
{
    if (MUTANT(e->o.mutant, LOST_RETRY))
        return apply_back(e, r);
    EMIT_EVENT(back, back, SEEN_BY_ALL);
}

static int put_end(struct engine *e, const struct end_record *r)
{
    if (MUTANT(e->o.mutant, LOST_END))
        return apply_end(e, r);
    EMIT_EVENT(end, end, SEEN_BY_READERS);
}

int emit_end(struct engine *e, const struct end_record *r)
{
    int err = put_end(e, r);

    if (!err)
        awaited_end(e, r->seq);
    return err;
}

int emit_move(struct engine *e, const struct move_record *r)
{
    /* A deferred job is given to no worker, and its lease does not show that it was deferred. */
    EMIT_EVENT(move, move, r->deferred ? SEEN_BY_READERS : SEEN_BY_ALL);
}

int emit_released(struct engine *e, const struct released_record *r)
{
    if (MUTANT(e->o.mutant, LOST_RELEASE))
        return apply_released(e, r);
    EMIT_EVENT(released, released, r->at_ms == AT_NEVER ? SEEN_BY_READERS : SEEN_BY_ALL);
}

void engine_direct(struct engine *e, struct buf *out, uint32_t segment, bool begins,
                   uint64_t previous)
{
    e->log.out = out;
    e->segment = segment;
    record_head(out, e->o.epoch, e->now_ms);
    if (begins)
        record_put_begin(out, &(struct begin_record){ previous, e->log.next_seq, e->log.oldest });
    if (begins)
        engine_put_secret(e, out);
}

int engine_set_oldest(struct engine *e, uint32_t segment)
{
    return emit_begin(e, &(struct begin_record){ .next_seq = e->log.next_seq, .oldest = segment });
}

uint32_t engine_oldest(const struct engine *e)
{
    return e->log.oldest;
}

uint64_t engine_last_epoch(const struct engine *e)
{
    return e->log.last_epoch;
}

/* ---- Jobs that moved between memory and disk, and between runs ---- */

int engine_fed(struct engine *e, const struct feed_result *r)
{
    assert(e->place.batch.active && !e->place.batch.gathering && !e->place.batch.fed);
    if (e->place.batch.stale.failed)
        return BELFRY_NOMEM;
    bool before = commit_begin(e);
    int err = secret_repeat(e);
    if (!err)
        err = emit_fed(e, &(struct fed_record){
                              .frontier_at = e->place.frontier.at_ms,
                              .frontier_seq = e->place.frontier.seq,
                              .graves = e->place.batch.graves,
                              .serial = e->cold.next_grave,
                              .runs = r->runs,
                              .seqs = r->seqs,
                              .tallies = r->tallies,
                              .stale = buf_view(&e->place.batch.stale),
                          });
    err = commit_end(e, before, err);
    if (!err)
        buf_fini(&e->place.batch.stale);
    return err;
}

/* Tallies of jobs that were taken out of runs while they were merged. */
static void put_taken(struct engine *e, struct str drops, struct buf *out)
{
    struct wire_reader r = wire_reader_of(drops);

    while (r.p < r.end) {
        const struct cold_run *run = manifest_find(e, (uint32_t)wire_varint(&r));

        if (run) {
            buf_str(out, buf_view(&run->taken));
            out->failed = out->failed || run->taken.failed;
        }
    }
}

int engine_merged(struct engine *e, struct str drops, struct str runs, struct str tallies)
{
    struct buf all = { 0 };

    put_taken(e, drops, &all); /* first, so that no count is below 0 in between */
    buf_str(&all, tallies);
    bool before = commit_begin(e);
    int err = all.failed ? engine_plain(e, BELFRY_NOMEM) : secret_repeat(e);
    if (!err)
        err = emit_merged(e, &(struct merged_record){ drops, runs, buf_view(&all) });
    err = commit_end(e, before, err);
    buf_fini(&all);
    return err;
}
