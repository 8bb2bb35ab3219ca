/* SPDX-License-Identifier: MIT */
/* GET and LIST. */
#include "verbs/handlers.h"

#include <inttypes.h>
#include <stdio.h>

static void field_bytes(struct reply *r, const char *name, struct str s)
{
    reply_text(r, name);
    if (s.len)
        reply_bytes(r, s);
    else
        reply_null(r);
}

static void field_int(struct reply *r, const char *name, int64_t v)
{
    reply_text(r, name);
    reply_integer(r, v);
}

/* Null unless it means something. */
static void field_int_if(struct reply *r, const char *name, bool meant, int64_t v)
{
    reply_text(r, name);
    if (meant)
        reply_integer(r, v);
    else
        reply_null(r);
}

static void reply_attempt(struct reply *r, const struct attempt *a)
{
    reply_map(r, 7);
    field_int(r, "attempt", a->number);
    field_int(r, "start_ms", a->start_ms);
    field_int(r, "end_ms", a->end_ms);
    field_int(r, "late_ms", a->late_ms);
    reply_text(r, "outcome");
    reply_text(r, attempt_outcome_name(a->outcome));
    field_bytes(r, "worker", a->worker);
    field_bytes(r, "error", a->error);
}

#define SUMMARY_FIELDS 11

static void reply_summary(struct reply *r, const struct job_view *v)
{
    reply_text(r, "id");
    reply_id(r, v->id);
    reply_text(r, "state");
    reply_text(r, job_state_name(v->state));
    reply_text(r, "queue");
    reply_bytes(r, v->queue);
    field_bytes(r, "key", v->key);
    field_int(r, "priority", v->priority);
    field_int(r, "due_ms", v->due_ms);
    field_int(r, "at_ms", v->at_ms);
    field_int(r, "attempt", v->attempt);
    field_int(r, "attempts", v->attempts);
    field_int(r, "payload_bytes", (int64_t)v->payload.len);
    field_bytes(r, "error", v->error);
}

#define DETAIL_FIELDS 15

static void reply_detail(struct reply *r, const struct job_view *v)
{
    bool leased = v->state == JOB_LEASED;
    bool ended = v->state > JOB_LEASED;

    reply_text(r, "payload");
    reply_bytes(r, v->payload);
    field_int(r, "created_ms", v->created_ms);
    field_int(r, "stalls", v->stalls);
    field_int_if(r, "lease_ms", leased, v->lease_ms);
    field_int_if(r, "until_ms", leased, v->until_ms);
    field_bytes(r, "worker", leased ? v->worker : (struct str){ 0 });
    field_int_if(r, "progress", leased && v->progress >= 0, v->progress);
    field_bytes(r, "note", v->note);
    reply_text(r, "cancelling");
    reply_boolean(r, v->cancelling);
    reply_text(r, "replacing");
    reply_boolean(r, v->replacing);
    field_int_if(r, "ended_ms", ended, v->ended_ms);
    field_int_if(r, "keep_ms", ended, v->keep_ms);
    field_bytes(r, "result", v->result);
    reply_name(r, "token");
    if (leased)
        reply_token(r, v->token);
    else
        reply_null(r);
    reply_text(r, "history");
    reply_array(r, v->history_count);
    for (size_t i = 0; i < v->history_count; i++)
        reply_attempt(r, &v->history[i]);
}

void run_get(struct verb_call *c)
{
    struct job_view v;
    struct job_id id;
    int err = job_named(c, &id);

    if (err == BELFRY_INVALID)
        return;
    if (err || engine_get(c->engine, id, &v) < 0) {
        reply_null(c->reply);
        return;
    }
    reply_map(c->reply, SUMMARY_FIELDS + DETAIL_FIELDS);
    reply_summary(c->reply, &v);
    reply_detail(c->reply, &v);
}

#define PAGE_MAX 1000

struct page {
    struct job_id ids[PAGE_MAX];
    size_t n;
};

static int page_add(void *arg, const struct job_view *v)
{
    struct page *p = arg;

    p->ids[p->n++] = v->id;
    return 0;
}

static bool cursor_parse(struct str text, struct list_cursor *ret)
{
    char copy[96] = { 0 };
    unsigned log2;
    int end = 0;

    if (text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    if (sscanf(copy, "%2u-%20" SCNu64 "-%15" SCNd64 "-%20" SCNu64 "%n", &log2, &ret->stripe,
               &ret->due_ms, &ret->seq, &end) != 4 ||
        (size_t)end != text.len)
        return false;
    ret->stripes_log2 = (uint8_t)log2;
    ret->more = true;
    return true;
}

static void reply_page(struct verb_call *c, const struct page *p, const struct list_cursor *next)
{
    reply_map(c->reply, 2);
    reply_text(c->reply, "jobs");
    reply_array(c->reply, p->n);
    for (size_t i = 0; i < p->n; i++) {
        struct job_view v;

        engine_get(c->engine, p->ids[i], &v); /* listed just now: it is there */
        reply_map(c->reply, SUMMARY_FIELDS);
        reply_summary(c->reply, &v);
    }
    reply_text(c->reply, "cursor");
    if (next->more) {
        char text[96];
        int n = snprintf(text, sizeof(text), "%u-%" PRIu64 "-%" PRId64 "-%" PRIu64,
                         next->stripes_log2, next->stripe, next->due_ms, next->seq);

        reply_bytes(c->reply, (struct str){ text, (size_t)n });
    } else {
        reply_null(c->reply);
    }
}

void run_list(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct page page = { .n = 0 };
    struct list_cursor cursor = { 0 };
    struct list_filter f = {
        .queue = a[LIST_QUEUE].set ? a[LIST_QUEUE].str : (struct str){ 0 },
        .state = a[LIST_STATE].set ? (int)a[LIST_STATE].number : -1,
        .from_ms = a[LIST_FROM].set ? a[LIST_FROM].number : 0,
        .to_ms = a[LIST_TO].set ? a[LIST_TO].number : INT64_MAX,
        .limit = a[LIST_LIMIT].set ? (size_t)a[LIST_LIMIT].number : 100,
    };
    int err = 0;

    if (a[LIST_CURSOR].set && !cursor_parse(a[LIST_CURSOR].str, &cursor))
        err = BELFRY_INVALID;
    if (!err)
        err = engine_list(c->engine, &f, page_add, &page, &cursor);
    if (err)
        verb_error(c, err, err == BELFRY_INVALID ? "cursor: expected one that LIST gave" : "");
    else
        reply_page(c, &page, &cursor);
}
