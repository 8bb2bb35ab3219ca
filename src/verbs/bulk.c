/* SPDX-License-Identifier: MIT */
/* BULK, BULKS, BULKSTOP. */
#include "engine/bulk.h"

#include "base/wire.h"
#include "verbs/handlers.h"

static void field_moment(struct reply *r, const char *name, bool meant, int64_t ms)
{
    reply_text(r, name);
    if (meant)
        reply_integer(r, ms);
    else
        reply_null(r);
}

static void reply_states(struct reply *r, unsigned states)
{
    size_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += states >> i & 1;
    reply_text(r, "states");
    reply_array(r, n);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (states >> i & 1)
            reply_text(r, job_state_name((enum job_state)i));
}

static void reply_bulk(struct reply *r, struct str tenant, const struct bulk_view *v)
{
    const struct bulk *b = &v->b;
    struct str whose, queue = { 0 };

    if (b->queue.len)
        scope_split(b->queue, &whose, &queue);
    reply_map(r, 18);
    reply_text(r, "id");
    reply_id(r, v->id);
    reply_text(r, "action");
    reply_text(r, bulk_action_name(b->action));
    reply_text(r, "dry_run");
    reply_boolean(r, b->dry);
    reply_text(r, "state");
    reply_text(r, bulk_state_name(b->state));
    reply_field_bytes(r, "tenant", tenant);
    reply_field(r, "matched", (int64_t)b->matched);
    reply_field(r, "changed", (int64_t)b->changed);
    reply_field(r, "skipped", (int64_t)b->skipped);
    reply_field(r, "looked_at", (int64_t)b->looked);
    reply_field_bytes(r, "queue", queue);
    reply_states(r, b->states);
    reply_field_bytes(r, "tag", b->tag);
    field_moment(r, "from_ms", b->from_ms > 0, b->from_ms);
    field_moment(r, "to_ms", b->to_ms != INT64_MAX, b->to_ms);
    field_moment(r, "due_ms", b->action == BULK_RESCHEDULE, b->due_ms);
    reply_field(r, "created_ms", v->created_ms);
    field_moment(r, "ended_ms", b->state != BULK_RUNNING, b->ended_ms);
    reply_field_bytes(r, "error", b->error);
}

/* One tenant's; false after an error reply. */
static bool one_tenant(struct verb_call *c)
{
    if (!str_eq(c->tenant, STR(TENANT_ALL)))
        return true;
    verb_error(c, BELFRY_INVALID, "tenant: expected the name of one, not *");
    return false;
}

static void show(struct verb_call *c, struct job_id id)
{
    struct bulk_view v;
    int err = engine_bulk_get(c->engine, c->tenant, id, &v);

    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else if (v.damaged)
        verb_error(c, BELFRY_CORRUPT, "what is stored of it cannot be read: BULKSTOP it");
    else
        reply_bulk(c->reply, c->tenant, &v);
}

void run_bulk(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    char name[QUEUE_MAX_BYTES];
    struct bulk_spec s = {
        .tenant = c->tenant,
        .action = (enum bulk_action)a[BULK_ARG_ACTION].number,
        .dry = a[BULK_ARG_DRYRUN].set && a[BULK_ARG_DRYRUN].number == 1,
        .state = a[BULK_ARG_STATE].set ? (int)a[BULK_ARG_STATE].number : -1,
        .from_ms = a[BULK_ARG_FROM].set ? a[BULK_ARG_FROM].number : -1,
        .to_ms = a[BULK_ARG_TO].set ? a[BULK_ARG_TO].number : -1,
    };
    struct job_id id;
    int err;

    if (!one_tenant(c) || due_of(c, &a[BULK_ARG_IN], &a[BULK_ARG_AT], &s.due_ms) < 0)
        return;
    if (s.action != BULK_RESCHEDULE && s.due_ms >= 0) {
        verb_error(c, BELFRY_INVALID, "in, at: only reschedule takes a time");
        return;
    }
    if (a[BULK_ARG_TAG].set)
        s.tag = a[BULK_ARG_TAG].str;
    if (a[BULK_ARG_QUEUE].set && !queue_named(c, a[BULK_ARG_QUEUE].str, name, &s.queue))
        return;
    err = engine_bulk(c->engine, &s, &id);
    if (err) {
        verb_error(c, err, engine_detail(c->engine));
        return;
    }
    verb_outcome(c, id, s.dry ? "dry run" : "begun");
    show(c, id);
}

void run_bulkstop(struct verb_call *c)
{
    struct job_id id = c->args[BULKSTOP_ID].id;
    int err;

    if (!one_tenant(c))
        return;
    err = engine_bulk_stop(c->engine, c->tenant, id);
    verb_ok(c, err);
}

/* Gathered before anything is answered, as bytes: views last only for the engine's call. */
struct gathered {
    struct buf bytes; /* of each: id, created, what is stored */
    size_t n;
};

static int gather(void *arg, const struct bulk_view *v)
{
    struct gathered *g = arg;
    struct buf one = { 0 };

    if (v->damaged)
        return 0;
    bulk_encode(&one, &v->b);
    buf_append(&g->bytes, &v->id, sizeof(v->id));
    wire_put_zigzag(&g->bytes, v->created_ms);
    wire_put_bytes(&g->bytes, buf_view(&one));
    g->bytes.failed = g->bytes.failed || one.failed;
    buf_fini(&one);
    g->n++;
    return g->bytes.failed ? BELFRY_NOMEM : 0;
}

static void reply_gathered(struct verb_call *c, const struct gathered *g)
{
    struct wire_reader in = wire_reader_of(buf_view(&g->bytes));

    reply_array(c->reply, g->n);
    for (size_t i = 0; i < g->n; i++) {
        struct bulk_view v = { 0 };

        memcpy(&v.id, in.p, sizeof(v.id));
        in.p += sizeof(v.id);
        v.created_ms = wire_zigzag(&in);
        bulk_decode(wire_bytes(&in), &v.b);
        reply_bulk(c->reply, c->tenant, &v);
    }
}

void run_bulks(struct verb_call *c)
{
    const struct arg_value *id = &c->args[BULKS_ID];
    struct gathered g = { 0 };
    struct bulk_view v;
    int err;

    if (!one_tenant(c))
        return;
    if (id->set) {
        err = engine_bulk_get(c->engine, c->tenant, id->id, &v);
        err = err ? err : gather(&g, &v);
    } else {
        err = engine_bulks(c->engine, c->tenant, gather, &g);
    }
    if (err)
        verb_error(c, err, err == BELFRY_NOTFOUND ? engine_detail(c->engine) : "");
    else
        reply_gathered(c, &g);
    buf_fini(&g.bytes);
}
