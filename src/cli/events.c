/* SPDX-License-Identifier: MIT */
/* `belfry events`: the changes of jobs, as they happen. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/call.h"
#include "cli/field.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/stream.h"
#include "cli/term.h"
#include "cli/text.h"
#include "front/json.h"

struct events {
    const char *tenant, *queue, *state, *after;
    int64_t count;
    bool colour;
};

const struct flag_row events_flags[] = {
    { "queue", "NAME", "only jobs of this queue", FLAG_TEXT(struct events, queue) },
    { "state", "A,B", "only changes to these states", FLAG_TEXT(struct events, state) },
    { "tenant", "NAME", "the tenant; `default` if not given; `*` for all tenants",
      FLAG_TEXT(struct events, tenant) },
    { "after", "ID", "begin behind this event, whose id --json shows",
      FLAG_TEXT(struct events, after) },
    { "count", "N", "end after so many events", .letter = 'n',
      FLAG_INT(struct events, count, 1, INT64_MAX) },
    { 0 },
};

/* The members of an event that a line shows. */
#define EVENT_TEXTS(X) \
    X(id)              \
    X(tenant)          \
    X(queue)           \
    X(state)           \
    X(from)            \
    X(cause)           \
    X(worker)          \
    X(outcome)         \
    X(error)
#define EVENT_NUMBERS(X) \
    X(attempt)           \
    X(happened_ms)       \
    X(at_ms)             \
    X(duration_ms)       \
    X(missed)

struct event {
#define TEXT(name) struct buf name;
    EVENT_TEXTS(TEXT)
#undef TEXT
#define NUMBER(name) int64_t name;
    EVENT_NUMBERS(NUMBER)
#undef NUMBER
};

static void event_fini(struct event *e)
{
#define FINI(name) buf_fini(&e->name);
    EVENT_TEXTS(FINI)
#undef FINI
}

