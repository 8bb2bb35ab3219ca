/* SPDX-License-Identifier: MIT */
/* RECUR and the other verbs about recurrences. */
#include "base/wire.h"
#include "engine/recurrence.h"
#include "verbs/handlers.h"
#include "verbs/seal.h"

static const char *const catchups[] = {
#define WORD(name, text) [CATCHUP_##name] = text,
    CATCHUPS(WORD)
#undef WORD
};

static const char *const overlaps[] = {
#define WORD(name, text) [OVERLAP_##name] = text,
    OVERLAPS(WORD)
#undef WORD
};

static const char *const kinds[] = {
    [RECUR_RRULE] = "rrule", [RECUR_CRON] = "cron", [RECUR_EVERY] = "every"
};

static void field_moment(struct reply *r, const char *name, int64_t ms)
{
    reply_text(r, name);
    if (ms >= 0)
        reply_integer(r, ms);
    else
        reply_null(r);
}

static void reply_entry(struct reply *r, const struct ledger_entry *x)
{
    reply_map(r, 8);
    reply_field(r, "nominal_ms", x->nominal_ms);
    reply_field(r, "upto_ms", x->upto_ms);
    reply_field(r, "count", (int64_t)x->count);
    reply_text(r, "outcome");
    reply_text(r, ledger_word(x->outcome));
    reply_text(r, "why");
    if (ledger_why(x->outcome)[0])
        reply_text(r, ledger_why(x->outcome));
    else
        reply_null(r);
    reply_text(r, "by_hand");
    reply_boolean(r, x->by_hand);
    reply_text(r, "id");
    if (x->id.seq)
        reply_id(r, x->id);
    else
        reply_null(r);
    field_moment(r, "ended_ms", x->id.seq && x->outcome != LEDGER_OPEN ? x->ended_ms : -1);
}

static uint64_t skipped(const struct recurrence *r)
{
    uint64_t n = 0;

    for (int i = LEDGER_EXPIRED; i < LEDGER_OUTCOME_COUNT; i++)
        n += r->totals[i];
    return n;
}

#define VIEW_FIELDS 26

static void reply_view(struct reply *r, const struct recurrence_view *v, bool ledger)
{
    const struct recurrence *x = &v->r;
    struct str tenant, queue;

    scope_split(x->queue, &tenant, &queue);
    reply_map(r, VIEW_FIELDS + ledger);
    reply_field_bytes(r, "name", v->name);
    reply_field_bytes(r, "tenant", tenant);
    reply_field_bytes(r, "queue", queue);
    reply_text(r, "kind");
    reply_text(r, kinds[x->kind]);
    reply_field_bytes(r, "rule", x->rule);
    reply_field_bytes(r, "tz", x->zone);
    reply_field(r, "start_ms", x->start_ms);
    reply_field_bytes(r, "exdate", x->exdate);
    reply_field_bytes(r, "rdate", x->rdate);
    reply_text(r, "catchup");
    reply_text(r, catchups[x->catchup]);
    reply_text(r, "overlap");
    reply_text(r, overlaps[x->overlap]);
    reply_field(r, "priority", x->priority);
    reply_text(r, "payload");
    reply_bytes(r, x->payload);
    reply_text(r, "paused");
    reply_boolean(r, x->paused);
    reply_field(r, "revision", (int64_t)x->revision);
    reply_field(r, "created_ms", v->created_ms);
    reply_field(r, "edited_ms", x->edited_ms);
    field_moment(r, "last_ms", x->last_ms);
    field_moment(r, "next_ms", x->paused ? -1 : x->next_ms);
    reply_text(r, "finished");
    reply_boolean(r, x->next_ms < 0);
    reply_field(r, "queued", (int64_t)x->queued);
    reply_field(r, "open", (int64_t)v->open);
    reply_field(r, "ran", (int64_t)x->totals[LEDGER_RAN]);
    reply_field(r, "failed", (int64_t)x->totals[LEDGER_FAILED]);
    reply_field(r, "cancelled", (int64_t)x->totals[LEDGER_CANCELLED]);
    reply_field(r, "skipped", (int64_t)skipped(x));
    if (!ledger)
        return;
    reply_text(r, "ledger");
    reply_array(r, x->ledger_count);
    for (size_t i = 0; i < x->ledger_count; i++)
        reply_entry(r, &x->ledger[i]);
}

/* One tenant's; false after an error reply. */
static bool one_tenant(struct verb_call *c)
{
    if (!str_eq(c->tenant, STR(TENANT_ALL)))
        return true;
    verb_error(c, BELFRY_INVALID, "tenant: expected the name of one, not *");
    return false;
}

static void show(struct verb_call *c)
{
    struct recurrence_view v;
    int err = engine_recurrence_get(c->engine, c->tenant, c->args[RECUR_NAME].str, &v);

    if (err == BELFRY_NOTFOUND)
        reply_null(c->reply);
    else if (err)
        verb_error(c, err, engine_detail(c->engine));
    else if (v.damaged)
        verb_error(c, BELFRY_CORRUPT, "what is stored of it cannot be read: RECURDELETE it");
    else
        reply_view(c->reply, &v, true);
}

void run_recurrence(struct verb_call *c)
{
    if (one_tenant(c))
        show(c);
}

