/* SPDX-License-Identifier: MIT */
#include "server/events.h"

#include "base/time.h"
#include "server/http/http.h"
#include "server/tracer.h"

#define SECOND_MS 1000
#define LINGER_MS INT64_C(300000) /* how long events are kept for a stream that may come back */

/* ---- Log lines about jobs, by the option log_jobs ---- */

/* Whether this second may have another line. */
static bool may_log(struct server *s)
{
    struct events *v = &s->events;
    int64_t second = time_mono_us() / 1000000;

    if (second != v->log_second) {
        v->log_second = second;
        v->log_lines = 0;
    }
    if (s->options.log.jobs_rate && v->log_lines >= s->options.log.jobs_rate) {
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

static void put_text(struct line *l, const char *name, struct str text)
{
    if (text.len)
        l->fields[l->n++] = (struct log_field){ name, text, 0 };
}

static void put_number(struct line *l, const char *name, int64_t v, bool there)
{
    if (there)
        l->fields[l->n++] = (struct log_field){ name, { 0 }, v };
}

static void log_event(struct server *s, const struct job_event *ev)
{
    struct line l = { .n = 0 };
    char id[ID_TEXT];

    if (s->options.log.jobs == LOG_JOBS_OFF ||
        (s->options.log.jobs == LOG_JOBS_ENDED && !has_ended(ev)) || !may_log(s))
        return;
    id_format(ev->id, id);
    put_text(&l, "job", (struct str){ id, ID_TEXT });
    put_text(&l, "tenant", ev->tenant);
    put_text(&l, "queue", ev->queue);
    put_text(&l, "state", str_of(job_state_name(ev->state)));
    put_text(&l, "cause", str_of(event_cause_name(ev->cause)));
    put_number(&l, "attempt", ev->attempt, true);
    if (ev->outcome >= 0)
        put_text(&l, "outcome", str_of(attempt_outcome_name((unsigned)ev->outcome)));
    put_number(&l, "duration_ms", ev->now_ms - ev->start_ms, ev->outcome >= 0);
    put_number(&l, "lateness_ms", ev->late_ms, ev->start_ms >= 0);
    put_text(&l, "worker", ev->worker);
    put_text(&l, "error", ev->error);
    log_each(&s->log, LOG_LEVEL_INFO, ev->outcome >= 0 ? "attempt ended" : "job changed", l.fields,
             l.n);
}

/* Tells the log how many lines were left out, once a second at most. */
static void log_skipped(struct server *s, int64_t mono_ms)
{
    if (!s->events.log_skipped || mono_ms / SECOND_MS == s->events.log_told)
        return;
    s->events.log_told = mono_ms / SECOND_MS;
    log_warn(&s->log, "lines about jobs were left out: more than log_jobs_rate", "lines",
             LOG_INT(s->events.log_skipped));
    s->events.log_skipped = 0;
}

/* ---- The ring and its readers ---- */

int events_init(struct server *s)
{
    list_init(&s->events.streams);
    return tracer_new(s, &s->events.tracer);
}

void events_stop(struct server *s)
{
    tracer_free(s->events.tracer);
    s->events.tracer = NULL;
}

void events_stats(const struct server *s, struct verb_host_stats *ret)
{
    const struct events *v = &s->events;

    ret->event_streams = list_length(&v->streams);
    ret->streams_refused = v->refused;
    ret->events = v->taken;
    ret->events_missed = v->missed;
    tracer_stats(v->tracer, ret);
}

/* Whether the log or the tracer reads events. */
static bool is_logged(const struct server *s)
{
    return s->options.log.jobs != LOG_JOBS_OFF || s->events.tracer;
}

static void tell_no_memory(struct server *s)
{
    log_warn(&s->log, "no memory for events: none are told");
}

static int open_ring(struct server *s)
{
    int err = event_ring_open(&s->events.ring, (size_t)s->options.events_memory);

    s->events.cursor = event_ring_end(&s->events.ring);
    return err;
}

bool events_begin(struct server *s)
{
    bool kept = s->events.ring.bytes != NULL;

    /* Events that are not durable by now never will be. */
    event_ring_close(&s->events.ring);
    if (!kept && !is_logged(s))
        return false;
    if (open_ring(s) == 0)
        return true;
    tell_no_memory(s);
    return false;
}

int events_want(struct server *s)
{
    int err = s->events.ring.bytes ? 0 : open_ring(s);

    if (err)
        return err;
    engine_listen(s->host.engine, true);
    s->events.used_ms = time_mono_ms(); /* The reader may be gone before the next sweep. */
    return 0;
}

void events_take(void *host, const struct job_event *ev)
{
    struct server *s = host;

    s->events.taken++;
    event_ring_put(&s->events.ring, ev);
}

/* The log and the tracer take all durable events at once. */
static void consume_events(struct server *s)
{
    struct events *v = &s->events;
    struct job_event ev;
    uint64_t missed;
    enum event_read got;

    while ((got = event_ring_read(&v->ring, &v->cursor, &ev, &missed)) != EVENT_READ_NONE) {
        if (got == EVENT_READ_GAP) {
            v->missed += missed == EVENTS_UNKNOWN ? 0 : missed;
            continue;
        }
        log_event(s, &ev);
        if (v->tracer)
            tracer_event(v->tracer, &ev);
    }
}

void events_settled(struct server *s)
{
    struct events *v = &s->events;

    if (!v->ring.bytes || !event_ring_settle(&v->ring, s->host.durable_lsn))
        return;
    if (is_logged(s))
        consume_events(s);
    else
        v->cursor = event_ring_end(&v->ring);
    http_streams_feed(s);
}

void events_sweep(struct server *s, int64_t mono_ms)
{
    struct events *v = &s->events;

    log_skipped(s, mono_ms);
    http_streams_sweep(s, mono_ms);
    if (!list_empty(&v->streams) || is_logged(s))
        v->used_ms = mono_ms;
    if (!v->ring.bytes || !s->host.engine || mono_ms - v->used_ms < LINGER_MS)
        return;
    engine_listen(s->host.engine, false);
    event_ring_close(&v->ring);
    event_texts_fini(&v->texts);
}

void events_reload(struct server *s)
{
    if (is_logged(s) && s->host.engine && events_want(s) < 0)
        tell_no_memory(s);
}
