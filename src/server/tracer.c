/* SPDX-License-Identifier: MIT */
#include "server/tracer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "front/otlp.h"
#include "server/outgoing.h"

#define BATCH_SPANS      512        /* A batch is sent as soon as it has so many spans. */
#define BATCH_MS         1000       /* A smaller batch is sent after this time. */
#define GATHER_SPANS     8192       /* Spans beyond this number are dropped. */
#define GATHER_BYTES     (4u << 20) /* Spans beyond this size are dropped. */
#define TIMEOUT_MS       10000
#define TRIES            4 /* of a batch; the pauses between the tries double */
#define PAUSE_MS         1000
#define TELL_MS          60000 /* The log hears of errors once in this time. */
#define OTLP_HEADERS_MAX 16
#define DRAIN_MS         2000

struct tracer {
    struct server *server;
    struct outgoing *outgoing;
    struct outgoing_transfer *transfer; /* under way; NULL: none */
    uv_timer_t timer;
    char *url;
    struct buf headers; /* as outgoing_request has them */
    struct buf spans;   /* The spans that gather. */
    unsigned gathered;
    struct buf body;  /* The batch that is being sent. */
    unsigned sending; /* The number of its spans; 0: there is no batch. */
    unsigned tries;
    int64_t tell_ms;   /* monotonic: the log hears of the next error no earlier */
    int64_t drain_ms;  /* monotonic: until when a stop waits; 0: no stop has begun */
    uint64_t exported; /* spans */
    uint64_t dropped;  /* spans */
};

static void on_timer(uv_timer_t *timer);

static void arm_timer(struct tracer *t, int64_t ms)
{
    uv_timer_start(&t->timer, on_timer, (uint64_t)ms, 0);
}

static void tell_failure(struct tracer *t, const struct outgoing_answer *a, const char *next)
{
    if (time_mono_ms() < t->tell_ms)
        return;
    t->tell_ms = time_mono_ms() + TELL_MS;
    log_warn(&t->server->log, "traces could not be exported", "endpoint",
             t->server->options.otlp.endpoint, "status",
             a->outcome == OUTGOING_ANSWERED ? LOG_INT(a->status) : "", "error", a->error, "next",
             next);
}

/* The batch is over, in whatever way. */
static void next_batch(struct tracer *t)
{
    t->sending = 0;
    t->tries = 0;
    buf_reset(&t->body, GATHER_BYTES / 4);
    if (t->gathered)
        arm_timer(t, t->gathered >= BATCH_SPANS || t->drain_ms ? 0 : BATCH_MS);
}

/* Whether OTLP says that the batch may succeed later. */
static bool is_passing(const struct outgoing_answer *a)
{
    return a->outcome != OUTGOING_ANSWERED || a->status == 429 || a->status == 502 ||
           a->status == 503 || a->status == 504;
}

static void on_done(void *arg, const struct outgoing_answer *a)
{
    struct tracer *t = arg;

    t->transfer = NULL;
    if (a->outcome == OUTGOING_ANSWERED && a->status >= 200 && a->status < 300) {
        t->exported += t->sending;
        next_batch(t);
    } else if (is_passing(a) && ++t->tries < TRIES) {
        tell_failure(t, a, "it is tried again");
        arm_timer(t, PAUSE_MS << (t->tries - 1));
    } else {
        tell_failure(t, a, "the batch is dropped");
        t->dropped += t->sending;
        next_batch(t);
    }
}

static void send_batch(struct tracer *t)
{
    struct outgoing_request r = {
        .url = t->url,
        .headers = buf_view(&t->headers),
        .body = buf_view(&t->body),
        .timeout_ms = TIMEOUT_MS,
        .done = on_done,
        .arg = t,
    };

    if (outgoing_start(t->outgoing, &r, &t->transfer) < 0)
        on_done(t, &(struct outgoing_answer){ .outcome = OUTGOING_UNREACHABLE,
                                              .error = "out of memory" });
}