static struct str given(const struct arg_value *v)
{
    return v->set ? v->str : (struct str){ 0 };
}

void run_recur(struct verb_call *c)
{
    static const struct item_args at = {
        .queue = RECUR_ARG_QUEUE,
        .payload = RECUR_PAYLOAD,
        .in = -1,
        .at = -1,
        .key = -1,
        .if_exists = -1,
        .priority = RECUR_PRIORITY,
        .attempts = RECUR_ATTEMPTS,
        .backoff = RECUR_BACKOFF,
        .lease = RECUR_LEASE,
        .retain = RECUR_RETAIN,
        .expire = RECUR_EXPIRE,
        .tag = RECUR_TAG,
        .meta = RECUR_META,
        .after = -1,
        .after_fail = -1,
        .notify = RECUR_NOTIFY,
        .gates = RECUR_GATES,
        .order = RECUR_ORDER,
        .push = RECUR_PUSH,
    };
    const struct arg_value *a = c->args;
    struct item item;
    int rule, err;

    if (!one_tenant(c) || !item_of(c, &at, &item))
        return;
    rule = rule_given(c, RECUR_ARG_RRULE);
    if (rule < 0)
        return;
    err = engine_recur(
        c->engine,
        &(struct recurrence_spec){
            .tenant = c->tenant,
            .name = a[RECUR_NAME].str,
            .job = item.spec,
            .kind = (enum recur_kind)(rule - RECUR_ARG_RRULE),
            .rule = a[rule].str,
            .zone = a[RECUR_TZ].set ? a[RECUR_TZ].str : STR("UTC"),
            .exdate = given(&a[RECUR_EXDATE]),
            .rdate = given(&a[RECUR_RDATE]),
            .start_ms = a[RECUR_START].set ? a[RECUR_START].number : -1,
            .catchup = a[RECUR_CATCHUP].set ? (enum catchup)a[RECUR_CATCHUP].number : CATCHUP_LAST,
            .overlap = a[RECUR_OVERLAP].set ? (enum overlap)a[RECUR_OVERLAP].number : OVERLAP_SKIP,
        });
    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else
        show(c);
}

static void pause(struct verb_call *c, bool paused)
{
    if (one_tenant(c))
        verb_ok(c, engine_recurrence_pause(c->engine, c->tenant, c->args[RECUR_NAME].str, paused));
}

void run_recurpause(struct verb_call *c)
{
    pause(c, true);
}

void run_recurresume(struct verb_call *c)
{
    pause(c, false);
}

void run_recurdelete(struct verb_call *c)
{
    if (one_tenant(c))
        verb_ok(c, engine_recurrence_delete(c->engine, c->tenant, c->args[RECUR_NAME].str));
}

void run_recurrun(struct verb_call *c)
{
    struct job_id id;
    int err;

    if (!one_tenant(c))
        return;
    err = engine_recurrence_run(c->engine, c->tenant, c->args[RECUR_NAME].str, &id);
    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else
        reply_id(c->reply, id);
    if (!err)
        verb_outcome(c, id, "made");
}

/* Gathered before anything is answered, as bytes: views last only for the engine's call. */
struct gathered {
    struct buf bytes; /* of each: name, created, what is stored */
    size_t n;
};

static int gather(void *arg, const struct recurrence_view *v)
{
    struct gathered *g = arg;
    struct buf one = { 0 };

    if (v->damaged)
        return 0;
    recurrence_encode(&one, &v->r);
    wire_put_bytes(&g->bytes, v->name);
    wire_put_zigzag(&g->bytes, v->created_ms);
    wire_put_bytes(&g->bytes, buf_view(&one));
    g->bytes.failed = g->bytes.failed || one.failed;
    buf_fini(&one);
    g->n++;
    return g->bytes.failed ? BELFRY_NOMEM : 0;
}

static void reply_gathered(struct verb_call *c, const struct gathered *g,
                           const struct list_cursor *next)
{
    struct wire_reader in = wire_reader_of(buf_view(&g->bytes));
    struct reply *r = c->reply;

    reply_map(r, 2);
    reply_text(r, "recurrences");
    reply_array(r, g->n);
    for (size_t i = 0; i < g->n; i++) {
        struct recurrence_view v;

        v.name = wire_bytes(&in);
        v.created_ms = wire_zigzag(&in);
        recurrence_decode(wire_bytes(&in), 0, &v.r);
        v.open = ledger_open(&v.r);
        reply_view(r, &v, false);
    }
    reply_text(r, "cursor");
    seal_reply(c, next);
}

void run_recurrences(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct list_cursor cursor = { 0 };
    struct gathered g = { 0 };
    size_t limit = a[RECURRENCES_LIMIT].set ? (size_t)a[RECURRENCES_LIMIT].number : 100;
    int err = 0;

    if (!one_tenant(c))
        return;
    if (a[RECURRENCES_CURSOR].set && !seal_parse(c, a[RECURRENCES_CURSOR].str, &cursor))
        err = BELFRY_INVALID;
    if (!err)
        err = engine_recurrences(c->engine, c->tenant, limit, gather, &g, &cursor);
    if (err)
        verb_error(c, err,
                   err == BELFRY_INVALID ? "cursor: expected one that RECURRENCES gave" : "");
    else
        reply_gathered(c, &g, &cursor);
    buf_fini(&g.bytes);
}