static void read_member(struct json *j, struct str name, struct event *e)
{
    struct buf ignored = { 0 };
    struct str number;
    bool whole;

#define READ_TEXT(member)                                            \
    if (json_peek(j) == KIND_STRING && str_eq(name, STR(#member))) { \
        json_string_read(j, &e->member);                             \
        return;                                                      \
    }
    EVENT_TEXTS(READ_TEXT)
#undef READ_TEXT
#define READ_NUMBER(member)                                            \
    if (json_peek(j) == KIND_NUMBER && str_eq(name, STR(#member))) {   \
        uint64_t n;                                                    \
        if (json_number(j, &number, &whole) && str_number(number, &n)) \
            e->member = (int64_t)n;                                    \
        return;                                                        \
    }
    EVENT_NUMBERS(READ_NUMBER)
#undef READ_NUMBER
    json_take(j, &ignored);
    buf_fini(&ignored);
}

static void read_event(struct str data, struct event *ret)
{
    struct buf name = { 0 };
    struct json j;
    size_t n = 0;

    *ret = (struct event){ .at_ms = -1, .duration_ms = -1, .missed = -1 };
    json_begin(&j, data);
    if (json_peek(&j) != KIND_OBJECT || !json_open(&j))
        return;
    while (json_next(&j, '}', &n) > 0) {
        name.len = 0;
        if (!json_name(&j, &name))
            break;
        read_member(&j, buf_view(&name), ret);
    }
    buf_fini(&name);
}

static const char *tone_of(struct str state)
{
    return str_eq(state, STR("done"))     ? TERM_GREEN
           : str_eq(state, STR("dead"))   ? TERM_RED
           : str_eq(state, STR("leased")) ? TERM_YELLOW
                                          : TERM_CYAN;
}

static void put_time(struct buf *out, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[24];

    if (localtime_r(&seconds, &tm))
        buf_append(out, text, strftime(text, sizeof(text), "%H:%M:%S", &tm));
    buf_printf(out, ".%03d  ", (int)(ms % 1000));
}

static void put_named(struct buf *out, const char *name, const struct buf *value)
{
    if (value->len == 0)
        return;
    buf_printf(out, "  %s ", name);
    text_put(out, buf_view(value), 80);
}

/* 12:00:01.250  01…  mail  leased -> done (ended)  attempt 1  took 250ms */
static void put_event(struct buf *out, const struct event *e, const struct events *o)
{
    bool all = o->tenant && strcmp(o->tenant, "*") == 0;

    put_time(out, e->happened_ms);
    buf_str(out, buf_view(&e->id));
    buf_text(out, "  ");
    if (all) {
        buf_str(out, buf_view(&e->tenant));
        buf_text(out, "  ");
    }
    buf_str(out, buf_view(&e->queue));
    buf_text(out, "  ");
    if (e->from.len && !str_eq(buf_view(&e->from), buf_view(&e->state))) {
        buf_str(out, buf_view(&e->from));
        buf_text(out, " -> ");
    }
    buf_text(out, o->colour ? tone_of(buf_view(&e->state)) : "");
    buf_str(out, buf_view(&e->state));
    buf_text(out, o->colour ? TERM_PLAIN : "");
    if (e->cause.len && !str_eq(buf_view(&e->cause), buf_view(&e->state)))
        buf_printf(out, " (%.*s)", STR_ARG(buf_view(&e->cause)));
    if (e->attempt > 0)
        buf_printf(out, "  attempt %lld", (long long)e->attempt);
    if (e->duration_ms >= 0)
        buf_printf(out, "  took %s", field_duration(e->duration_ms).text);
    if (e->at_ms > e->happened_ms)
        buf_printf(out, "  in %s", field_duration(e->at_ms - e->happened_ms).text);
    put_named(out, "worker", &e->worker);
    put_named(out, "error", &e->error);
    buf_text(out, "\n");
}

/* The data of the event, with its id and name. */
static void put_json(struct buf *out, const struct stream *s, const struct stream_event *e)
{
    json_quote_in(out, "{\"event\":", e->name, "");
    if (s->last.len)
        json_quote_in(out, ",\"event_id\":", buf_view(&s->last), "");
    buf_text(out, ",\"data\":");
    buf_str(out, e->data);
    buf_text(out, "}\n");
}

static bool show(const struct stream *s, const struct stream_event *e, const struct events *o)
{
    struct buf out = { 0 };
    bool printed;

    if (s->cli->json) {
        put_json(&out, s, e);
    } else {
        struct event event;

        read_event(e->data, &event);
        if (str_eq(e->name, STR("gap")) && event.missed >= 0)
            cli_say("%lld events were missed", (long long)event.missed);
        else if (str_eq(e->name, STR("gap")))
            cli_say("events were missed: belfry list shows how things are");
        else
            put_event(&out, &event, o);
        event_fini(&event);
    }
    printed = call_print(&out);
    buf_fini(&out);
    return printed;
}

static int follow(struct stream *s, const struct events *o)
{
    struct stream_event e;
    int code = CLI_OK;

    for (int64_t n = 0; code == CLI_OK && n < o->count; n++) {
        code = stream_next(s, &e);
        if (code == CLI_OK && !show(s, &e, o))
            code = CLI_ERROR;
    }
    return code;
}

int events_run(struct cli *cli, int argc, char **argv)
{
    struct flags f = { .cli = cli, .rows = events_flags, .argc = argc, .argv = argv };
    struct events o = { .count = INT64_MAX, .colour = term_look(STDOUT_FILENO).colour };
    int which = flag_read(&f, &o), code;
    struct str states, state;
    struct stream s;

    if (which != FLAG_END)
        return cli_usage("events: %s", which == FLAG_BAD ? f.why : "unexpected argument");
    if (cli->help)
        return help_topic("events");
    stream_init(&s, cli);
    states = str_of(o.state ? o.state : "");
    while (states.len > 0 && (state = str_cut(&states, ',')).len > 0)
        stream_ask(&s, "state", state);
    if (o.queue)
        stream_ask(&s, "queue", str_of(o.queue));
    if (o.tenant)
        stream_ask(&s, "tenant", str_of(o.tenant));
    buf_text(&s.last, o.after ? o.after : "");
    code = follow(&s, &o);
    stream_fini(&s);
    return code;
}
