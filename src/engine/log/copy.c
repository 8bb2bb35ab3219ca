/* SPDX-License-Identifier: MIT */
/* Copying forward: the live part of an old segment is written again, so that the segment can go. */
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/record_cold.h"

#define COPY_SLICE 1000 /* records about queues, and steps of figures, in one call */
#define STEP_PIECE 256  /* bytes of a step that cost as much as another record */

struct copying {
    struct engine *e;
    uint32_t segment;
};

/* Counts a copy that was written from `start` on, and notes the segment where it stands. */
static int copy_settle(struct engine *e, size_t start, uint32_t *ret_segment)
{
    uint32_t segment = e->segment; /* emit_settle may go on in another */
    int err = emit_settle(e, start, 0, SEEN_BY_NONE);

    if (!err)
        *ret_segment = segment;
    return err;
}

static int copy_job(struct engine *e, struct job *j)
{
    struct job_image image;
    size_t start = e->log.out->len;
    uint32_t before = j->segment;

    job_image_of(j, &image);
    record_put_job(e->log.out, &image);
    int err = copy_settle(e, start, &j->segment);
    if (!err) {
        segment_sub(e, before);
        segment_add(e, j->segment);
    }
    return err;
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

/* Writes a line of a tally: the point up to which a class was read in a run, or a lane that has
 * jobs aside. */
static void put_floor(struct buf *out, unsigned kind, uint64_t number, struct cold_point at)
{
    wire_put_u8(out, (uint8_t)kind);
    wire_put_varint(out, number);
    wire_put_zigzag(out, at.at_ms);
    wire_put_varint(out, at.seq);
}

static int put_aside(void *floors, uint64_t lane, struct cold_point from)
{
    put_floor(floors, CLASS_ASIDE, lane, from);
    return 0;
}

/* Counts on disk and floors, as they are now. Those of runs that are no more are left out. */
static void put_tally(struct engine *e, struct queue *q, uint32_t oldest)
{
    struct buf counts = { 0 }, floors = { 0 };

    q->cold_bytes = q->cold_kept; /* replay will begin with the bytes that are written here */
    for (int i = 0; i < COLD_SLOTS; i++)
        wire_put_zigzag(&counts, q->cold[i]);
    for (unsigned i = 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (!c)
            continue;
        if (class_is_on_disk(c))
            put_floor(&floors, c->number | TALLY_FROM, 0, c->from);
        for (size_t f = 0; f < c->floor_count; f++)
            if (c->floors[f].number >= oldest)
                put_floor(&floors, c->number, c->floors[f].number, c->floors[f].upto);
    }
    if (q->asides > 0)
        asides_each(e, q, put_aside, &floors);
    if (counts.failed || floors.failed)
        e->log.out->failed = true;
    else
        record_put_tally(e->log.out, &(struct tally_record){ queue_name(q), buf_view(&counts),
                                                             buf_view(&floors), q->cold_bytes });
    buf_fini(&counts);
    buf_fini(&floors);
}

/* The number of the oldest backlog run there is. */
static uint32_t oldest_backlog(const struct engine *e)
{
    uint32_t oldest = UINT32_MAX;

    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        if (r->d.family == FAMILY_BACKLOG && r->d.number < oldest)
            oldest = r->d.number;
    return oldest;
}

static bool tally_is_nothing(const struct queue *q)
{
    for (int i = 0; i < COLD_SLOTS; i++)
        if (q->cold[i] != 0)
            return false;
    return q->asides == 0;
}

static int copy_settings(struct engine *e, struct queue *q)
{
    size_t start = e->log.out->len;
    uint32_t segment = 0;

    struct queue_record r = { .queue = queue_name(q), .settings = *q->settings };
    rated_taken(e, &q->rated, &r.settings.rate, &r.taken);
    record_put_queue(e->log.out, &r);
    int err = copy_settle(e, start, &segment);
    if (!err)
        queue_noted(e, q, NOTE_SETTINGS, segment);
    return err;
}

static int copy_tally(struct engine *e, struct queue *q, uint32_t oldest)
{
    size_t start = e->log.out->len;
    uint32_t segment = 0;

    if (!q->tally_changed && tally_is_nothing(q) && oldest == UINT32_MAX) {
        queue_noted(e, q, NOTE_TALLY, 0);
        queue_settle(e, q);
        return 0;
    }
    put_tally(e, q, oldest);
    int err = copy_settle(e, start, &segment);
    if (!err)
        queue_noted(e, q, NOTE_TALLY, segment);
    q->tally_changed = q->tally_changed && err;
    return err;
}

/* Copies records about queues, the oldest first. 1: there are more. */
static int copy_queues(struct engine *e, enum queue_note note, uint32_t segment, int *budget)
{
    uint32_t oldest = oldest_backlog(e);
    const struct list *head = &e->place.noted[note];

    for (; !list_empty(head); --*budget) {
        struct queue *q = container_of(head->next, struct queue, noted[note]);

        if (q->segments[note] > segment)
            break;
        if (*budget <= 0)
            return 1;
        int err = note == NOTE_SETTINGS ? copy_settings(e, q) : copy_tally(e, q, oldest);
        if (err)
            return err;
    }
    return 0;
}

/* ---- Things in lists ---- */

static void put_run(struct engine *e, const void *thing)
{
    const struct cold_run *r = thing;
    struct buf desc = { 0 };

    run_desc_put(&desc, &r->d);
    struct str bytes = buf_view(&desc);
    record_put_run(e->log.out, &bytes);
    e->log.out->failed = e->log.out->failed || desc.failed;
    buf_fini(&desc);
}

static void put_grave(struct engine *e, const void *thing)
{
    const struct grave *g = thing;

    record_put_grave(e->log.out,
                     &(struct grave_record){ g->serial, g->gone_ms, { g->key, g->len } });
}

static void put_tenant(struct engine *e, const void *thing)
{
    const struct tenant *t = thing;

    struct tenant_record r = { .name = tenant_name(t), .settings = t->settings };

    rated_taken(e, &t->rated, &r.settings.rate, &r.taken);
    record_put_tenant(e->log.out, &r);
}

static void put_token(struct engine *e, const void *thing)
{
    const struct token *t = thing;

    record_put_token(e->log.out, &(struct token_record){
                                     .name = token_name(t),
                                     .tenant = token_tenant(t),
                                     .role = t->role,
                                     .created_ms = t->created_ms,
                                     .expires_ms = t->expires_ms,
                                     .hash = { (const char *)t->hash, TOKEN_HASH_BYTES },
                                 });
}

/* Copies the things of a list. Their links and segments are at these offsets; segment 0: no record
 * says anything of the thing. */
static int copy_list(const struct copying *c, const struct list *head, size_t link_at,
                     size_t segment_at, void (*put)(struct engine *e, const void *thing))
{
    const struct list *node;
    int err = 0;

    list_each (node, head) {
        char *thing = (char *)((uintptr_t)node - link_at);
        uint32_t *segment = (uint32_t *)(void *)(thing + segment_at);
        size_t start = c->e->log.out->len;

        if (*segment == 0 || *segment > c->segment)
            continue;
        put(c->e, thing);
        err = copy_settle(c->e, start, segment);
        if (err)
            break;
    }
    return err;
}

static int copy_frontier(struct engine *e, uint32_t segment)
{
    size_t start = e->log.out->len;

    if (!e->cold.frontier_segment || e->cold.frontier_segment > segment)
        return 0;
    record_put_cold(e->log.out,
                    &(struct cold_record){ e->place.frontier.at_ms, e->place.frontier.seq,
                                           e->cold.next_file, e->cold.next_grave });
    int err = copy_settle(e, start, &e->cold.frontier_segment);
    if (!err)
        e->cold.frontier_noted = e->place.frontier;
    return err;
}

/* Copies steps of figures, some at a time. 1: there are more. */
static int copy_steps(struct engine *e, enum step_kind kind, uint32_t segment, int *budget)
{
    const struct steps *all = &e->pulses.steps[kind];
    bool twice = MUTANT(e->o.mutant, SERIES_TWICE);

    for (size_t i = 0; i < all->count; i++) {
        struct step *s = all->all[i];
        size_t start = e->log.out->len;

        if (s->segment > segment)
            continue;
        if (*budget <= 0)
            return 1;
        *budget -= 1 + (int)(s->len / STEP_PIECE);
        record_put_series(
            e->log.out,
            &(struct series_record){
                .at_ms = s->at_ms,
                .kind = (unsigned)(kind == STEP_MINUTES ? twice ? SERIES_ADDS : SERIES_MINUTE
                                                        : SERIES_HOUR),
                .step = step_figures(s),
            });
        int err = copy_settle(e, start, &s->segment);
        if (err)
            return err;
    }
    return 0;
}

/* If runs are to be copied, copies the secret of their names before them. */
static int copy_secret(struct engine *e, uint32_t segment)
{
    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        if (r->segment && r->segment <= segment)
            return secret_repeat(e);
    return 0;
}

#define COPY(head, type, put) \
    copy_list(&c, head, offsetof(struct type, link), offsetof(struct type, segment), put)

int engine_copy_rest(struct engine *e, uint32_t segment)
{
    const struct copying c = { e, segment };
    int budget = engine_slice(e, COPY_SLICE), err = 0;

    for (int note = 0; note < QUEUE_NOTES && !err; note++)
        err = copy_queues(e, (enum queue_note)note, segment, &budget);
    for (int kind = 0; kind < STEP_KINDS && !err; kind++)
        err = copy_steps(e, (enum step_kind)kind, segment, &budget);
    if (!err)
        err = copy_secret(e, segment);
    if (!err)
        err = COPY(&e->cold.runs, cold_run, put_run);
    if (!err)
        err = COPY(&e->cold.grave_list, grave, put_grave);
    if (!err)
        err = COPY(&e->place.tenant_list, tenant, put_tenant);
    if (!err)
        err = COPY(&e->log.tokens.all, token, put_token);
    return err ? err : copy_frontier(e, segment);
}
