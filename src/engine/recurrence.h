/* SPDX-License-Identifier: MIT */
/* Recurrences: rules that make jobs, one occurrence at a time. A recurrence is a job of a hidden
 * queue. Its key is the name, its due time is the next nominal time, and its payload is a struct
 * recurrence. So it is as durable as a job, waits on disk like one, and has its timer. */
#ifndef ENGINE_RECURRENCE_H
#define ENGINE_RECURRENCE_H

#include "engine/types.h"
#include "record/ledger.h"

#define RECURRENCE_BYTES 65536 /* of the stored recurrence */
#define MISSED_MS        60000 /* an occurrence that could not be made for so long was missed */

struct recurrence_spec {
    struct str tenant;
    struct str name;
    struct job_spec job; /* of its occurrences: no key, due time or AFTER */
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
    size_t open;         /* occurrences that have not ended */
    bool damaged;        /* the stored recurrence cannot be read */
    uint64_t kept_bytes; /* its part of those of its tenant */
    struct recurrence r;
};

struct engine;

/* Of which H in cron is derived, by the name of the recurrence and its queue with its tenant. */
uint64_t recurrence_seed(struct str name, struct str queue);

/* All of these may answer COLD. */

/* Makes a recurrence, or changes the one of that name. Its occurrences and decisions stand, and the
 * next occurrence is after them and after now. INVALID, TOOLARGE, LIMIT, FULL, NOMEM. */
int engine_recur(struct engine *e, const struct recurrence_spec *s);
/* NOTFOUND. */
int engine_recurrence_get(struct engine *e, struct str tenant, struct str name,
                          struct recurrence_view *ret);
/* Occurrences that fall into the pause are skipped. NOTFOUND. */
int engine_recurrence_pause(struct engine *e, struct str tenant, struct str name, bool pause);
/* Makes an occurrence now, whatever the rule says. NOTFOUND, LIMIT, FULL. */
int engine_recurrence_run(struct engine *e, struct str tenant, struct str name, struct job_id *ret);
/* Forgets a recurrence; its occurrences go on. NOTFOUND. */
int engine_recurrence_delete(struct engine *e, struct str tenant, struct str name);
/* As engine_list. */
int engine_recurrences(struct engine *e, struct str tenant, size_t limit,
                       int (*fn)(void *arg, const struct recurrence_view *v), void *arg,
                       struct list_cursor *cursor);

#endif
