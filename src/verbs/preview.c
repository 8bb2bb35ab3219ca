/* SPDX-License-Identifier: MIT */
/* PREVIEW. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "base/time.h"
#include "engine/recurrence.h"
#include "recur/zonecache.h"
#include "record/ledger.h"

#define COUNT_MAX 1000

/*
 * Reading a zone blocks the loop, for some tens of microseconds if its file is cached. This happens
 * once for each zone, because the cache keeps a bounded number of zones. Zones belong to the
 * system, not to a partition: each thread that runs verbs has one cache, which needs no lock.
 */
static _Thread_local struct zonecache zones;

/* "rrule: why": the name of the argument is in front, as in all errors of arguments. */
static int refuse_argument(struct verb_call *c, int err, const char *name, const char *why)
{
    char text[320];

    snprintf(text, sizeof(text), "%s: %s", name, why);
    verb_error(c, err, text);
    return err;
}

const struct arg *rule_given(struct verb_call *c, enum recur_kind *ret_kind, struct str *ret_text)
{
    const struct arg_value *first = arg_of(c, "rrule");
    int given = 0;

    for (enum recur_kind kind = RECUR_RRULE; kind <= RECUR_EVERY; kind++) {
        if (first[kind].set) {
            given++;
            *ret_kind = kind;
            *ret_text = first[kind].str;
        }
    }
    if (given == 1)
        return &c->verb->args[first - c->args + *ret_kind];
    verb_error(c, BELFRY_INVALID,
               given ? "more than one rule is given: expected exactly one of RRULE, CRON and EVERY"
                     : "no rule is given: expected exactly one of RRULE, CRON and EVERY");
    return NULL;
}

int zone_given(struct verb_call *c, struct str tz, const struct zone **ret)
{
    const char *why = "out of memory";
    int err = zonecache_get(&zones, ZONEDIR_DEFAULT, tz, ret, &why);

    if (!err)
        return 0;
    /* An argument that names no zone is a wrong argument. */
    return refuse_argument(c, err == BELFRY_NOTFOUND ? BELFRY_INVALID : err, "tz", why);
}

/* START if it is not given: now, at a whole second, because rules keep the fraction of START. */
static int64_t start_default(int64_t now_ms)
{
    int64_t start_ms = (now_ms + 999) / 1000 * 1000;

    return start_ms < TIME_MOMENT_MAX ? start_ms : TIME_MOMENT_MAX;
}

/* The value of which H is derived, as RECUR with this name and queue has it. False after an error
 * reply. */
static bool seed_given(struct verb_call *c, const struct preview *p, uint64_t *ret)
{
    char buf[QUEUE_MAX_BYTES];
    struct str queue;

    if (p->name.len == 0 && p->queue.len == 0)
        return true;
    if (p->name.len == 0 || p->queue.len == 0) {
        verb_error(c, BELFRY_INVALID, "name and queue: expected both of them, or none");
        return false;
    }
    if (!queue_named(c, p->queue, buf, &queue))
        return false;
    *ret = recurrence_seed(p->name, queue);
    return true;
}

/* The recurrence that the arguments describe; an error after its reply. */
static int recur_given(struct verb_call *c, const struct preview *p, struct recur **ret)
{
    struct recur_spec spec = { .start_ms = p->start_ms };
    struct rule_error error = { 0, "out of memory" };
    const struct arg *rule = rule_given(c, &spec.kind, &spec.text);
    int err = rule ? zone_given(c, p->tz, &spec.zone) : BELFRY_INVALID;

    if (err)
        return err;
    if (!seed_given(c, p, &spec.seed))
        return BELFRY_INVALID;
    err = recur_new(&spec, ret, &error);
    return err ? refuse_argument(c, err, rule->name, error.text) : 0;
}

struct occurrence {
    int64_t at_ms;
    struct str local;
    struct str note;
};

#define OF struct occurrence
const struct shape_field occurrence_fields[] = {
    SHOW_MOMENT("at_ms", at_ms),
    SHOW_TEXT("local", local),
    SHOW_TEXT("note", note, OR_NULL),
    { 0 },
};

static void reply_occurrence(struct reply *r, const struct recur_occurrence *o)
{
    char local[RECUR_TEXT], note[RECUR_NOTE];
    struct occurrence shown = { o->at_ms, { local, recur_format(o, local) }, { note, 0 } };

    if (o->note != RECUR_PLAIN)
        shown.note.len = recur_note(o, note);
    shape_put(r, occurrence_fields, &shown);
}

/* The search would take too long, behind the first `known` times. */
static void refuse_search(struct verb_call *c, int err, int known)
{
    char text[160];

    if (known == 0) {
        verb_error(c, err,
                   "from: too long after START to count the rule's occurrences up to there: "
                   "expected a moment nearer to START");
        return;
    }
    snprintf(text, sizeof(text),
             "the search takes too long behind %d times of this rule: expected COUNT %d or less",
             known, known);
    refuse_argument(c, err, "count", text);
}

void run_preview(struct verb_call *c)
{
    int64_t now = engine_now(c->engine);
    struct preview p = { STR("UTC"), start_default(now), .from_ms = now, .count = 10 };
    struct recur_occurrence found[COUNT_MAX];
    struct recur *r;
    int known;

    args_store(c, &p);
    if (recur_given(c, &p, &r) != 0)
        return;
    int n = recur_preview(r, p.from_ms, p.count, found, &known);
    recur_free(r);
    if (n < 0) {
        refuse_search(c, n, known);
        return;
    }
    reply_array(c->reply, (size_t)n);
    for (int i = 0; i < n; i++)
        reply_occurrence(c->reply, &found[i]);
}
