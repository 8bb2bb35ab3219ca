/* SPDX-License-Identifier: MIT */
#include "front/otlp.h"

#include <stdio.h>
#include <xxhash.h>

#include "base/utf8.h"
#include "front/json.h"

/* The numbers are those of opentelemetry-proto. */
enum span_kind { KIND_INTERNAL = 1, KIND_PRODUCER = 4, KIND_CONSUMER = 5 };
#define STATUS_ERROR 2

/* The part of a span's id besides the job's id. */
enum span_role { ROLE_SCHEDULE, ROLE_DELIVER, ROLE_FINISH };

#define TRACEPARENT_BYTES 55

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Trace Context allows lower case only. */
static bool take_hex(const char *text, size_t n, uint8_t *ret)
{
    for (size_t i = 0; i < n; i++) {
        int high = hex(text[2 * i]), low = hex(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

/* 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 */
bool trace_parse(struct str text, struct trace_context *ret)
{
    struct trace_context c;
    uint8_t version, flags;
    const char *p = text.ptr;

    if (text.len < TRACEPARENT_BYTES || p[2] != '-' || p[35] != '-' || p[52] != '-' ||
        !take_hex(p, 1, &version) || !take_hex(p + 3, 16, c.trace) ||
        !take_hex(p + 36, 8, c.parent) || !take_hex(p + 53, 1, &flags))
        return false;
    /* A later version may have more fields. */
    if (version == 0xff ||
        (text.len > TRACEPARENT_BYTES && (version == 0 || p[TRACEPARENT_BYTES] != '-')))
        return false;
    if (is_zero(c.trace, 16) || is_zero(c.parent, 8))
        return false;
    c.sampled = flags & 1;
    *ret = c;
    return true;
}

/* ---- Ids ---- */

static void put_be(uint8_t *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(v >> 8 * (n - 1 - i));
}

static void id_bytes(struct job_id id, uint8_t ret[16])
{
    put_be(ret, (uint64_t)id.due_ms, 6);
    put_be(ret + 6, id.partition, 2);
    put_be(ret + 8, id.seq, 8);
}

struct span_id {
    uint8_t bytes[8];
};

static struct span_id span_id(struct job_id id, enum span_role role, uint64_t which)
{
    uint8_t seed[16 + 1 + 8];
    struct span_id ret;
    uint64_t hash;

    id_bytes(id, seed);
    seed[16] = (uint8_t)role;
    put_be(seed + 17, which, 8);
    hash = XXH3_64bits(seed, sizeof(seed));
    put_be(ret.bytes, hash ? hash : 1, 8); /* zeros are no id */
    return ret;
}

/* ---- Text ---- */

static void put_hex(struct buf *out, const char *name, const uint8_t *bytes, size_t n)
{
    buf_printf(out, "\"%s\":\"", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%02x", bytes[i]);
    buf_text(out, "\"");
}

/* Bytes that are no text are left out, because readers know no common form for them. */
static void put_attribute(struct buf *out, bool first, const char *name, struct str value)
{
    if (!utf8_valid(value))
        value = STR("(bytes)");
    buf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", first ? "" : ",", name);
    json_quote(out, value);
    buf_text(out, "}}");
}

static void put_int(struct buf *out, const char *name, int64_t value)
{
    buf_printf(out, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}", name, (long long)value);
}

struct span {
    const char *name;
    enum span_kind kind;
    struct span_id id;
    const uint8_t *parent; /* NULL: none */
    int64_t start_ms;
    bool failed;
};

static void put_attributes(const struct job_event *ev, const struct span *s, struct buf *out)
{
    char id[ID_TEXT];

    id_format(ev->id, id);
    buf_text(out, ",\"attributes\":[");
    put_attribute(out, true, "messaging.system", STR("belfry"));
    put_attribute(out, false, "messaging.destination.name", ev->queue);
    put_attribute(out, false, "messaging.message.id", (struct str){ id, ID_TEXT });
    put_attribute(out, false, "belfry.tenant", ev->tenant);
    put_attribute(out, false, "belfry.state", str_of(job_state_name(ev->state)));
    if (s->kind == KIND_CONSUMER) {
        put_int(out, "belfry.attempt", ev->attempt);
        put_int(out, "belfry.lateness_ms", ev->late_ms);
        put_attribute(out, false, "belfry.outcome",
                      str_of(attempt_outcome_name((unsigned)ev->outcome)));
        if (ev->worker.len)
            put_attribute(out, false, "belfry.worker", ev->worker);
    }
    buf_text(out, "]");
}

static void put_span(const struct job_event *ev, const struct trace_context *c,
                     const struct span *s, bool first, struct buf *out)
{
    buf_text(out, first ? "{" : ",{");
    put_hex(out, "traceId", c->trace, sizeof(c->trace));
    buf_text(out, ",");
    put_hex(out, "spanId", s->id.bytes, sizeof(s->id.bytes));
    if (s->parent) {
        buf_text(out, ",");
        put_hex(out, "parentSpanId", s->parent, 8);
    }
    buf_printf(out,
               ",\"name\":\"%s %.*s\",\"kind\":%d,\"startTimeUnixNano\":\"%lld000000\","
               "\"endTimeUnixNano\":\"%lld000000\"",
               s->name, STR_ARG(ev->queue), (int)s->kind, (long long)s->start_ms,
               (long long)(ev->now_ms > s->start_ms ? ev->now_ms : s->start_ms));
    put_attributes(ev, s, out);
    if (s->failed) {
        buf_printf(out, ",\"status\":{\"code\":%d", STATUS_ERROR);
        json_quote_in(out, ",\"message\":", utf8_valid(ev->error) ? ev->error : STR("(bytes)"),
                      "}");
    }
    buf_text(out, "}");
}

static bool is_failure(unsigned outcome)
{
    return outcome == ATTEMPT_FAILED || outcome == ATTEMPT_STALLED;
}

unsigned otlp_spans(const struct job_event *ev, bool first, struct buf *out)
{
    struct trace_context c = { .sampled = true };
    bool given = trace_parse(ev->trace, &c);
    struct span_id schedule = span_id(ev->id, ROLE_SCHEDULE, 0);
    struct span_id deliver = span_id(ev->id, ROLE_DELIVER, ev->token);
    struct span spans[3];
    unsigned n = 0;

    if (!given)
        id_bytes(ev->id, c.trace);
    if (!c.sampled)
        return 0;
    if (ev->cause == CAUSE_CREATED)
        spans[n++] = (struct span){ "schedule", KIND_PRODUCER, schedule, given ? c.parent : NULL,
                                    ev->now_ms, false };
    if (ev->outcome >= 0)
        spans[n++] =
            (struct span){ "deliver",      KIND_CONSUMER, deliver,
                           schedule.bytes, ev->start_ms,  is_failure((unsigned)ev->outcome) };
    if (ev->cause == CAUSE_ENDED)
        spans[n++] = (struct span){ "finish",
                                    KIND_INTERNAL,
                                    span_id(ev->id, ROLE_FINISH, (uint64_t)ev->now_ms),
                                    ev->outcome >= 0 ? deliver.bytes : schedule.bytes,
                                    ev->now_ms,
                                    ev->state == JOB_DEAD || ev->state == JOB_EXPIRED };
    for (unsigned i = 0; i < n; i++)
        put_span(ev, &c, &spans[i], first && i == 0, out);
    return n;
}

void otlp_request(struct str service, struct str spans, struct buf *out)
{
    buf_text(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    put_attribute(out, true, "service.name", service);
    put_attribute(out, false, "service.version", STR(BELFRY_VERSION));
    buf_text(out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"belfry\",\"version\":\"" BELFRY_VERSION
                  "\"},\"spans\":[");
    buf_str(out, spans);
    buf_text(out, "]}]}]}");
}
