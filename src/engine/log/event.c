/* SPDX-License-Identifier: MIT */
/* Events. The engine drafts an event before it applies the record, while the attempt that the
 * record ends can still be seen. It tells the event once the record is applied. */
#include "engine/event.h"

#include "engine/log/log.h"
#include "engine/place/job.h"
#include "record/attempts.h"
#include "record/name.h"
#include "record/opts.h"
#include "record/record.h"

const char *event_cause_name(enum event_cause c)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        EVENT_CAUSES(NAME)
#undef NAME
    };
    return names[c];
}

void engine_listen(struct engine *e, bool on)
{
    e->log.listening = on && e->o.event;
}

/* A copy that the job's end does not take along. */
static struct str draft_text(char *to, size_t max, struct str s)
{
    size_t len = s.len < max ? s.len : max;

    if (len)
        memcpy(to, s.ptr, len);
    return (struct str){ to, len };
}

static struct str trace_of(struct str opts)
{
    struct wire_reader r = wire_reader_of(opts);
    struct opt o;

    wire_zigzag(&r);
    while (job_opt_next(&r, &o))
        if (o.type == OPT_META && str_eq(o.bytes, STR("traceparent")))
            return o.value.len <= EVENT_TRACE_MAX ? o.value : (struct str){ 0 };
    return (struct str){ 0 };
}

static int64_t moment(int64_t at_ms)
{
    return at_ms == AT_NEVER ? -1 : at_ms;
}

static void draft_names(struct event_draft *d, struct str full)
{
    scope_split(draft_text(d->names, sizeof(d->names), full), &d->ev.tenant, &d->ev.queue);
}

/* The job as it is before the record. */
static void draft_job(const struct engine *e, const struct job *j, struct event_draft *d)
{
    d->ev = (struct job_event){
        .id = job_id_of(e, j),
        .from = (int)job_counts_as(j),
        .now_ms = e->now_ms,
        .due_ms = j->due_ms,
        .at_ms = state_is_ended(j->state) ? j->due_ms : moment(j->timer.at_ms),
        .attempt = j->attempt,
        .outcome = -1,
        .start_ms = -1,
        .late_ms = -1,
    };
    draft_names(d, queue_name(j->queue));
    d->ev.trace =
        draft_text(d->trace, sizeof(d->trace), trace_of((struct str){ j->tail, j->opts_len }));
}

/* The attempt that is under way has ended so. */
static void draft_attempt(const struct job *j, unsigned outcome, struct str error,
                          struct event_draft *d)
{
    const struct trail *t = j->trail;

    if (j->state != JOB_LEASED || outcome == OUTCOME_NONE)
        return;
    d->ev.outcome = (int)outcome;
    d->ev.start_ms = t->start_ms;
    d->ev.late_ms = t->late_ms;
    d->ev.token = t->token;
    d->ev.worker = draft_text(d->worker, sizeof(d->worker), blob_str(t->worker));
    d->ev.error = draft_text(d->error, sizeof(d->error), error);
}

/* Drafts the event of a user's job, which it returns; NULL: it is none. */
static const struct job *draft_begin(const struct engine *e, uint64_t seq, struct event_draft *d)
{
    const struct job *j = job_find(e, seq);

    if (!j || j->queue->hidden)
        return NULL;
    draft_job(e, j, d);
    return j;
}

/* How the attempt ended that a replacement waited for: the last of its history. */
static void draft_replaced(const struct job *j, const struct job_image *r, struct event_draft *d)
{
    struct attempt a;

    if (!attempts_last(r->trail.history, &a))
        a = (struct attempt){ .outcome = OUTCOME_NONE };
    draft_attempt(j, a.outcome, a.error, d);
}

