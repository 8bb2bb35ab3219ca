/* SPDX-License-Identifier: MIT */
/* Copying forward: what an old segment still holds is written again, so that it can go. */
#include "engine/log/emit.h"
#include "engine/place/class.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "engine/place/segment.h"
#include "record/record_cold.h"

struct copying {
    struct engine *e;
    uint32_t segment;
};

static int copy_job(struct engine *e, struct job *j)
{
    struct job_image image;
    size_t start = e->log.out->len;
    uint32_t segment = e->segment; /* settle may go on in another */
    int err;

    job_image_of(j, &image);
    record_put_job(e->log.out, &image);
    err = emit_settle(e, start, 0, SEEN_BY_NONE);
    if (!err) {
        segment_sub(e, j->segment);
        segment_add(e, segment);
        j->segment = segment;
    }
    return err;
}

static int copy_queue(struct engine *e, struct queue *q)
{
    struct queue_record r = { .queue = queue_name(q), .settings = q->settings };
    size_t start = e->log.out->len;
    uint32_t segment = e->segment;
    int err;

    record_put_queue(e->log.out, &r);
    err = emit_settle(e, start, 0, SEEN_BY_NONE);
    if (!err)
        q->segment = segment;
    return err;
}

static int copy_tenants(struct engine *e, uint32_t segment)
{
    struct list *node;

    list_each (node, &e->place.tenant_list) {
        struct tenant *t = container_of(node, struct tenant, link);
        uint32_t now = e->segment;
        size_t start = e->log.out->len;

        if (!t->segment || t->segment > segment)
            continue;
        record_put_tenant(e->log.out, &(struct tenant_record){ tenant_name(t), t->settings });
        if (emit_settle(e, start, 0, SEEN_BY_NONE) < 0)
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
    struct tally_record r = { .queue = queue_name(q) };

    for (int i = 0; i < COLD_SLOTS; i++)
        wire_put_zigzag(&counts, q->cold[i]);
    for (unsigned i = 0; i < CLASSES; i++) {
        const struct class *c = &q->classes[i];

        if (class_is_on_disk(c)) {
            wire_put_u8(&floors, (uint8_t)(c->number | TALLY_FROM));
            wire_put_varint(&floors, 0);
            wire_put_zigzag(&floors, c->from.at_ms);
            wire_put_varint(&floors, c->from.seq);
        }
        for (size_t f = 0; f < c->floor_count; f++) {
            if (c->floors[f].number < oldest)
                continue;
            wire_put_u8(&floors, (uint8_t)c->number);
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
        e->log.out->failed = true;
    else
        record_put_tally(e->log.out, &r);
    buf_fini(&counts);
    buf_fini(&floors);
}

/* The number of the oldest backlog run there is. */
static uint32_t oldest_backlog(const struct engine *e)
{
    uint32_t oldest = UINT32_MAX;
    const struct list *node;

    list_each (node, &e->cold.runs) {
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
        start = e->log.out->len;
        if (!q->tally_segment || q->tally_segment > segment)
            continue;
        if (!q->tally_changed && tally_is_nothing(q) && oldest == UINT32_MAX) {
            q->tally_segment = 0;
            queue_settle(e, q);
            continue;
        }
        put_tally(e, q, oldest);
        if (emit_settle(e, start, 0, SEEN_BY_NONE) < 0)
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

    list_each (node, &e->cold.runs) {
        struct cold_run *r = container_of(node, struct cold_run, link);
        uint32_t now = e->segment;
        size_t start = e->log.out->len;
        struct str bytes;

        if (r->segment > segment)
            continue;
        desc.len = 0;
        run_desc_put(&desc, &r->d);
        bytes = buf_view(&desc);
        record_put_run(e->log.out, &bytes);
        err = emit_settle(e, start, desc.failed ? BELFRY_NOMEM : 0, SEEN_BY_NONE);
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

    list_each (node, &e->cold.grave_list) {
        struct grave *g = container_of(node, struct grave, link);
        uint32_t now = e->segment;
        size_t start = e->log.out->len;

        if (g->segment > segment)
            continue;
        record_put_grave(e->log.out,
                         &(struct grave_record){ g->serial, g->gone_ms, { g->key, g->len } });
        if (emit_settle(e, start, 0, SEEN_BY_NONE) < 0)
            return BELFRY_NOMEM;
        g->segment = now;
    }
    return 0;
}

static struct token_record token_record_of(const struct token *t)
{
    return (struct token_record){
        .name = token_name(t),
        .tenant = token_tenant(t),
        .role = t->role,
        .created_ms = t->created_ms,
        .expires_ms = t->expires_ms,
        .hash = { (const char *)t->hash, TOKEN_HASH_BYTES },
    };
}

static int copy_tokens(struct engine *e, uint32_t segment)
{
    struct list *node;

    list_each (node, &e->log.tokens.all) {
        struct token *t = container_of(node, struct token, link);
        struct token_record r = token_record_of(t);
        uint32_t now = e->segment;
        size_t start = e->log.out->len;

        if (t->segment > segment)
            continue;
        record_put_token(e->log.out, &r);
        if (emit_settle(e, start, 0, SEEN_BY_NONE) < 0)
            return BELFRY_NOMEM;
        t->segment = now;
    }
    return 0;
}

int engine_copy_rest(struct engine *e, uint32_t segment)
{
    int err = copy_runs(e, segment);

    if (!err)
        err = copy_graves(e, segment);
    if (!err)
        err = copy_queues(e, &e->place.queues, segment);
    if (!err)
        err = copy_queues(e, &e->place.idle, segment);
    if (!err)
        err = copy_tenants(e, segment);
    if (!err)
        err = copy_tokens(e, segment);
    if (!err && e->cold.frontier_segment && e->cold.frontier_segment <= segment) {
        uint32_t now = e->segment;
        size_t start = e->log.out->len;

        record_put_cold(e->log.out,
                        &(struct cold_record){ e->place.frontier.at_ms, e->place.frontier.seq,
                                               e->cold.next_file, e->cold.next_grave });
        err = emit_settle(e, start, 0, SEEN_BY_NONE);
        if (!err)
            e->cold.frontier_segment = now;
        if (!err)
            e->cold.frontier_noted = e->place.frontier;
    }
    return err;
}
