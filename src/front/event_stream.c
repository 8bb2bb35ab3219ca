/* SPDX-License-Identifier: MIT */
#include "front/event_stream.h"

#include <stdio.h>

#include "front/json_reply.h"
#include "verbs/seal.h"

#define RETRY_MS 1000 /* a browser waits this long before it connects again */

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

bool event_id_parse(struct str text, uint64_t *ret_epoch, uint64_t *ret_number)
{
    uint64_t epoch, number;

    if (!str_number(str_cut(&text, '-'), &epoch) || !str_number(text, &number))
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
    *ret_epoch = 0; /* the reader was not given an id that is not sealed: it tells nothing */
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
    struct seal seal;

    set_tenant(s, tenant);
    s->confined = e;
    seal = seal_of(s);
    seal_pairs_free(s->ids);
    s->ids = e ? seal_pairs_new(&seal) : NULL;
}

void event_stream_fini(struct event_stream *s)
{
    seal_pairs_free(s->ids);
    s->ids = NULL;
}

int event_stream_init(struct event_stream *s, const struct str *words, size_t n, char *why,
                      size_t why_size)
{
    static const struct verb_host host = { .max_payload = 1024 };
    struct arg_value args[VERB_ARGS_MAX] = { 0 };
    uint32_t given = 0;
    int err = verb_parse(&event_options, &host, words, n, why, why_size, args, &given);

    if (err)
        return err;
    *s = (struct event_stream){ .has_tenant = args[TENANT].set };
    set_tenant(s, verb_tenant(&event_options, args, given));
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

static void put_plain_id(uint64_t epoch, uint64_t number, struct buf *out)
{
    char text[2 * BUF_DIGITS + 1], *p = buf_digits(text, epoch);

    *p++ = '-';
    p = buf_digits(p, number);
    buf_append(out, text, (size_t)(p - text));
}

static void put_id(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    uint64_t number = s->cursor.number - 1;
    size_t before = out->len, bare;

    buf_text(out, "id: ");
    bare = out->len;
    if (s->confined)
        seal_pairs_put(s->ids, epoch, number, out);
    else
        put_plain_id(epoch, number, out);
    if (out->len == bare) /* an empty id would make the reader forget its last one */
        out->len = before;
    else
        buf_text(out, "\n");
}

void event_stream_hello(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    buf_printf(out, "retry: %d\n", RETRY_MS);
    if (!s->cursor.lost) /* a gap comes first, with its own id */
        put_id(s, epoch, out);
    buf_text(out, "\n");
}

/* A beat has an id. So a reader that connects again continues there, although no event was for it.
 */
void event_stream_beat(const struct event_stream *s, uint64_t epoch, struct buf *out)
{
    buf_text(out, ": alive\n");
    put_id(s, epoch, out);
    buf_text(out, "\n");
}

static void put_lateness(struct reply *r, const void *view)
{
    const struct job_event *ev = view;

    if (ev->start_ms >= 0)
        reply_integer(r, ev->late_ms);
    else
        reply_null(r);
}

static void put_duration(struct reply *r, const void *view)
{
    const struct job_event *ev = view;

    if (ev->outcome >= 0)
        reply_integer(r, ev->now_ms - ev->start_ms);
    else
        reply_null(r);
}

/* clang-format off */
#define OF struct job_event
const struct shape_field event_fields[] = {
    SHOW_ID("id", id), SHOW_TEXT("tenant", tenant), SHOW_TEXT("queue", queue),
    SHOW_WORD("state", state, job_state_name, WORDS(JOB_STATES)), SHOW_WORD("from", from, job_state_name, OR_NULL, WORDS(JOB_STATES)),
    SHOW_WORD("cause", cause, event_cause_name, WORDS(EVENT_CAUSES)), SHOW_INT("attempt", attempt),
    SHOW_MOMENT("happened_ms", now_ms), SHOW_MOMENT("due_ms", due_ms),
    SHOW_MOMENT("at_ms", at_ms, OR_NULL),
    SHOW_WORD("outcome", outcome, attempt_outcome_name, OR_NULL, WORDS_3RD(ATTEMPT_OUTCOMES)),
    SHOW_OWN("lateness_ms", SHAPE_DURATION, put_lateness, OR_NULL),
    SHOW_OWN("duration_ms", SHAPE_DURATION, put_duration, OR_NULL),
    SHOW_BYTES("worker", worker, OR_NULL), SHOW_BYTES("error", error, OR_NULL), { 0 },
};
/* clang-format on */

void event_json(const struct job_event *ev, struct buf *out)
{
    struct json_reply r;

    json_reply_init(&r, out, NULL);
    shape_put(&r.base, event_fields, ev);
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

bool event_stream_next(struct event_stream *s, const struct event_ring *r,
                       struct event_texts *texts, uint64_t epoch, struct buf *out)
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
    event_texts_put(texts, s->cursor.number - 1, &ev, out);
    return true;
}
