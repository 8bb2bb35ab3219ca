/* SPDX-License-Identifier: MIT */
/* Quiet hours: the engine looks at them just before it would give out a job. */
#include "engine/work/work.h"

#include "base/time.h"
#include "engine/log/log.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"
#include "recur/quiet.h"

/* The end of the quiet hours that hold at a moment; -1: it is not quiet then. A zone that no longer
 * exists counts as UTC, so that jobs go on. */
static int64_t settings_quiet_until(const struct engine *e, const struct tenant_settings *s,
                                    int64_t at_ms)
{
    struct str tz = s->tz[0] ? str_of(s->tz) : STR("UTC");
    struct rule_error error;
    const struct zone *zone;
    const char *why;
    struct quiet q;

    if (!e->o.zone || quiet_parse(str_of(s->quiet), &q, &error) < 0 ||
        (e->o.zone(e->o.journal, tz, &zone, &why) < 0 &&
         e->o.zone(e->o.journal, STR("UTC"), &zone, &why) < 0))
        return -1;
    return quiet_until(&q, zone, at_ms);
}

int64_t tenant_quiet_until(const struct engine *e, struct tenant *t)
{
    if (t->settings.quiet[0] == '\0')
        return -1;
    if (t->quiet_asked_ms != e->now_ms) {
        t->quiet_asked_ms = e->now_ms;
        t->quiet_until_ms = settings_quiet_until(e, &t->settings, e->now_ms);
    }
    return t->quiet_until_ms > e->now_ms ? t->quiet_until_ms : -1;
}

/* Quiet hours can defer the job. */
static bool job_is_gated(const struct engine *e, const struct job *j)
{
    struct job_opts o;

    if (j->passing || j->queue->tenant->settings.quiet[0] == '\0' ||
        MUTANT(e->o.mutant, QUIET_IGNORED))
        return false;
    job_opts_get(j, &o);
    return o.notify;
}

int64_t job_quiet_until(const struct engine *e, const struct job *j)
{
    return job_is_gated(e, j) ? tenant_quiet_until(e, j->queue->tenant) : -1;
}

int64_t job_quiet_at(const struct engine *e, const struct job *j, int64_t at_ms)
{
    if (at_ms <= e->now_ms)
        return job_quiet_until(e, j);
    return job_is_gated(e, j) ? settings_quiet_until(e, &j->queue->tenant->settings, at_ms) : -1;
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