static void draft_created(const struct engine *e, const struct job_image *r, struct event_draft *d)
{
    d->ev = (struct job_event){
        .id = { r->born_ms, e->o.partition, r->seq },
        .cause = CAUSE_CREATED,
        .from = -1,
        .now_ms = e->now_ms,
        .outcome = -1,
        .start_ms = -1,
        .late_ms = -1,
    };
    draft_names(d, r->queue);
    d->ev.trace = draft_text(d->trace, sizeof(d->trace), trace_of(r->opts));
}

bool event_draft_put(const struct engine *e, const struct job_image *r, struct event_draft *d)
{
    const struct job *j = r->seq < e->log.next_seq ? job_find(e, r->seq) : NULL;
    bool waits = r->at_ms == AT_NEVER;
    struct str tenant, queue;

    scope_split(r->queue, &tenant, &queue);
    if (hidden_kind(queue))
        return false;
    if (!j) {
        draft_created(e, r, d);
    } else {
        draft_job(e, j, d);
        d->ev.cause = j->state == JOB_DEAD ? CAUSE_REDRIVEN : CAUSE_REPLACED;
        draft_replaced(j, r, d);
    }
    d->ev.state = waits ? JOB_WAITING : JOB_SCHEDULED;
    d->ev.due_ms = r->due_ms;
    d->ev.at_ms = moment(r->at_ms);
    if (d->ev.outcome < 0)
        d->ev.attempt = r->attempt;
    return true;
}

bool event_draft_lease(const struct engine *e, const struct lease_record *r, struct event_draft *d)
{
    if (!draft_begin(e, r->seq, d))
        return false;
    d->ev.cause = CAUSE_LEASED;
    d->ev.state = JOB_LEASED;
    d->ev.attempt = r->attempt;
    d->ev.start_ms = r->start_ms;
    d->ev.late_ms = r->late_ms;
    d->ev.token = r->token;
    d->ev.worker = draft_text(d->worker, sizeof(d->worker), r->worker);
    return true;
}

bool event_draft_back(const struct engine *e, const struct back_record *r, struct event_draft *d)
{
    const struct job *j = draft_begin(e, r->seq, d);

    if (!j || MUTANT(e->o.mutant, EVENT_LOST))
        return false;
    draft_attempt(j, r->outcome, r->error, d);
    d->ev.cause = r->outcome == ATTEMPT_RELEASED ? CAUSE_RELEASED
                  : r->outcome == ATTEMPT_AGAIN  ? CAUSE_AGAIN
                                                 : CAUSE_RETRIED;
    d->ev.state = JOB_SCHEDULED;
    d->ev.due_ms = r->due_ms;
    d->ev.at_ms = moment(r->at_ms);
    return true;
}

bool event_draft_end(const struct engine *e, const struct end_record *r, struct event_draft *d)
{
    const struct job *j = draft_begin(e, r->seq, d);

    if (!j || state_is_ended(j->state)) /* then it is forgotten */
        return false;
    draft_attempt(j, r->outcome, r->error, d);
    d->ev.cause = CAUSE_ENDED;
    d->ev.state = (enum job_state)r->state;
    d->ev.error = draft_text(d->error, sizeof(d->error), r->error);
    return true;
}

bool event_draft_move(const struct engine *e, const struct move_record *r, struct event_draft *d)
{
    if (!draft_begin(e, r->seq, d))
        return false;
    d->ev.cause = r->deferred ? CAUSE_DEFERRED : CAUSE_RESCHEDULED;
    d->ev.state = r->at_ms == AT_NEVER ? JOB_WAITING : JOB_SCHEDULED;
    d->ev.due_ms = r->due_ms;
    d->ev.at_ms = moment(r->at_ms);
    return true;
}

bool event_draft_released(const struct engine *e, const struct released_record *r,
                          struct event_draft *d)
{
    if (r->at_ms == AT_NEVER || !draft_begin(e, r->seq, d)) /* it waits for others */
        return false;
    d->ev.cause = CAUSE_UNBLOCKED;
    d->ev.state = JOB_SCHEDULED;
    d->ev.at_ms = moment(r->at_ms);
    return true;
}
