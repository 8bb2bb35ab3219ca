/* SPDX-License-Identifier: MIT */
/* OCCURRENCES. */
#include "base/time.h"
#include "engine/times.h"
#include "verbs/handlers.h"
#include "verbs/page.h"

#define SPAN_MS (7 * INT64_C(86400000))

/* The words of what became of a time, by census_time.kind. */
static const char *kind_word(unsigned kind)
{
    return kind == TIME_QUEUED    ? "queued"
           : kind == TIME_PLANNED ? "planned"
                                  : ledger_word((enum ledger_outcome)kind);
}

static const char *kind_why(unsigned kind)
{
    return kind == TIME_QUEUED    ? "the one before has not ended"
           : kind == TIME_PLANNED ? ""
                                  : ledger_why((enum ledger_outcome)kind);
}

struct time_shown {
    const struct census_time *time;
    struct str name;
    struct str queue; /* in full */
    struct str local;
    struct str note;
    int64_t ended_ms; /* -1: it has not ended, or no job was made */
    unsigned kind;
};

/* clang-format off */
#define KINDS(X) X(PLANNED, "planned") X(QUEUED, "queued") LEDGER_OUTCOMES(X)
#define OF struct census_time
static const struct shape_field time_whole[] = {
    SHOW_MOMENT("at_ms", at.at_ms), SHOW_MOMENT("upto_ms", entry.upto_ms), SHOW_INT("count", entry.count),
    SHOW_BOOL("by_hand", entry.by_hand), SHOW_ID("id", entry.id, OR_NULL), { 0 },
};
#undef OF
#define OF struct time_shown
const struct shape_field time_fields[] = {
    SHOW_TEXT("recurrence", name), SHOW_TENANT(queue), SHOW_QUEUE(queue), SHOW_PART(time, struct census_time, time_whole),
    SHOW_TEXT("local", local), SHOW_TEXT("note", note, OR_NULL), SHOW_WORD("outcome", kind, kind_word, WORDS(KINDS)),
    SHOW_WORD("why", kind, kind_why, OR_NULL), SHOW_MOMENT("ended_ms", ended_ms, OR_NULL), { 0 },
};
/* clang-format on */

const struct shape_field times_fields[] = {
    SHOW_PAGE("occurrences", "RecurrenceTime"),
    SHOW_OWN("partial", SHAPE_BOOL, NULL),
    { 0 },
};

static int time_add(void *page, const struct census_time *t)
{
    char local[RECUR_TEXT], note[RECUR_NOTE];
    struct time_shown shown = {
        .time = t,
        .name = { t->name, t->name_len },
        .queue = { t->queue, t->queue_len },
        .local = { local, recur_format(&t->at, local) },
        .note = { note, 0 },
        .ended_ms = t->entry.id.seq && t->kind != LEDGER_OPEN ? t->entry.ended_ms : -1,
        .kind = t->kind,
    };

    if (t->at.note != RECUR_PLAIN)
        shown.note.len = recur_note(&t->at, note);
    return page_add(page, &shown);
}

/* The window. False after an error reply. */
static bool window_of(struct verb_call *c, struct census_ask *ret)
{
    struct window w = { engine_now(c->engine), -1, 100, { 0 } };

    args_store(c, &w);
    if (w.to_ms < 0)
        w.to_ms = w.from_ms < TIME_MOMENT_MAX - SPAN_MS ? w.from_ms + SPAN_MS : TIME_MOMENT_MAX;
    if (w.to_ms <= w.from_ms) {
        verb_error(c, BELFRY_INVALID, "to: expected a moment after from");
        return false;
    }
    *ret = (struct census_ask){ .tenant = c->tenant,
                                .queue = w.queue,
                                .from_ms = w.from_ms,
                                .to_ms = w.to_ms,
                                .step_ms = w.to_ms - w.from_ms,
                                .n = 1,
                                .times = w.limit,
                                .after_ms = INT64_MIN };
    return true;
}

void run_occurrences(struct verb_call *c)
{
    struct page page = { .call = c, .fields = time_fields, .map = times_fields };
    struct census_ask ask;
    bool partial = false;

    if (!window_of(c, &ask))
        return;
    int err = page_seek(&page);
    if (!err && page.next.more) {
        ask.after_ms = page.next.due_ms;
        ask.after_seq = page.next.seq;
    }
    if (!err)
        err = engine_occurrences(c->engine, &ask, time_add, &page, &page.next, &partial);
    page_end(&page, err, engine_detail(c->engine));
    if (err < 0)
        return;
    reply_bytes(c->reply, STR("partial"));
    reply_boolean(c->reply, partial);
}
