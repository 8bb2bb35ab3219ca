/* SPDX-License-Identifier: MIT */
/* Writing records: encode, apply, and take back what could not be applied. */
#include "engine/draft.h"

/* Whose answers must wait for a record to be durable. Not even a lease's own, for its record (see
 * "Commits" in ARCHITECTURE.md); and a job that is given out shows what made it so, but nothing of
 * how others ended. */
enum seen { SEEN_BY_NONE, SEEN_BY_READERS, SEEN_BY_ALL };

void commit_roll(struct engine *e)
{
    if (e->o.roll && e->out->len >= e->o.commit_bytes)
        e->o.roll(e->o.journal);
}

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
    if (!e->whole)
        commit_roll(e);
    return 0;
}

/* Encoding may run out of memory: then nothing is applied. */
#define EMIT(kind, seen)          \
    size_t start = e->out->len;   \
    record_put_##kind(e->out, r); \
    return settle(e, start, e->out->failed ? BELFRY_NOMEM : apply_##kind(e, r), seen)

/* The same for what those who listen are told of. */
#define EMIT_EVENT(kind, record, seen)                        \
    struct event_draft d;                                     \
    bool told = e->listening && event_draft_##kind(e, r, &d); \
    size_t start = e->out->len;                               \
    record_put_##record(e->out, r);                           \
    return event_tell(e, told ? &d : NULL,                    \
                      settle(e, start, e->out->failed ? BELFRY_NOMEM : apply_##kind(e, r), seen))

int emit_put(struct engine *e, const struct job_image *r)
{
    EMIT_EVENT(put, job, SEEN_BY_ALL);
}

int emit_put_quiet(struct engine *e, const struct job_image *r)
{
    size_t start = e->out->len;

    record_put_job(e->out, r);
    return settle(e, start, e->out->failed ? BELFRY_NOMEM : apply_put(e, r), SEEN_BY_READERS);
}

int emit_put_bare(struct engine *e, struct job_image *image, const struct buf *payload)
{
    static const char none[] = { 0 }; /* a varint: made when it was born */

    image->opts = (struct str){ none, sizeof(none) };
    image->payload = buf_view(payload);
    return payload->failed ? engine_plain(e, BELFRY_NOMEM) : emit_put_quiet(e, image);
}

int emit_lease(struct engine *e, const struct lease_record *r)
{
    EMIT_EVENT(lease, lease, SEEN_BY_NONE);
}

int emit_extend(struct engine *e, const struct extend_record *r)
{
    EMIT(extend, SEEN_BY_READERS);
}

int emit_back(struct engine *e, const struct back_record *r)
{
    if (MUTANT(e->o.mutant, LOST_RETRY))
        return apply_back(e, r);
    EMIT_EVENT(back, back, SEEN_BY_ALL);
}

int emit_end(struct engine *e, const struct end_record *r)
{
    if (MUTANT(e->o.mutant, LOST_END))
        return apply_end(e, r);
    EMIT_EVENT(end, end, SEEN_BY_READERS);
}

int emit_move(struct engine *e, const struct move_record *r)
{
    /* What is deferred is given to nobody, and once it is given it does not tell of that. */
    EMIT_EVENT(move, move, r->deferred ? SEEN_BY_READERS : SEEN_BY_ALL);
}

int emit_mark(struct engine *e, const struct mark_record *r)
{
    EMIT(mark, SEEN_BY_READERS);
}

int emit_queue(struct engine *e, const struct queue_record *r)
{
    EMIT(queue, SEEN_BY_ALL);
}

int emit_tenant(struct engine *e, const struct tenant_record *r)
{
    EMIT(tenant, SEEN_BY_ALL);
}

int emit_token(struct engine *e, const struct token_record *r)
{
    EMIT(token, SEEN_BY_ALL);
}

int emit_token_copy(struct engine *e, const struct token_record *r, uint32_t *ret_segment)
{
    uint32_t now = e->segment;
    size_t start = e->out->len;

    record_put_token(e->out, r);
    if (settle(e, start, 0, SEEN_BY_NONE) < 0)
        return BELFRY_NOMEM;
    *ret_segment = now;
    return 0;
}

int emit_told(struct engine *e, const struct told_record *r)
{
    EMIT(told, SEEN_BY_NONE);
}

int emit_listen(struct engine *e, const struct listen_record *r)
{
    EMIT(listen, SEEN_BY_READERS);
}

int emit_fed(struct engine *e, const struct fed_record *r)
{
    EMIT(fed, SEEN_BY_NONE);
}

int emit_merged(struct engine *e, const struct merged_record *r)
{
    EMIT(merged, SEEN_BY_NONE);
}

int emit_loaded(struct engine *e, const struct loaded_record *r)
{
    EMIT(loaded, SEEN_BY_NONE);
}

int emit_taken(struct engine *e, const struct taken_record *r)
{
    EMIT(taken, SEEN_BY_NONE);
}

void engine_direct(struct engine *e, struct buf *out, uint32_t segment, bool begins,
                   uint64_t previous)
{
    e->out = out;
    e->segment = segment;
    record_head(out, e->o.epoch, e->now_ms);
    if (begins)
        record_put_begin(out, &(struct begin_record){ previous, e->next_seq, e->oldest });
}

static int emit_begin(struct engine *e, const struct begin_record *r)
{
    EMIT(begin, SEEN_BY_NONE);
}

int engine_set_oldest(struct engine *e, uint32_t segment)
{
    return emit_begin(e, &(struct begin_record){ .next_seq = e->next_seq, .oldest = segment });
}

uint32_t engine_oldest(const struct engine *e)
{
    return e->oldest;
}

uint64_t engine_last_epoch(const struct engine *e)
{
    return e->last_epoch;
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
    if (!err) {
        segment_sub(e, j->segment);
        segment_add(e, segment);
        j->segment = segment;
    }
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

static int copy_tenants(struct engine *e, uint32_t segment)
{
    struct list *node;

    list_each (node, &e->tenant_list) {
        struct tenant *t = container_of(node, struct tenant, link);
        uint32_t now = e->segment;
        size_t start = e->out->len;

        if (!t->segment || t->segment > segment)
            continue;
        record_put_tenant(e->out, &(struct tenant_record){ { t->name, t->name_len }, t->settings });
        if (settle(e, start, 0, SEEN_BY_NONE) < 0)
            return BELFRY_NOMEM;
        t->segment = now;
    }
    return 0;
}

/* The image of a job, as the body of a PUT record. */
static int copy_image(const struct copying *c, struct str image)
{
    struct wire_reader r = wire_reader_of(image);
    struct job *j = job_find(c->e, wire_varint(&r));

    return j && j->segment == c->segment ? copy_job(c->e, j) : 0;
}

static int copy_record(void *arg, enum record_type type, struct str body)
{
    const struct copying *c = arg;
    union {
        struct taken_record taken;
        struct loaded_record loaded;
    } r;
    int err = 0;

    if (type == RECORD_PUT)
        return copy_image(c, body);
    if (type == RECORD_TAKEN && record_get_taken(body, &r.taken))
        return copy_image(c, r.taken.image);
    if (type == RECORD_LOADED && record_get_loaded(body, &r.loaded)) {
        struct wire_reader images = wire_reader_of(r.loaded.images);

        while (images.p < images.end && !images.bad && !err)
            err = copy_image(c, wire_bytes(&images));
    }
    return err;
}

int engine_copy_forward(struct engine *e, struct str commit, uint32_t segment)
{
    struct copying c = { e, segment };

    if (MUTANT(e->o.mutant, NO_COPY))
        return 0;
    return record_walk(commit, NULL, copy_record, &c);
}

static int put_aside(void *arg, uint64_t lane, struct cold_point from)
{
    struct buf *floors = arg;

    wire_put_u8(floors, CLASS_ASIDE);
    wire_put_varint(floors, lane);
    wire_put_zigzag(floors, from.at_ms);
    wire_put_varint(floors, from.seq);
    return 0;
}

/* Counts on disk and floors, as they are now. Those of runs that are no more are left out. */
static void put_tally(struct engine *e, struct queue *q, uint32_t oldest)
{
    struct buf counts = { 0 }, floors = { 0 };
    struct tally_record r = { .queue = { q->name, q->name_len } };

    for (int i = 0; i < COLD_SLOTS; i++)
        wire_put_zigzag(&counts, q->cold[i]);
    for (unsigned i = 0; i < CLASSES; i++) {
        const struct class *c = &q->classes[i];

        if (class_is_on_disk(c)) {
            wire_put_u8(&floors, (uint8_t)(class_number(c) | TALLY_FROM));
            wire_put_varint(&floors, 0);
            wire_put_zigzag(&floors, c->from.at_ms);
            wire_put_varint(&floors, c->from.seq);
        }
        for (size_t f = 0; f < c->floor_count; f++) {
            if (c->floors[f].number < oldest)
                continue;
            wire_put_u8(&floors, (uint8_t)class_number(c));
            wire_put_varint(&floors, c->floors[f].number);
            wire_put_zigzag(&floors, c->floors[f].upto.at_ms);
            wire_put_varint(&floors, c->floors[f].upto.seq);
        }
    }
    if (q->asides > 0)
        asides_each(e, q, put_aside, &floors);
    r.counts = buf_view(&counts);
    r.floors = buf_view(&floors);
    if (counts.failed || floors.failed)
        e->out->failed = true;
    else
        record_put_tally(e->out, &r);
    buf_fini(&counts);
    buf_fini(&floors);
}

/* The number of the oldest backlog run there is. */
static uint32_t oldest_backlog(const struct engine *e)
{
    uint32_t oldest = UINT32_MAX;
    const struct list *node;

    list_each (node, &e->runs) {
        const struct cold_run *r = container_of(node, struct cold_run, link);

        if (r->d.family == FAMILY_BACKLOG && r->d.number < oldest)
            oldest = r->d.number;
    }
    return oldest;
}

static bool tally_is_nothing(const struct queue *q)
{
    for (int i = 0; i < COLD_SLOTS; i++)
        if (q->cold[i] != 0)
            return false;
    return q->asides == 0;
}

/* The settings of queues too. */
static int copy_queues(struct engine *e, struct list *head, uint32_t segment)
{
    uint32_t oldest = oldest_backlog(e);
    struct list *node, *after;

    list_each_safe (node, after, head) {
        struct queue *q = container_of(node, struct queue, link);
        uint32_t now;
        size_t start;

        if (q->segment && q->segment <= segment && copy_queue(e, q) < 0)
            return BELFRY_NOMEM;
        now = e->segment;
        start = e->out->len;
        if (!q->tally_segment || q->tally_segment > segment)
            continue;
        if (!q->tally_changed && tally_is_nothing(q) && oldest == UINT32_MAX) {
            q->tally_segment = 0;
            queue_settle(e, q);
            continue;
        }
        put_tally(e, q, oldest);
        if (settle(e, start, 0, SEEN_BY_NONE) < 0)
            return BELFRY_NOMEM;
        q->tally_segment = now;
        q->tally_changed = false;
    }
    return 0;
}

static int copy_runs(struct engine *e, uint32_t segment)
{
    struct list *node;
    struct buf desc = { 0 };
    int err = 0;

    list_each (node, &e->runs) {
        struct cold_run *r = container_of(node, struct cold_run, link);
        uint32_t now = e->segment;
        size_t start = e->out->len;
        struct str bytes;

        if (r->segment > segment)
            continue;
        desc.len = 0;
        run_desc_put(&desc, &r->d);
        bytes = buf_view(&desc);
        record_put_run(e->out, &bytes);
        err = settle(e, start, desc.failed ? BELFRY_NOMEM : 0, SEEN_BY_NONE);
        if (err)
            break;
        r->segment = now;
    }
    buf_fini(&desc);
    return err;
}

static int copy_graves(struct engine *e, uint32_t segment)
{
    struct list *node;

    list_each (node, &e->grave_list) {
        struct grave *g = container_of(node, struct grave, link);
        uint32_t now = e->segment;
        size_t start = e->out->len;

        if (g->segment > segment)
            continue;
        record_put_grave(e->out,
                         &(struct grave_record){ g->serial, g->gone_ms, { g->key, g->len } });
        if (settle(e, start, 0, SEEN_BY_NONE) < 0)
            return BELFRY_NOMEM;
        g->segment = now;
    }
    return 0;
}

int engine_copy_rest(struct engine *e, uint32_t segment)
{
    int err = copy_runs(e, segment);

    if (!err)
        err = copy_graves(e, segment);
    if (!err)
        err = copy_queues(e, &e->queues, segment);
    if (!err)
        err = copy_queues(e, &e->idle, segment);
    if (!err)
        err = copy_tenants(e, segment);
    if (!err)
        err = tokens_copy(e, segment);
    if (!err && e->frontier_segment && e->frontier_segment <= segment) {
        uint32_t now = e->segment;
        size_t start = e->out->len;

        record_put_cold(e->out, &(struct cold_record){ e->frontier.at_ms, e->frontier.seq,
                                                       e->next_file, e->next_grave });
        err = settle(e, start, 0, SEEN_BY_NONE);
        if (!err)
            e->frontier_segment = now;
        if (!err)
            e->frontier_noted = e->frontier;
    }
    return err;
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
        struct tenant_record tenant;
        struct token_record token;
        struct told_record told;
        struct listen_record listen;
        struct fed_record fed;
        struct merged_record merged;
        struct loaded_record loaded;
        struct taken_record taken;
        struct str run;
        struct grave_record grave;
        struct tally_record tally;
        struct cold_record cold;
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
        REPLAY(TENANT, tenant, tenant)
        REPLAY(TOKEN, token, token)
        REPLAY(TOLD, told, told)
        REPLAY(LISTEN, listen, listen)
        REPLAY(FED, fed, fed)
        REPLAY(MERGED, merged, merged)
        REPLAY(LOADED, loaded, loaded)
        REPLAY(TAKEN, taken, taken)
        REPLAY(RUN, run, run)
        REPLAY(GRAVE, grave, grave)
        REPLAY(TALLY, tally, tally)
        REPLAY(COLD, cold, cold)
#undef REPLAY
    }
    return BELFRY_CORRUPT;
}

int engine_replay(struct engine *e, struct str commit, uint32_t segment)
{
    struct commit_head head = { 0 };
    int err;

    e->segment = segment;
    err = record_walk(commit, &head, replay_record, e);
    if (head.epoch > e->last_epoch)
        e->last_epoch = head.epoch;
    return err;
}
