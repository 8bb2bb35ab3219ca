/* SPDX-License-Identifier: MIT */
/* BULK, BULKS, BULKSTOP. */
#include "engine/bulk.h"

#include "verbs/handlers.h"
#include "verbs/page.h"

/* A bulk as BULKS shows it. */
struct bulk_shown {
    struct str tenant;
    struct bulk_view view; /* moments that are not given or not known are negative */
};

static void put_states(struct reply *r, const void *view)
{
    unsigned states = ((const struct bulk_shown *)view)->view.b.states;

    reply_array(r, (size_t)__builtin_popcount(states));
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (states >> i & 1)
            reply_text(r, job_state_name((enum job_state)i));
}

/* clang-format off */
#define OF struct bulk_shown
const struct shape_field bulk_fields[] = {
    SHOW_ID("id", view.id), SHOW_WORD("action", view.b.action, bulk_action_name, WORDS(BULK_ACTIONS)),
    SHOW_BOOL("dry_run", view.b.dry), SHOW_WORD("state", view.b.state, bulk_state_name, WORDS(BULK_STATES)),
    SHOW_TEXT("tenant", tenant), SHOW_INT("matched", view.b.matched),
    SHOW_INT("changed", view.b.changed), SHOW_INT("skipped", view.b.skipped),
    SHOW_INT("looked_at", view.b.looked), SHOW_QUEUE(view.b.queue, OR_NULL),
    SHOW_OWN("states", SHAPE_LIST, put_states, WORDS(JOB_STATES)), SHOW_TEXT("tag", view.b.tag, OR_NULL),
    SHOW_MOMENT("from_ms", view.b.from_ms, OR_NULL), SHOW_MOMENT("to_ms", view.b.to_ms, OR_NULL),
    SHOW_TEXT("recurrence", view.b.recurrence, OR_NULL), SHOW_BYTES("key_prefix", view.b.key_prefix, OR_NULL),
    SHOW_BYTES("order", view.b.order, OR_NULL), SHOW_BYTES("worker", view.b.worker, OR_NULL),
    SHOW_BYTES("with_error", view.b.with_error, OR_NULL),
    SHOW_BYTES("with_error_group", view.b.with_error_group, OR_NULL), SHOW_MOMENT("ended_from_ms", view.b.ended_from_ms, OR_NULL),
    SHOW_MOMENT("ended_to_ms", view.b.ended_to_ms, OR_NULL),
    SHOW_MOMENT("due_ms", view.b.due_ms, OR_NULL), SHOW_MOMENT("created_ms", view.created_ms),
    SHOW_MOMENT("ended_ms", view.b.ended_ms, OR_NULL), SHOW_TEXT("error", view.b.error, OR_NULL),
    { 0 },
};
/* clang-format on */

static struct bulk_shown shown_of(struct str tenant, const struct bulk_view *v)
{
    struct bulk_shown shown = { tenant, *v };
    struct bulk *b = &shown.view.b;

    b->from_ms = b->from_ms > 0 ? b->from_ms : -1;
    b->to_ms = b->to_ms != INT64_MAX ? b->to_ms : -1;
    b->ended_from_ms = b->ended_from_ms > 0 ? b->ended_from_ms : -1;
    b->ended_to_ms = b->ended_to_ms > 0 ? b->ended_to_ms : -1;
    b->due_ms = b->action == BULK_RESCHEDULE ? b->due_ms : -1;
    b->ended_ms = b->state != BULK_RUNNING ? b->ended_ms : -1;
    return shown;
}

static void bulk_show(struct verb_call *c, struct job_id id)
{
    struct bulk_shown shown;
    struct bulk_view v;

    if (verb_failed(c, engine_bulk_get(c->engine, c->tenant, id, &v)))
        return;
    if (v.damaged) {
        verb_error(c, BELFRY_CORRUPT, "what is stored of it cannot be read: BULKSTOP it");
    } else {
        shown = shown_of(c->tenant, &v);
        shape_put(c->reply, bulk_fields, &shown);
    }
}

void run_bulk(struct verb_call *c)
{
    const struct arg_value *queue = arg_of(c, "queue");
    char name[QUEUE_MAX_BYTES];
    struct bulk_spec s = { .tenant = c->tenant, .state = -1, .from_ms = -1, .to_ms = -1 };
    struct job_id id;

    args_store(c, &s);
    s.states = verb_states(c);
    if (!one_tenant(c) || !due_of(c, arg_of(c, "in"), &s.due_ms))
        return;
    if (s.action != BULK_RESCHEDULE && s.due_ms >= 0) {
        verb_error(c, BELFRY_INVALID, "in, at: only reschedule takes a time");
        return;
    }
    if (queue->set && !queue_named(c, queue->str, name, &s.queue))
        return;
    if (verb_failed(c, engine_bulk(c->engine, &s, &id)))
        return;
    verb_outcome(c, id, s.dry ? "dry run" : "begun");
    bulk_show(c, id);
}

void run_bulkstop(struct verb_call *c)
{
    if (one_tenant(c))
        verb_ok(c, engine_bulk_stop(c->engine, c->tenant, c->args[SUBJECT].id));
}

static int bulk_add(void *arg, const struct bulk_view *v)
{
    struct page *page = arg;
    struct bulk_shown shown;

    if (v->damaged)
        return 0;
    shown = shown_of(page->call->tenant, v);
    return page_add(page, &shown);
}

void run_bulks(struct verb_call *c)
{
    const struct arg_value *id = arg_of(c, "id");
    struct page page = { .call = c, .fields = bulk_fields };
    struct bulk_view v;
    int err;

    if (!one_tenant(c))
        return;
    page_begin(&page);
    if (id->set) {
        err = engine_bulk_get(c->engine, c->tenant, id->id, &v);
        err = err ? err : bulk_add(&page, &v);
    } else {
        err = engine_bulks(c->engine, c->tenant, bulk_add, &page);
    }
    page_end(&page, err, err == BELFRY_NOTFOUND ? engine_detail(c->engine) : "");
}
