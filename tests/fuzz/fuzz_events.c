/* SPDX-License-Identifier: MIT */
/* A reader of events may send a filter in a query and the id of an event, and a job may have a
 * traceparent. Each is refused with a reason, or taken for what it says. */
#include "fuzz.h"

#include "base/error.h"
#include "front/event_stream.h"
#include "front/http_call.h"
#include "front/otlp.h"

static void check_id(struct str text)
{
    uint64_t epoch, number;
    char again[64];

    if (!event_id_parse(text, &epoch, &number))
        return;
    snprintf(again, sizeof(again), "%llu-%llu", (unsigned long long)epoch,
             (unsigned long long)number);
    CHECK(text.len >= strlen(again)); /* zeros in front */
    CHECK(event_id_parse(str_of(again), &epoch, &number));
}

static void check_trace(struct str text)
{
    struct trace_context c;
    struct job_event ev = { .id = { 1, 0, 1 }, .outcome = -1, .cause = CAUSE_CREATED };
    struct buf out = { 0 };
    bool good = trace_parse(text, &c);

    ev.trace = text;
    CHECK(otlp_spans(&ev, true, &out) == (!good || c.sampled));
    CHECK(!good || text.len >= 55);
    CHECK(!good || !c.sampled || memmem(out.ptr, out.len, text.ptr + 3, 32));
    buf_fini(&out);
}

static void check_query(struct str query)
{
    static struct event_ring ring;
    static struct event_texts texts;
    struct http_match m;
    struct http_call c = { 0 };
    struct event_stream s;
    struct buf out = { 0 };
    char why[256] = "";
    int err;

    if (!ring.bytes)
        CHECK(event_ring_open(&ring, EVENT_RING_MIN) == 0);
    http_route_find(STR("GET"), STR("/v1/events"), &m);
    CHECK(m.route);
    err = http_translate(&(struct http_input){ &m, query, { 0 }, { 0 }, 0 }, &c);
    if (!err)
        err = event_stream_init(&s, c.words, c.n, why, sizeof(why));
    if (!err)
        err = event_stream_place(&s, &ring, 1, NULL, why, sizeof(why));
    CHECK(err == 0 || c.why[0] || why[0]);
    CHECK(err == 0 || err == BELFRY_INVALID || err == BELFRY_TOOLARGE);
    if (!err) {
        CHECK(s.states && strlen(s.tenant) <= NAME_MAX_BYTES && strlen(s.queue) <= NAME_MAX_BYTES);
        while (event_stream_next(&s, &ring, &texts, 1, &out))
            ;
        CHECK(s.cursor.number == ring.settled && !s.cursor.lost);
    }
    buf_fini(&out);
    http_call_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy;
    struct str text;

    if (size == 0)
        return 0;
    copy = fuzz_copy((struct str){ (const char *)data + 1, size - 1 });
    text = (struct str){ copy, size - 1 };
    if (data[0] % 3 == 0)
        check_id(text);
    else if (data[0] % 3 == 1)
        check_trace(text);
    else
        check_query(text);
    free(copy);
    return 0;
}
