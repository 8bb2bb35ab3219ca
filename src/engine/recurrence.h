/* SPDX-License-Identifier: MIT */
/*
 * Recurrences: rules that make jobs, one occurrence at a time. A recurrence is a job of a hidden
 * queue whose key is its name, whose due time is its next nominal time, and whose payload is a
 * struct recurrence: so it is as durable as a job, waits on disk like one, and has its timer.
 */
#ifndef ENGINE_RECURRENCE_H
#define ENGINE_RECURRENCE_H

#include "engine/types.h"
#include "record/ledger.h"

#define RECURRENCE_BYTES 65536 /* of all that is told of one */
#define MISSED_MS        60000 /* what could not be made so long after its time was missed */

struct recurrence_spec {
    struct str tenant;
    struct str name;
    struct job_spec job; /* what it makes: no key, due time or AFTER */
    enum recur_kind kind;
    struct str rule;
    struct str zone;
    struct str exdate;
    struct str rdate;
    int64_t start_ms; /* -1: now, or as it was */
    enum catchup catchup;
    enum overlap overlap;
};

struct recurrence_view {
    struct str name;
    int64_t created_ms;
    size_t open;  /* occurrences that have not ended */
    bool damaged; /* what is stored of it cannot be read */
    struct recurrence r;
};

struct engine;

/* All of these may answer COLD. */

/* Makes one, or changes the one of that name: then what it made and decided so far stands, and the
 * next occurrence is after that and after now. INVALID, TOOLARGE, FULL, NOMEM. */
int engine_recur(struct engine *e, const struct recurrence_spec *s);
/* NOTFOUND. */
int engine_recurrence_get(struct engine *e, struct str tenant, struct str name,
                          struct recurrence_view *ret);
/* What falls into the pause is skipped. NOTFOUND. */
int engine_recurrence_pause(struct engine *e, struct str tenant, struct str name, bool pause);
/* An occurrence now, whatever the rule says. NOTFOUND, LIMIT, FULL. */
int engine_recurrence_run(struct engine *e, struct str tenant, struct str name, struct job_id *ret);
/* Jobs that it made go on. NOTFOUND. */
int engine_recurrence_delete(struct engine *e, struct str tenant, struct str name);
/* As engine_list. */
int engine_recurrences(struct engine *e, struct str tenant, size_t limit,
                       int (*fn)(void *arg, const struct recurrence_view *v), void *arg,
                       struct list_cursor *cursor);

#endif
