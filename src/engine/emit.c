/* SPDX-License-Identifier: MIT */
/* Writing records: encode, apply, and take back what could not be applied. */
#include "engine/internal.h"

/* Whose answers must wait for a record to be durable. Not even a lease's own, for its record (see
 * "Commits" in ARCHITECTURE.md); and a job that is given out shows what made it so, but nothing of
 * how others ended. */
enum seen { SEEN_BY_NONE, SEEN_BY_READERS, SEEN_BY_ALL };

/* Counts a record that was written from `start` on and applied with this result. */
static int settle(struct engine *e, size_t start, int applied, enum seen seen)
{
    if (applied < 0 || e->out->failed) {
        /* The head of the commit was written before: the buffer had memory then. */
        e->out->len = start;
        e->out->failed = false;
        return engine_plain(e, BELFRY_NOMEM);
    }
    e->lsn++;
    if (e->mono_ms < e->strict_until_ms)
        seen = SEEN_BY_ALL;
    if (seen >= SEEN_BY_READERS)
        e->visible_lsn = e->lsn;
    if (seen == SEEN_BY_ALL)
        e->offered_lsn = e->lsn;
    if (e->o.roll && e->out->len >= e->o.commit_bytes)
        e->o.roll(e->o.journal);
    return 0;
}

/* Encoding may run out of memory: then nothing is applied. */
#define EMIT(kind, seen)          \
    size_t start = e->out->len;   \
    record_put_##kind(e->out, r); \
    return settle(e, start, e->out->failed ? BELFRY_NOMEM : apply_##kind(e, r), seen)

int emit_put(struct engine *e, const struct job_image *r)
{
    size_t start = e->out->len;

    record_put_job(e->out, r);
    return settle(e, start, e->out->failed ? BELFRY_NOMEM : apply_put(e, r), SEEN_BY_ALL);
}

int emit_lease(struct engine *e, const struct lease_record *r)
{
    EMIT(lease, SEEN_BY_NONE);
}

int emit_extend(struct engine *e, const struct extend_record *r)
{
    EMIT(extend, SEEN_BY_READERS);
}

int emit_back(struct engine *e, const struct back_record *r)
{
    if (MUTANT(e->o.mutant, LOST_RETRY))
        return apply_back(e, r);
    EMIT(back, SEEN_BY_ALL);
}

int emit_end(struct engine *e, const struct end_record *r)
{
    if (MUTANT(e->o.mutant, LOST_END))
        return apply_end(e, r);
    EMIT(end, SEEN_BY_READERS);
}

int emit_move(struct engine *e, const struct move_record *r)
{
    EMIT(move, SEEN_BY_ALL);
}

int emit_mark(struct engine *e, const struct mark_record *r)
{
    EMIT(mark, SEEN_BY_READERS);
}

int emit_queue(struct engine *e, const struct queue_record *r)
{
    EMIT(queue, SEEN_BY_ALL);
}

void engine_direct(struct engine *e, struct buf *out, uint32_t segment, bool begins,
                   uint64_t previous)
{
    e->out = out;
    e->segment = segment;
    record_head(out, e->o.epoch, e->now_ms);
    if (begins)
        record_put_begin(out, &(struct begin_record){ previous, e->next_seq });
}

struct copying {
    struct engine *e;
    uint32_t segment;
};

static int copy_job(struct engine *e, struct job *j)
{
    struct job_image image;
    size_t start = e->out->len;
    uint32_t segment = e->segment; /* settle may go on in another */
    int err;

    job_image_of(j, &image);
    record_put_job(e->out, &image);
    err = settle(e, start, 0, SEEN_BY_NONE);
    if (!err)
        j->segment = segment;
    return err;
}

static int copy_queue(struct engine *e, struct queue *q)
{
    struct queue_record r = { .queue = { q->name, q->name_len }, .settings = q->settings };
    size_t start = e->out->len;
    uint32_t segment = e->segment;
    int err;

    record_put_queue(e->out, &r);
    err = settle(e, start, 0, SEEN_BY_NONE);
    if (!err)
        q->segment = segment;
    return err;
}

static int copy_record(void *arg, enum record_type type, struct str body)
{
    struct copying *c = arg;

    if (type == RECORD_PUT) {
        struct wire_reader r = wire_reader_of(body);
        struct job *j = job_find(c->e, wire_varint(&r));

        if (j && j->segment == c->segment)
            return copy_job(c->e, j);
    } else if (type == RECORD_QUEUE) {
        struct queue_record r;
        struct queue *q = record_get_queue(body, &r) ? queue_find(c->e, r.queue) : NULL;

        if (q && q->segment == c->segment)
            return copy_queue(c->e, q);
    }
    return 0;
}

int engine_copy_forward(struct engine *e, struct str commit, uint32_t segment)
{
    struct copying c = { e, segment };

    if (MUTANT(e->o.mutant, NO_COPY))
        return 0;
    return record_walk(commit, NULL, copy_record, &c);
}

static int replay_record(void *arg, enum record_type type, struct str body)
{
    struct engine *e = arg;
    union {
        struct begin_record begin;
        struct job_image put;
        struct lease_record lease;
        struct extend_record extend;
        struct back_record back;
        struct end_record end;
        struct move_record move;
        struct mark_record mark;
        struct queue_record queue;
    } r;

    switch (type) {
#define REPLAY(TYPE, get, kind) \
    case RECORD_##TYPE:         \
        return record_get_##get(body, &r.kind) ? apply_##kind(e, &r.kind) : BELFRY_CORRUPT;
        REPLAY(BEGIN, begin, begin)
        REPLAY(PUT, job, put)
        REPLAY(LEASE, lease, lease)
        REPLAY(EXTEND, extend, extend)
        REPLAY(BACK, back, back)
        REPLAY(END, end, end)
        REPLAY(MOVE, move, move)
        REPLAY(MARK, mark, mark)
        REPLAY(QUEUE, queue, queue)
#undef REPLAY
    }
    return BELFRY_CORRUPT;
}

int engine_replay(struct engine *e, struct str commit, uint32_t segment)
{
    e->segment = segment;
    return record_walk(commit, NULL, replay_record, e);
}
