/* SPDX-License-Identifier: MIT */
/* RECUR and the other verbs about recurrences. */
#include "engine/recurrence.h"
#include "record/opts.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#define WORD(name, text) text,
static const char *const catchups[] = { CATCHUPS(WORD) };
static const char *const overlaps[] = { OVERLAPS(WORD) };
static const char *const kinds[] = { "rrule", "cron", "every" }; /* by enum recur_kind */

/* clang-format off */
#define OF struct ledger_entry
const struct shape_field ledger_fields[] = {
    SHOW_MOMENT("nominal_ms", nominal_ms), SHOW_MOMENT("upto_ms", upto_ms),
    SHOW_INT("count", count), SHOW_WORD("outcome", outcome, ledger_word, WORDS(LEDGER_OUTCOMES)),
    SHOW_WORD("why", outcome, ledger_why, OR_NULL), SHOW_BOOL("by_hand", by_hand),
    SHOW_ID("id", id, OR_NULL), SHOW_MOMENT("ended_ms", ended_ms, OR_NULL), { 0 },
};
#undef OF
/* clang-format on */

static void put_ledger(struct reply *r, const void *view)
{
    const struct recurrence *x = &((const struct recurrence_view *)view)->r;

    reply_array(r, x->ledger_count);
    for (size_t i = 0; i < x->ledger_count; i++) {
        struct ledger_entry entry = x->ledger[i];

        if (entry.id.seq == 0 || entry.outcome == LEDGER_OPEN)
            entry.ended_ms = -1;
        shape_put(r, ledger_fields, &entry);
    }
}

static void put_next(struct reply *r, const void *view)
{
    const struct recurrence *x = &((const struct recurrence_view *)view)->r;

    if (x->paused || x->next_ms < 0)
        reply_null(r);
    else
        reply_integer(r, x->next_ms);
}

static void put_finished(struct reply *r, const void *view)
{
    reply_boolean(r, ((const struct recurrence_view *)view)->r.next_ms < 0);
}

static void put_skipped(struct reply *r, const void *view)
{
    const struct recurrence *x = &((const struct recurrence_view *)view)->r;
    uint64_t n = 0;

    for (int i = LEDGER_EXPIRED; i < LEDGER_OUTCOME_COUNT; i++)
        n += x->totals[i];
    reply_integer(r, (int64_t)n);
}

/* clang-format off */
#define OF struct recurrence_view
const struct shape_field recurrence_summary_fields[] = {
    SHOW_TEXT("name", name), SHOW_TENANT(r.queue), SHOW_QUEUE(r.queue),
    SHOW_INDEX("kind", r.kind, kinds, .values = "rrule|cron|every"), SHOW_TEXT("rule", r.rule), SHOW_TEXT("tz", r.zone),
    SHOW_MOMENT("start_ms", r.start_ms), SHOW_TEXT("exdate", r.exdate, OR_NULL),
    SHOW_TEXT("rdate", r.rdate, OR_NULL), SHOW_INDEX("catchup", r.catchup, catchups, WORDS(CATCHUPS)),
    SHOW_INDEX("overlap", r.overlap, overlaps, WORDS(OVERLAPS)), SHOW_INT("priority", r.priority),
    SHOW_BYTES("payload", r.payload), SHOW_BOOL("paused", r.paused),
    SHOW_INT("revision", r.revision), SHOW_MOMENT("created_ms", created_ms),
    SHOW_MOMENT("edited_ms", r.edited_ms), SHOW_MOMENT("last_ms", r.last_ms, OR_NULL),
    SHOW_OWN("next_ms", SHAPE_MOMENT, put_next, OR_NULL),
    SHOW_OWN("finished", SHAPE_BOOL, put_finished), SHOW_INT("queued", r.queued),
    SHOW_INT("open", open), SHOW_INT("ran", r.totals[LEDGER_RAN]),
    SHOW_INT("failed", r.totals[LEDGER_FAILED]), SHOW_INT("cancelled", r.totals[LEDGER_CANCELLED]),
    SHOW_OWN("skipped", SHAPE_INT, put_skipped), { 0 },
};

static const struct shape_field recurrence_whole[] = {
    SHOW_ALL(recurrence_summary_fields), SHOW_MAPS("ledger", "LedgerEntry", put_ledger), { 0 },
};
#undef OF

/* A recurrence, and the options of its jobs as RECUR gave them. */
struct recurrence_shown {
    struct recurrence_view view;
    struct job_opts opts;
    struct job_labels labels;
};

