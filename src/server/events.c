/* SPDX-License-Identifier: MIT */
#include "server/events.h"

#include <stdlib.h>

#include "base/time.h"
#include "server/http/http.h"
#include "server/joblog.h"
#include "server/tracer.h"

#define LINGER_MS INT64_C(300000) /* how long events are kept for a stream that may come back */

int events_init(struct server *s)
{
    s->events = calloc(1, sizeof(*s->events));
    if (!s->events)
        return BELFRY_NOMEM;
    list_init(&s->events->streams);
    return tracer_new(s, &s->events->tracer);
}

void events_stop(struct server *s)
{
    if (!s->events)
        return;
    tracer_free(s->events->tracer);
    s->events->tracer = NULL;
}

void events_fini(struct server *s)
{
    if (!s->events)
        return;
    event_ring_close(&s->events->ring);
    free(s->events);
    s->events = NULL;
}

void events_stats(const struct server *s, struct verb_host_stats *ret)
{
    const struct events *v = s->events;
    struct tracer_stats t = tracer_stats(v->tracer);

    ret->event_streams = v->stream_count;
    ret->events = v->taken;
    ret->events_missed = v->missed;
    ret->spans_exported = t.exported;
    ret->spans_dropped = t.dropped;
}

/* Whether the log or the tracer reads events. */
static bool is_logged(const struct server *s)
{
    return s->options.log_jobs != LOG_JOBS_OFF || s->events->tracer;
}

static void tell_no_memory(struct server *s)
{
    log_warn(&s->log, "no memory for events: none are told");
}

static int open_ring(struct server *s)
{
    int err = event_ring_open(&s->events->ring, (size_t)s->options.events_memory);

    s->events->cursor = event_ring_end(&s->events->ring);
    return err;
}

bool events_begin(struct server *s)
{
    bool kept = s->events->ring.bytes != NULL;

    /* Events that are not durable by now never will be. */
    event_ring_close(&s->events->ring);
    if (!kept && !is_logged(s))
        return false;
    if (open_ring(s) == 0)
        return true;
    tell_no_memory(s);
    return false;
}

int events_want(struct server *s)
{
    int err = s->events->ring.bytes ? 0 : open_ring(s);

    if (!err)
        engine_listen(s->host.engine, true);
    return err;
}

void events_take(void *host, const struct job_event *ev)
{
    struct server *s = host;

    s->events->taken++;
    event_ring_put(&s->events->ring, ev);
}

/* The log and the tracer take all durable events at once. */
static void consume(struct server *s)
{
    struct events *v = s->events;
    struct job_event ev;
    uint64_t missed;
    enum event_read got;

    while ((got = event_ring_read(&v->ring, &v->cursor, &ev, &missed)) != EVENT_READ_NONE) {
        if (got == EVENT_READ_GAP) {
            v->missed += missed == EVENTS_UNKNOWN ? 0 : missed;
            continue;
        }
        joblog_event(s, &ev);
        if (v->tracer)
            tracer_event(v->tracer, &ev);
    }
}

void events_settled(struct server *s)
{
    struct events *v = s->events;

    if (!v->ring.bytes || !event_ring_settle(&v->ring, s->host.durable_lsn))
        return;
    if (is_logged(s))
        consume(s);
    else
        v->cursor = event_ring_end(&v->ring);
    http_streams_feed(s);
}

void events_sweep(struct server *s, int64_t mono_ms)
{
    struct events *v = s->events;

    joblog_sweep(s, mono_ms);
    http_streams_sweep(s, mono_ms);
    if (v->stream_count > 0 || is_logged(s))
        v->used_ms = mono_ms;
    if (!v->ring.bytes || !s->host.engine || mono_ms - v->used_ms < LINGER_MS)
        return;
    engine_listen(s->host.engine, false);
    event_ring_close(&v->ring);
}

void events_reload(struct server *s)
{
    if (is_logged(s) && s->host.engine && events_want(s) < 0)
        tell_no_memory(s);
}
