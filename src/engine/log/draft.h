/* SPDX-License-Identifier: MIT */
/* Events as they are made, between event.c and emit.c. */
#ifndef ENGINE_DRAFT_H
#define ENGINE_DRAFT_H

#include "engine/engine_data.h"
#include "engine/event.h"
#include "record/record.h"

struct event_draft {
    struct job_event ev;
    char names[QUEUE_MAX_BYTES];
    char worker[EVENT_WORKER_MAX];
    char error[ERROR_MAX_BYTES];
    char trace[EVENT_TRACE_MAX];
};

/* To be called before the record is applied; false: it is no event. */
bool event_draft_put(const struct engine *e, const struct job_image *r, struct event_draft *d);
bool event_draft_lease(const struct engine *e, const struct lease_record *r, struct event_draft *d);
bool event_draft_back(const struct engine *e, const struct back_record *r, struct event_draft *d);
bool event_draft_end(const struct engine *e, const struct end_record *r, struct event_draft *d);
bool event_draft_move(const struct engine *e, const struct move_record *r, struct event_draft *d);

/* After it, with its result, which it returns. */
static inline int event_tell(const struct engine *e, struct event_draft *d, int err)
{
    if (d && !err) {
        d->ev.lsn = e->lsn;
        e->o.event(e->o.host, &d->ev);
    }
    return err;
}

#endif
