/* SPDX-License-Identifier: MIT */
#include "front/event_stream.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "front/json.h"
#include "verbs/seal.h"

#define RETRY_MS 1000 /* how long a browser waits before it connects again */

/* clang-format off */
const struct verb event_options = {
    .name = "EVENTS",
    .flags = VERB_READS | VERB_PRODUCER,
    .args = {
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all "
                                        "tenants" },
        { "queue", ARG_NAME, .help = "only jobs of this queue" },
        { "state", ARG_WORD, .many = true, .words = "scheduled|waiting|leased|done|dead|cancelled|expired",
          .help = "only changes to this state; may be given several times" },
        { "after", ARG_BYTES, .max = 41,
          .help = "the id of the last event that the reader has seen: the stream goes on behind it, as with "
                  "Last-Event-ID" },
        { 0 } },
};
/* clang-format on */

enum { TENANT, QUEUE, STATE, AFTER };

static bool take_number(struct str *s, uint64_t *ret)
{
    uint64_t v = 0;
    size_t n = 0;

    for (; n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++)
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s->ptr[n] - '0'), &v))
            return false;
    *s = (struct str){ s->ptr + n, s->len - n };
    *ret = v;
    return n > 0;
}

bool event_id_parse(struct str text, uint64_t *ret_epoch, uint64_t *ret_number)
{
    uint64_t epoch, number;

    if (!take_number(&text, &epoch) || text.len == 0 || text.ptr[0] != '-')
        return false;
    text = (struct str){ text.ptr + 1, text.len - 1 };
    if (!take_number(&text, &number) || text.len > 0)
        return false;
    *ret_epoch = epoch;
    *ret_number = number;
    return true;
}

static unsigned state_bit(struct str name)
{
    for (unsigned s = 0; s < JOB_STATE_COUNT; s++)
        if (str_ieq(name, job_state_name((enum job_state)s)))
            return 1u << s;
    return 0;
}

static void copy(char *to, struct str s)
{
    memcpy(to, s.ptr, s.len);
    to[s.len] = '\0';
}

static struct seal seal_of(const struct event_stream *s)
{
    return (struct seal){ s->confined, event_options.name, str_of(s->tenant) };
}

static bool id_open(const struct event_stream *s, struct str id, uint64_t *ret_epoch,
                    uint64_t *ret_number)
{
    struct seal seal = seal_of(s);

    if (!s->confined)
        return event_id_parse(id, ret_epoch, ret_number);
    if (seal_pair_open(&seal, id, ret_epoch, ret_number))
        return true;
    *ret_epoch = 0; /* one that is not sealed was not given to him: it says nothing */
    return event_id_parse(id, ret_number, ret_number);
}

int event_stream_place(struct event_stream *s, const struct event_ring *r, uint64_t epoch,
                       const char *last_id, char *why, size_t why_size)
{
    struct str after = last_id ? str_of(last_id) : s->after;
    uint64_t its_epoch, number;

    s->after = (struct str){ 0 };
    if (after.len == 0) {
        s->cursor = event_ring_end(r);
    } else if (!id_open(s, after, &its_epoch, &number)) {
        snprintf(why, why_size, "%s: expected the id of an event, such as %s",
                 last_id ? "Last-Event-ID" : "after",
                 s->confined ? "ubNKd0RkXyTKcEUkFZtcbQ" : "3-17");
        return BELFRY_INVALID;
    } else if (its_epoch != epoch) {
        s->cursor = event_ring_lost(r);
    } else {
        s->cursor = event_ring_behind(r, number);
    }
    return 0;
}

static void set_tenant(struct event_stream *s, struct str tenant)
{
    copy(s->tenant, str_eq(tenant, STR(TENANT_ALL)) ? STR("") : tenant);
}

void event_stream_confine(struct event_stream *s, const struct engine *e, struct str tenant)
{
    set_tenant(s, tenant);
    s->confined = e;
}

int event_stream_init(struct event_stream *s, const struct str *words, size_t n, char *why,
                      size_t why_size)
{
    static const struct verb_host host = { .max_payload = 1024 };
    struct arg_value args[VERB_ARGS_MAX] = { 0 };
    int err = verb_parse(&event_options, &host, words, n, args, why, why_size);

    if (err)
        return err;
    *s = (struct event_stream){ 0 };
    set_tenant(s, verb_tenant(&event_options, args));
    if (args[QUEUE].set)
        copy(s->queue, args[QUEUE].str);
    for (size_t i = 1; i + 1 < n; i += 2)
        if (str_ieq(words[i], event_options.args[STATE].name))
            s->states |= state_bit(words[i + 1]);
    if (!s->states)
        s->states = ~0u;
    s->after = args[AFTER].str;
    return 0;
}

