/* SPDX-License-Identifier: MIT */
/* Facts that follow from a job's options, and from the time. */
#include "engine/place/job.h"

#include "record/opts.h"

int64_t job_expires_ms(const struct job *j)
{
    struct job_opts o;

    if (!j->trail || j->trail->token) /* a job that can expire has a trail: see job_new */
        return -1;
    job_opts_get(j, &o);
    return o.expire_ms <= 0                            ? -1
           : o.expire_ms > TIME_MOMENT_MAX - j->due_ms ? TIME_MOMENT_MAX
                                                       : j->due_ms + o.expire_ms;
}

bool job_is_over(const struct engine *e, const struct job *j)
{
    int64_t expires = state_is_ahead(j->state) ? job_expires_ms(j) : -1;
    int64_t early_ms = MUTANT(e->o.mutant, EXPIRED_EARLY) && j == e->place.shown ? 60000 : 0;

    return expires >= 0 && expires <= e->now_ms + early_ms;
}

int64_t job_cold_ms(const struct job *j)
{
    int64_t expires = job_is_waiting(j) ? job_expires_ms(j) : -1;

    return expires >= 0 ? expires : j->timer.at_ms;
}

void job_opts_get(const struct job *j, struct job_opts *ret)
{
    job_opts_read((struct str){ j->tail, j->opts_len }, (int64_t)j->born_ms, ret);
}

void job_labels_read(struct wire_reader opts, struct job_labels *ret)
{
    struct opt o;

    ret->tag_count = ret->meta_count = 0;
    while (job_opt_next(&opts, &o)) {
        if (o.type == OPT_TAG && ret->tag_count < TAGS_MAX)
            ret->tags[ret->tag_count++] = o.bytes;
        if (o.type == OPT_META && ret->meta_count < METAS_MAX)
            ret->meta[ret->meta_count++] = (struct meta){ o.bytes, o.value };
    }
}

int64_t job_attempts(const struct job *j)
{
    struct job_opts o;

    job_opts_get(j, &o);
    return o.attempts >= 0 ? o.attempts : j->queue->settings->attempts;
}

/* A job that waits in a tail or on disk counts as ready, but the clock tells whether it is. A job
 * in a ready list stays ready when the clock is set back. */
enum job_state job_state_now(const struct engine *e, const struct job *j)
{
    if (!e->started || !state_is_ahead(j->state))
        return (enum job_state)j->state;
    if (job_is_over(e, j))
        return JOB_EXPIRED;
    if (job_is_waiting(j))
        return JOB_WAITING;
    if (j->where == WHERE_HOT || j->where == WHERE_OWNS_LANE)
        return (enum job_state)j->state;
    return j->timer.at_ms <= e->now_ms ? JOB_READY : JOB_SCHEDULED;
}
