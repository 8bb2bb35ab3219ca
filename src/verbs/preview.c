/* SPDX-License-Identifier: MIT */
/* PREVIEW. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "base/time.h"
#include "recur/recur.h"
#include "recur/zonecache.h"

#define COUNT_MAX     1000
#define COUNT_DEFAULT 10

/*
 * Reading a zone blocks the loop, for some tens of microseconds when its file is in the system's
 * cache. That is acceptable as it happens once for each zone: they are kept, up to a bound. They
 * are facts of the system and not of a partition, so there is one cache for each thread that runs
 * verbs, and it needs no lock.
 */
static _Thread_local struct zonecache zones;

/* "rrule: what is wrong": the name of the argument is in front, as it is in every such error. */
static int refuse(struct verb_call *c, int err, const char *name, const char *why)
{
    char text[320];

    snprintf(text, sizeof(text), "%s: %s", name, why);
    verb_error(c, err, text);
    return err;
}

int rule_given(struct verb_call *c, int first)
{
    int given = 0, which = 0;

    for (int i = first; i < first + 3; i++) {
        if (c->args[i].set) {
            given++;
            which = i;
        }
    }
    if (given == 1)
        return which;
    verb_error(c, BELFRY_INVALID,
               given ? "more than one rule is given: expected exactly one of RRULE, CRON and EVERY"
                     : "no rule is given: expected exactly one of RRULE, CRON and EVERY");
    return BELFRY_INVALID;
}

int zone_given(struct verb_call *c, const struct arg_value *tz, const struct zone **ret)
{
    const char *why = "out of memory";
    int err = zonecache_get(&zones, ZONEDIR_DEFAULT, tz->set ? tz->str : STR("UTC"), ret, &why);

    if (!err)
        return 0;
    /* An argument that names no zone is a wrong argument. */
    return refuse(c, err == BELFRY_NOTFOUND ? BELFRY_INVALID : err, "tz", why);
}

/* START if it is not given: now, at a whole second, as rules keep the fraction of START's. */
static int64_t start_default(int64_t now_ms)
{
    int64_t start_ms = (now_ms + 999) / 1000 * 1000;

    return start_ms < TIME_MOMENT_MAX ? start_ms : TIME_MOMENT_MAX;
}

/* The recurrence that the arguments say; an error after its reply. */
static int recur_given(struct verb_call *c, struct recur **ret)
{
    static const enum recur_kind kinds[] = {
        [PREVIEW_RRULE] = RECUR_RRULE, [PREVIEW_CRON] = RECUR_CRON, [PREVIEW_EVERY] = RECUR_EVERY
    };
    static const char *const names[] = {
        [PREVIEW_RRULE] = "rrule", [PREVIEW_CRON] = "cron", [PREVIEW_EVERY] = "every"
    };
    const struct arg_value *a = c->args;
    struct recur_spec spec = { 0 };
    struct rule_error error = { 0, "out of memory" };
    int which = rule_given(c, PREVIEW_RRULE);
    int err = which < 0 ? which : zone_given(c, &c->args[PREVIEW_TZ], &spec.zone);

    if (err)
        return err;
    spec.kind = kinds[which];
    spec.text = a[which].str;
    spec.start_ms = arg_number(&a[PREVIEW_START], start_default(engine_now(c->engine)));
    err = recur_new(&spec, ret, &error);
    return err ? refuse(c, err, names[which], error.text) : 0;
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

void run_preview(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct recur_occurrence found[COUNT_MAX];
    int64_t from_ms = arg_number(&a[PREVIEW_FROM], engine_now(c->engine));
    size_t most = (size_t)arg_number(&a[PREVIEW_COUNT], COUNT_DEFAULT);
    struct recur *r;
    int n;

    if (recur_given(c, &r) != 0)
        return;
    n = recur_preview(r, from_ms, most, found);
    recur_free(r);
    if (n < 0) {
        verb_error(c, n,
                   "from: too long after START to count the rule's occurrences up to there: "
                   "expected a moment nearer to START");
        return;
    }
    reply_array(c->reply, (size_t)n);
    for (int i = 0; i < n; i++)
        reply_occurrence(c->reply, &found[i]);
}
