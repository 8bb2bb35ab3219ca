/* SPDX-License-Identifier: MIT */
/* Records: written, applied, copied forward; and the events that follow. */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include "engine/engine_data.h"
#include "engine/event.h"
#include "record/record.h"
#include "record/record_cold.h"

/* ---- emit.c: writes a record, then applies it; if that fails, takes the record back ---- */

/* Which answers must wait for a record to be durable. The answer to a LEASE does not wait for the
 * record of its lease (docs/internals/leases.md). It shows the records that made its jobs ready,
 * but not how other jobs ended. */
enum seen { SEEN_BY_NONE, SEEN_BY_READERS, SEEN_BY_ALL };

/* Counts a record that was written from `start` on and applied with this result. */
int emit_settle(struct engine *e, size_t start, int applied, enum seen seen);

int emit_put(struct engine *e, const struct job_image *r);
/* Puts a job with this payload, which it frees; a quiet one is given to no worker. */
int emit_put_payload(struct engine *e, struct job_image *image, struct buf *payload, bool quiet);
extern const struct str opts_none; /* of a job without options */
/* Until commit_end, records belong into one commit. Returns whether they did so before. */
bool commit_begin(struct engine *e);
/* `before` is what commit_begin returned; `err` is the result of the work, which it returns. */
int commit_end(struct engine *e, bool before, int err);
int emit_lease(struct engine *e, const struct lease_record *r);
int emit_back(struct engine *e, const struct back_record *r);
int emit_end(struct engine *e, const struct end_record *r);
int emit_move(struct engine *e, const struct move_record *r);
int emit_released(struct engine *e, const struct released_record *r);

/* Records that are no event: kind, and the answers that wait for it. */
#define SILENT_RECORDS(X)       \
    X(begin, SEEN_BY_NONE)      \
    X(extend, SEEN_BY_READERS)  \
    X(mark, SEEN_BY_READERS)    \
    X(logged, SEEN_BY_READERS)  \
    X(queue, SEEN_BY_ALL)       \
    X(tenant, SEEN_BY_ALL)      \
    X(token, SEEN_BY_ALL)       \
    X(secret, SEEN_BY_NONE)     \
    X(told, SEEN_BY_NONE)       \
    X(listen, SEEN_BY_READERS)  \
    X(revised, SEEN_BY_READERS) \
    X(fed, SEEN_BY_NONE)        \
    X(merged, SEEN_BY_NONE)     \
    X(loaded, SEEN_BY_NONE)     \
    X(taken, SEEN_BY_NONE)

#define EMIT_DECLARED(kind, seen) int emit_##kind(struct engine *e, const struct kind##_record *r);
SILENT_RECORDS(EMIT_DECLARED)
#undef EMIT_DECLARED

/* ---- apply.c, apply_cold.c: the only code that changes jobs and settings, also in replay ---- */

#define APPLY(NAME, number, codec, kind, type, what) \
    int apply_##kind(struct engine *e, const type *r);
RECORDS(APPLY)
#undef APPLY

/* ---- event.c: events, drafted before their record is applied ---- */

struct event_draft {
    struct job_event ev;
    char names[QUEUE_MAX_BYTES];
    char worker[EVENT_WORKER_MAX];
    char error[ERROR_HEAD_BYTES];
    char trace[EVENT_TRACE_MAX];
};

/* Each drafts the event of a record that is about to be applied. False: the record is no event. */
bool event_draft_put(const struct engine *e, const struct job_image *r, struct event_draft *d);
bool event_draft_lease(const struct engine *e, const struct lease_record *r, struct event_draft *d);
bool event_draft_back(const struct engine *e, const struct back_record *r, struct event_draft *d);
bool event_draft_end(const struct engine *e, const struct end_record *r, struct event_draft *d);
bool event_draft_move(const struct engine *e, const struct move_record *r, struct event_draft *d);
bool event_draft_released(const struct engine *e, const struct released_record *r,
                          struct event_draft *d);

/* Tells the host of an event, if its record was applied: `err` is 0. Returns `err`. */
static inline int event_tell(const struct engine *e, struct event_draft *d, int err)
{
    if (d && !err) {
        d->ev.lsn = e->lsn;
        e->o.event(e->o.host, &d->ev);
    }
    return err;
}

/* ---- history.c: the attempts of a job, and the order of ended jobs ---- */

/* Brings a queue's ended jobs into the order of their ends, which copying forward upsets. */
void past_sort(struct queue *q);
/* Appends the attempts of a job to `out`, with the one that just ended. `kept`: as for
 * attempts_append. */
void history_append(struct buf *out, const struct job *j, uint32_t kept, int64_t end_ms,
                    unsigned outcome, struct str error);

/* ---- secret.c: the secret by which names in runs are made ---- */

/* Writes the secret again, if there is one, into a commit that names runs. So a journal that has
 * lost other commits knows the secret whenever it knows a run. */
int secret_repeat(struct engine *e);

/* ---- tokens.c ---- */

void tokens_init(struct engine *e);
void tokens_free(struct engine *e);
struct token *token_find(const struct engine *e, struct str name); /* or NULL */

#endif
