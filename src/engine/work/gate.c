/* SPDX-License-Identifier: MIT */
/* Quiet hours: looked at just before a job would be given out. */
#include "engine/work/work.h"

#include "base/time.h"
#include "engine/log/log.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

int64_t tenant_quiet_until(const struct engine *e, struct tenant *t)
{
    if (t->settings.quiet[0] == '\0' || !e->o.quiet_until)
        return -1;
    if (t->quiet_asked_ms != e->now_ms) {
        t->quiet_asked_ms = e->now_ms;
        t->quiet_until_ms = e->o.quiet_until(e->o.journal, str_of(t->settings.quiet),
                                             str_of(t->settings.tz), e->now_ms);
    }
    return t->quiet_until_ms > e->now_ms ? t->quiet_until_ms : -1;
}

int64_t job_quiet_until(const struct engine *e, const struct job *j)
{
    struct job_opts o;

    if (j->passing || j->queue->tenant->settings.quiet[0] == '\0' ||
        MUTANT(e->o.mutant, QUIET_IGNORED))
        return -1;
    job_opts_get(j, &o);
    return o.notify ? tenant_quiet_until(e, j->queue->tenant) : -1;
}

int job_defer(struct engine *e, struct job *j, int64_t until_ms)
{
    struct queue *q = j->queue;
    uint64_t spread = (uint64_t)q->tenant->settings.spread_ms;
    int64_t at_ms = until_ms + (int64_t)(engine_random(e) % (spread + 1)) +
                    (MUTANT(e->o.mutant, DEFERRED_FAR) ? q->tenant->settings.spread_ms : 0);
    int err = emit_move(e, &(struct move_record){
                               .seq = j->seq,
                               .due_ms = j->due_ms,
                               .at_ms = at_ms < TIME_MOMENT_MAX ? at_ms : TIME_MOMENT_MAX,
                               .deferred = true,
                           });

    if (!err)
        COUNT(e, q, deferred);
    return err;
}