static void put_tags(struct reply *r, const void *view)
{
    reply_tags(r, &((const struct recurrence_shown *)view)->labels);
}

static void put_meta(struct reply *r, const void *view)
{
    reply_meta(r, &((const struct recurrence_shown *)view)->labels);
}

static void put_gates(struct reply *r, const void *view)
{
    reply_gates(r, ((const struct recurrence_shown *)view)->opts.passing);
}

#define OF struct recurrence_shown
const struct shape_field recurrence_fields[] = {
    SHOW_PART(view, struct recurrence_view, recurrence_whole),
    SHOW_INT("attempts", opts.attempts, OR_NULL), SHOW_TEXT("backoff", opts.backoff, OR_NULL),
    SHOW_DURATION("lease_ms", opts.lease_ms, OR_NULL), SHOW_DURATION("retain_ms", opts.retain_ms, OR_NULL),
    SHOW_DURATION("expire_ms", opts.expire_ms, OR_NULL), SHOW_OWN("tags", SHAPE_LIST, put_tags),
    SHOW_OWN("meta", SHAPE_DICT, put_meta), SHOW_BOOL("notify", opts.notify),
    SHOW_OWN("gates", SHAPE_TEXT, put_gates, .values = "hold|pass"), SHOW_BYTES("order", opts.order, OR_NULL),
    SHOW_TEXT("push", opts.push, OR_NULL), { 0 },
};
/* clang-format on */

static void recurrence_show(struct verb_call *c)
{
    struct recurrence_shown s;

    if (verb_missing(c, engine_recurrence_get(c->engine, c->tenant, c->args[SUBJECT].str, &s.view)))
        return;
    if (s.view.damaged) {
        verb_error(c, BELFRY_CORRUPT, "what is stored of it cannot be read: RECURDELETE it");
        return;
    }
    job_opts_read_rest(wire_reader_of(s.view.r.opts), &s.opts);
    job_labels_read(wire_reader_of(s.view.r.opts), &s.labels);
    s.opts.expire_ms = s.opts.expire_ms > 0 ? s.opts.expire_ms : -1;
    shape_put(c->reply, recurrence_fields, &s);
}

void run_recurrence(struct verb_call *c)
{
    if (one_tenant(c))
        recurrence_show(c);
}

void run_recur(struct verb_call *c)
{
    struct recur_item x = { .recur = { .tenant = c->tenant,
                                       .name = c->args[SUBJECT].str,
                                       .zone = STR("UTC"),
                                       .start_ms = -1,
                                       .catchup = CATCHUP_LAST,
                                       .overlap = OVERLAP_SKIP } };

    if (!one_tenant(c) || !item_of(c, &x.item) || !rule_given(c, &x.recur.kind, &x.recur.rule))
        return;
    x.recur.job = x.item.spec;
    if (!verb_failed(c, engine_recur(c->engine, &x.recur)))
        recurrence_show(c);
}

void run_recurpause(struct verb_call *c)
{
    bool paused = c->verb->flags & VERB_STOPS;

    if (one_tenant(c))
        verb_ok(c, engine_recurrence_pause(c->engine, c->tenant, c->args[SUBJECT].str, paused));
}

void run_recurdelete(struct verb_call *c)
{
    if (one_tenant(c))
        verb_ok(c, engine_recurrence_delete(c->engine, c->tenant, c->args[SUBJECT].str));
}

void run_recurrun(struct verb_call *c)
{
    struct job_id id;

    if (!one_tenant(c) ||
        verb_failed(c, engine_recurrence_run(c->engine, c->tenant, c->args[SUBJECT].str, &id)))
        return;
    reply_id(c->reply, id);
    verb_outcome(c, id, "made");
}

static int recurrence_add(void *page, const struct recurrence_view *v)
{
    return v->damaged ? 0 : page_add(page, v);
}

const struct shape_field recurrence_page_fields[] = {
    SHOW_PAGE("recurrences", "RecurrenceSummary"),
    { 0 },
};

void run_recurrences(struct verb_call *c)
{
    struct page page = { .call = c,
                         .fields = recurrence_summary_fields,
                         .map = recurrence_page_fields };
    size_t limit = (size_t)arg_number(arg_of(c, "limit"), 100);
    int err;

    if (!one_tenant(c))
        return;
    err = page_seek(&page);
    if (!err)
        err = engine_recurrences(c->engine, c->tenant, limit, recurrence_add, &page, &page.next);
    page_end(&page, err, "");
}
