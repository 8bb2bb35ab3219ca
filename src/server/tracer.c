/* SPDX-License-Identifier: MIT */
#include "server/tracer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "front/otlp.h"
#include "server/outgoing.h"

#define BATCH_SPANS      512        /* sent as soon as there are so many, */
#define BATCH_MS         1000       /* or after this */
#define GATHER_SPANS     8192       /* beyond these they are dropped, */
#define GATHER_BYTES     (4u << 20) /* or beyond this */
#define TIMEOUT_MS       10000
#define TRIES            4 /* of a batch; the pauses between them double */
#define PAUSE_MS         1000
#define TELL_MS          60000 /* the log hears of errors once in this time */
#define OTLP_HEADERS_MAX 16
#define DRAIN_MS         2000

struct tracer {
    struct server *server;
    struct outgoing *outgoing;
    struct outgoing_transfer *transfer; /* NULL: none is under way */
    uv_timer_t timer;
    bool armed;
    char *url;
    char *headers[OTLP_HEADERS_MAX];
    size_t header_count;
    struct buf spans; /* that gather */
    unsigned gathered;
    struct buf body;  /* of the batch that is being sent */
    unsigned sending; /* spans in it; 0: there is none */
    unsigned tries;
    int64_t tell_ms;  /* monotonic: not before */
    int64_t drain_ms; /* monotonic: until when a stop waits; 0: it has not begun */
    struct tracer_stats stats;
};

static int64_t now_ms(void)
{
    return time_mono_us() / 1000;
}

static void on_timer(uv_timer_t *timer);

static void arm(struct tracer *t, int64_t ms)
{
    t->armed = true;
    uv_timer_start(&t->timer, on_timer, (uint64_t)ms, 0);
}

static void tell(struct tracer *t, const struct outgoing_answer *a, const char *next)
{
    char status[LOG_NUMBER];

    if (now_ms() < t->tell_ms)
        return;
    t->tell_ms = now_ms() + TELL_MS;
    log_line(&t->server->log, LOG_LEVEL_WARN, "traces could not be exported", "endpoint",
             t->server->options.otlp.endpoint, "status",
             a->outcome == OUTGOING_ANSWERED ? log_number(a->status, status) : "", "error",
             a->error, "next", next, NULL);
}

/* The batch is over, in whatever way. */
static void next_batch(struct tracer *t)
{
    t->sending = 0;
    t->tries = 0;
    buf_reset(&t->body, GATHER_BYTES / 4);
    if (t->gathered)
        arm(t, t->gathered >= BATCH_SPANS || t->drain_ms ? 0 : BATCH_MS);
}

/* As OTLP says: these may be better later. */
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
        t->stats.exported += t->sending;
        next_batch(t);
    } else if (is_passing(a) && ++t->tries < TRIES) {
        tell(t, a, "it is tried again");
        arm(t, PAUSE_MS << (t->tries - 1));
    } else {
        tell(t, a, "the batch is dropped");
        t->stats.dropped += t->sending;
        next_batch(t);
    }
}

static void send_batch(struct tracer *t)
{
    struct outgoing_request r = {
        .url = t->url,
        .headers = (const char *const *)t->headers,
        .header_count = t->header_count,
        .body = buf_view(&t->body),
        .timeout_ms = TIMEOUT_MS,
        .done = on_done,
        .arg = t,
    };

    if (outgoing_start(t->outgoing, &r, &t->transfer) < 0)
        on_done(t, &(struct outgoing_answer){ .outcome = OUTGOING_UNREACHABLE,
                                              .retry_after = "",
                                              .location = "",
                                              .error = "out of memory" });
}