static bool is(const char *wanted, struct str name)
{
    return !wanted[0] || str_eq(name, str_of(wanted));
}

bool event_stream_wants(const struct event_stream *s, const struct job_event *ev)
{
    return s->states & 1u << ev->state && is(s->tenant, ev->tenant) && is(s->queue, ev->queue);
}

/* ---- Text ---- */

static void put_id(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    struct seal seal = seal_of(s);
    uint64_t number = s->cursor.number - 1;
    size_t before = out->len, bare;

    buf_text(out, "id: ");
    bare = out->len;
    if (s->confined)
        seal_pair(&seal, epoch, number, out);
    else
        buf_printf(out, "%llu-%llu", (unsigned long long)epoch, (unsigned long long)number);
    if (out->len == bare) /* an empty one would make the reader forget the last */
        out->len = before;
    else
        buf_text(out, "\n");
}

void event_stream_hello(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    buf_printf(out, "retry: %d\n", RETRY_MS);
    if (!s->cursor.lost) /* a gap comes first, with its own */
        put_id(s, epoch, out);
    buf_text(out, "\n");
}

/* With its id, so that who connects again goes on from there though nothing was for it. */
void event_stream_beat(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    buf_text(out, ": alive\n");
    put_id(s, epoch, out);
    buf_text(out, "\n");
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text)
        json_quote(out, str_of(text));
    else
        buf_text(out, "null");
}

/* Bytes: as everywhere in JSON here. */
static void put_bytes(struct buf *out, const char *name, struct str s)
{
    if (s.len && !utf8_valid(s)) {
        buf_printf(out, ",\"%s_base64\":\"", name);
        base64_put(out, s);
        buf_text(out, "\"");
        return;
    }
    buf_printf(out, ",\"%s\":", name);
    if (s.len)
        json_quote(out, s);
    else
        buf_text(out, "null");
}

static void put_number(struct buf *out, const char *name, int64_t v, bool there)
{
    buf_printf(out, ",\"%s\":", name);
    if (there)
        buf_int(out, v);
    else
        buf_text(out, "null");
}

void event_json(const struct job_event *ev, struct buf *out)
{
    char id[ID_TEXT];

    id_format(ev->id, id);
    buf_printf(out, "{\"id\":\"%.*s\"", ID_TEXT, id);
    buf_printf(out, ",\"tenant\":\"%.*s\",\"queue\":\"%.*s\"", STR_ARG(ev->tenant),
               STR_ARG(ev->queue));
    put_text(out, "state", job_state_name(ev->state));
    put_text(out, "from", ev->from < 0 ? NULL : job_state_name((enum job_state)ev->from));
    put_text(out, "cause", event_cause_name(ev->cause));
    put_number(out, "attempt", ev->attempt, true);
    put_number(out, "happened_ms", ev->now_ms, true);
    put_number(out, "due_ms", ev->due_ms, true);
    put_number(out, "at_ms", ev->at_ms, ev->at_ms >= 0);
    put_text(out, "outcome", ev->outcome < 0 ? NULL : attempt_outcome_name((unsigned)ev->outcome));
    put_number(out, "lateness_ms", ev->late_ms, ev->start_ms >= 0);
    put_number(out, "duration_ms", ev->now_ms - ev->start_ms, ev->outcome >= 0);
    put_bytes(out, "worker", ev->worker);
    put_bytes(out, "error", ev->error);
    buf_text(out, "}");
}

static void put_gap(const struct event_stream *s, uint64_t epoch, uint64_t missed, struct buf *out)
{
    put_id(s, epoch, out);
    buf_text(out, "event: gap\ndata: {\"missed\":");
    if (missed == EVENTS_UNKNOWN || s->confined)
        buf_text(out, "null");
    else
        buf_printf(out, "%llu", (unsigned long long)missed);
    buf_text(out, "}\n\n");
}

bool event_stream_next(struct event_stream *s, const struct event_ring *r, uint64_t epoch,
                       struct buf *out)
{
    struct job_event ev;
    uint64_t missed;
    enum event_read got;

    do
        got = event_ring_read(r, &s->cursor, &ev, &missed);
    while (got == EVENT_READ_ONE && !event_stream_wants(s, &ev));
    if (got == EVENT_READ_NONE)
        return false;
    if (got == EVENT_READ_GAP) {
        put_gap(s, epoch, missed, out);
        return true;
    }
    put_id(s, epoch, out);
    buf_printf(out, "event: %s\ndata: ", job_state_name(ev.state));
    event_json(&ev, out);
    buf_text(out, "\n\n");
    return true;
}