static void take_batch(struct tracer *t)
{
    otlp_request(str_of(t->server->options.otlp.service), buf_view(&t->spans), &t->body);
    t->sending = t->gathered;
    t->gathered = 0;
    buf_reset(&t->spans, GATHER_BYTES / 4);
    if (t->body.failed) {
        t->dropped += t->sending;
        t->sending = 0;
        buf_reset(&t->body, 0);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct tracer *t = timer->data;

    if (t->transfer)
        return;
    if (!t->sending && t->gathered)
        take_batch(t);
    if (t->sending)
        send_batch(t);
}

void tracer_event(struct tracer *t, const struct job_event *ev)
{
    bool is_armed = uv_is_active((uv_handle_t *)&t->timer);
    size_t before = t->spans.len;
    unsigned n;

    if (t->gathered >= GATHER_SPANS || t->spans.len >= GATHER_BYTES) {
        struct buf counted = { 0 };

        t->dropped += otlp_spans(ev, true, &counted);
        buf_fini(&counted);
        return;
    }
    n = otlp_spans(ev, t->gathered == 0, &t->spans);
    if (t->spans.failed) {
        t->spans.len = before;
        t->spans.failed = false;
        t->dropped += n;
        return;
    }
    t->gathered += n;
    if (n && !t->sending && (!is_armed || t->gathered == BATCH_SPANS))
        arm_timer(t, t->gathered >= BATCH_SPANS ? 0 : BATCH_MS);
}

bool tracer_drain(struct tracer *t)
{
    if (!t || (!t->gathered && !t->sending))
        return true;
    if (!t->drain_ms) {
        t->drain_ms = time_mono_ms() + DRAIN_MS;
        if (!t->sending)
            arm_timer(t, 0);
    }
    return time_mono_ms() >= t->drain_ms || t->tries > 0;
}

void tracer_stats(const struct tracer *t, struct verb_host_stats *ret)
{
    ret->spans_exported = t ? t->exported : 0;
    ret->spans_dropped = t ? t->dropped : 0;
}

/* ---- Beginning and ending ---- */

static int refuse_option(struct server *s, const char *option, const char *expected)
{
    log_error(&s->log, "bad option", "option", option, "expected", expected);
    return BELFRY_INVALID;
}

static bool is_header_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 127 || strchr("\"(),/:;<=>?@[\\]{}", s.ptr[i]))
            return false;
    return s.len > 0;
}

static bool is_header_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 127)
            return false;
    return s.len > 0;
}

/* Reads name=value,name=value, the form that other exporters take from the environment. */
static int read_headers(struct tracer *t, struct str text)
{
    static const char expected[] = "name=value, with commas between, 15 of them at most";

    buf_str(&t->headers, STR("Content-Type: application/json\0"));
    for (int n = 1; text.len > 0; n++) {
        struct str value = str_cut(&text, ',');
        struct str name = str_trim(str_cut(&value, '='), " ");

        value = str_trim(value, " ");
        if (n == OTLP_HEADERS_MAX || !is_header_name(name) || !is_header_value(value))
            return refuse_option(t->server, "otlp_headers", expected);
        buf_printf(&t->headers, "%.*s: %.*s%c", STR_ARG(name), STR_ARG(value), '\0');
    }
    return t->headers.failed ? BELFRY_NOMEM : 0;
}

static int read_endpoint(struct tracer *t, const char *text)
{
    size_t len = strlen(text);

    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return refuse_option(t->server, "otlp_endpoint", "a URL such as http://127.0.0.1:4318");
    while (len && text[len - 1] == '/')
        len--;
    return asprintf(&t->url, "%.*s/v1/traces", (int)len, text) < 0 ? BELFRY_NOMEM : 0;
}

int tracer_new(struct server *s, struct tracer **ret)
{
    const struct outgoing_options one = { .max_transfers = 1 };
    struct tracer *t;
    int err;

    *ret = NULL;
    if (!s->options.otlp.endpoint[0])
        return 0;
    t = calloc(1, sizeof(*t));
    if (!t)
        return BELFRY_NOMEM;
    t->server = s;
    t->timer.data = t;
    uv_timer_init(&s->loop, &t->timer);
    err = read_endpoint(t, s->options.otlp.endpoint);
    if (!err)
        err = read_headers(t, str_of(s->options.otlp.headers));
    if (!err)
        err = outgoing_new(&s->loop, &one, &t->outgoing);
    if (err)
        tracer_free(t);
    else
        *ret = t;
    return err;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct tracer *t = handle->data;

    free(t->url);
    buf_fini(&t->headers);
    buf_fini(&t->spans);
    buf_fini(&t->body);
    free(t);
}

void tracer_free(struct tracer *t)
{
    if (!t)
        return;
    outgoing_free(t->outgoing);
    uv_close((uv_handle_t *)&t->timer, on_timer_closed);
}