static void take_batch(struct tracer *t)
{
    otlp_request(str_of(t->server->options.otlp.service), buf_view(&t->spans), &t->body);
    t->sending = t->gathered;
    t->gathered = 0;
    buf_reset(&t->spans, GATHER_BYTES / 4);
    if (t->body.failed) {
        t->stats.dropped += t->sending;
        t->sending = 0;
        buf_reset(&t->body, 0);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct tracer *t = timer->data;

    t->armed = false;
    if (t->transfer)
        return;
    if (!t->sending && t->gathered)
        take_batch(t);
    if (t->sending)
        send_batch(t);
}

void tracer_event(struct tracer *t, const struct job_event *ev)
{
    size_t before = t->spans.len;
    unsigned n;

    if (t->gathered >= GATHER_SPANS || t->spans.len >= GATHER_BYTES) {
        struct buf counted = { 0 };

        t->stats.dropped += otlp_spans(ev, true, &counted);
        buf_fini(&counted);
        return;
    }
    n = otlp_spans(ev, t->gathered == 0, &t->spans);
    if (t->spans.failed) {
        t->spans.len = before;
        t->spans.failed = false;
        t->stats.dropped += n;
        return;
    }
    t->gathered += n;
    if (n && !t->sending && (!t->armed || t->gathered == BATCH_SPANS))
        arm(t, t->gathered >= BATCH_SPANS ? 0 : BATCH_MS);
}

bool tracer_drain(struct tracer *t)
{
    if (!t || (!t->gathered && !t->sending))
        return true;
    if (!t->drain_ms) {
        t->drain_ms = now_ms() + DRAIN_MS;
        if (!t->sending)
            arm(t, 0);
    }
    return now_ms() >= t->drain_ms || t->tries > 0;
}

void tracer_stats(const struct tracer *t, struct tracer_stats *ret)
{
    *ret = t ? t->stats : (struct tracer_stats){ 0 };
}

/* ---- Beginning and ending ---- */

static int refuse(struct server *s, const char *option, const char *expected)
{
    log_line(&s->log, LOG_LEVEL_ERROR, "bad option", "option", option, "expected", expected, NULL);
    return BELFRY_INVALID;
}

static int add_header(struct tracer *t, struct str name, struct str value)
{
    char **at = &t->headers[t->header_count];

    if (asprintf(at, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)) < 0)
        return BELFRY_NOMEM;
    t->header_count++;
    return 0;
}

static struct str trim(struct str s)
{
    while (s.len && s.ptr[0] == ' ')
        s = (struct str){ s.ptr + 1, s.len - 1 };
    while (s.len && s.ptr[s.len - 1] == ' ')
        s.len--;
    return s;
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

/* name=value,name=value: as the environment of other exporters has it. */
static int read_headers(struct tracer *t, const char *text)
{
    static const char expected[] = "name=value, with commas between, 15 of them at most";
    int err = add_header(t, STR("Content-Type"), STR("application/json"));

    while (!err && *text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        struct str name = { text, equals ? (size_t)(equals - text) : 0 }, value = { 0 };

        if (equals)
            value = (struct str){ equals + 1, len - name.len - 1 };
        name = trim(name);
        value = trim(value);
        if (t->header_count == OTLP_HEADERS_MAX || !is_header_name(name) || !is_header_value(value))
            return refuse(t->server, "otlp_headers", expected);
        err = add_header(t, name, value);
        text += len + (text[len] == ',');
    }
    return err;
}

static int read_endpoint(struct tracer *t, const char *text)
{
    size_t len = strlen(text);

    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return refuse(t->server, "otlp_endpoint", "a URL such as http://127.0.0.1:4318");
    while (len && text[len - 1] == '/')
        len--;
    return asprintf(&t->url, "%.*s/v1/traces", (int)len, text) < 0 ? BELFRY_NOMEM : 0;
}

int tracer_new(struct server *s, struct tracer **ret)
{
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
    err = read_endpoint(t, s->options.otlp.endpoint);
    if (!err)
        err = read_headers(t, s->options.otlp.headers);
    if (!err)
        err =
            outgoing_new(&s->loop, &(struct outgoing_options){ .max_transfers = 1 }, &t->outgoing);
    if (err) {
        tracer_free(t);
        return err;
    }
    uv_timer_init(&s->loop, &t->timer);
    *ret = t;
    return 0;
}

void tracer_stop(struct tracer *t)
{
    if (!t)
        return;
    uv_close((uv_handle_t *)&t->timer, NULL);
    outgoing_stop(t->outgoing);
}

void tracer_free(struct tracer *t)
{
    if (!t)
        return;
    outgoing_free(t->outgoing);
    for (size_t i = 0; i < t->header_count; i++)
        free(t->headers[i]);
    free(t->url);
    buf_fini(&t->spans);
    buf_fini(&t->body);
    free(t);
}
