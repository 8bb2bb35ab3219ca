/* SPDX-License-Identifier: MIT */
#include "server/joblog.h"

#include "base/time.h"

#define SECOND_MS 1000

/* Whether this second may have another line. */
static bool may_log(struct server *s)
{
    struct events *v = s->events;
    int64_t second = time_mono_us() / 1000000;

    if (second != v->log_second) {
        v->log_second = second;
        v->log_lines = 0;
    }
    if (s->options.log_jobs_rate && v->log_lines >= s->options.log_jobs_rate) {
        v->log_skipped++;
        return false;
    }
    v->log_lines++;
    return true;
}

static bool has_ended(const struct job_event *ev)
{
    return ev->outcome >= 0 || ev->cause == CAUSE_ENDED;
}

struct line {
    struct log_field fields[12];
    size_t n;
};

static void put(struct line *l, const char *name, struct str text)
{
    if (text.len)
        l->fields[l->n++] = (struct log_field){ name, text, 0 };
}

static void put_number(struct line *l, const char *name, int64_t v, bool there)
{
    if (there)
        l->fields[l->n++] = (struct log_field){ name, { 0 }, v };
}

void joblog_event(struct server *s, const struct job_event *ev)
{
    struct line l = { .n = 0 };
    char id[ID_TEXT];

    if (s->options.log_jobs == LOG_JOBS_OFF ||
        (s->options.log_jobs == LOG_JOBS_ENDED && !has_ended(ev)) || !may_log(s))
        return;
    id_format(ev->id, id);
    put(&l, "job", (struct str){ id, ID_TEXT });
    put(&l, "tenant", ev->tenant);
    put(&l, "queue", ev->queue);
    put(&l, "state", str_of(job_state_name(ev->state)));
    put(&l, "cause", str_of(event_cause_name(ev->cause)));
    put_number(&l, "attempt", ev->attempt, true);
    if (ev->outcome >= 0)
        put(&l, "outcome", str_of(attempt_outcome_name((unsigned)ev->outcome)));
    put_number(&l, "duration_ms", ev->now_ms - ev->start_ms, ev->outcome >= 0);
    put_number(&l, "lateness_ms", ev->late_ms, ev->start_ms >= 0);
    put(&l, "worker", ev->worker);
    put(&l, "error", ev->error);
    log_fields(&s->log, LOG_LEVEL_INFO, ev->outcome >= 0 ? "attempt ended" : "job changed",
               l.fields, l.n);
}

void joblog_sweep(struct server *s, int64_t mono_ms)
{
    if (!s->events->log_skipped || mono_ms / SECOND_MS == s->events->log_told)
        return;
    s->events->log_told = mono_ms / SECOND_MS;
    log_warn(&s->log, "lines about jobs were left out: more than log_jobs_rate", "lines",
             LOG_INT(s->events->log_skipped));
    s->events->log_skipped = 0;
}
