/* SPDX-License-Identifier: MIT */
/* GET and LIST. */
#include "verbs/handlers.h"
#include "verbs/seal.h"

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
    reply_field(r, "attempt", a->number);
    reply_field(r, "start_ms", a->start_ms);
    reply_field(r, "end_ms", a->end_ms);
    reply_field(r, "late_ms", a->late_ms);
    reply_text(r, "outcome");
    reply_text(r, attempt_outcome_name(a->outcome));
    reply_field_bytes(r, "worker", a->worker);
    reply_field_bytes(r, "error", a->error);
}

void reply_labels(struct reply *r, const struct job_view *v)
{
    reply_name(r, "tags");
    reply_array(r, v->tag_count);
    for (size_t i = 0; i < v->tag_count; i++)
        reply_bytes(r, v->tags[i]);
    reply_name(r, "meta");
    reply_map(r, v->meta_count);
    for (size_t i = 0; i < v->meta_count; i++) {
        reply_bytes(r, v->meta[i].name);
        reply_bytes(r, v->meta[i].value);
    }
}

/* What LIST shows of a job, and GET first. */
struct summary {
    struct job_id id;
    enum job_state state;
    struct str tenant;
    struct str queue;
    struct str key;
    struct str error;
    struct str order;
    int priority;
    uint32_t attempt;
    int64_t attempts;
    int64_t due_ms;
    int64_t at_ms;
    int64_t deferred_ms;
    uint32_t deferrals;
    size_t payload_bytes;
};

static struct summary summary_of(const struct job_view *v)
{
    return (struct summary){
        .id = v->id,
        .state = v->state,
        .tenant = v->tenant,
        .queue = v->queue,
        .key = v->key,
        .error = v->error,
        .order = v->order,
        .priority = v->priority,
        .attempt = v->attempt,
        .attempts = v->attempts,
        .due_ms = v->due_ms,
        .at_ms = v->at_ms,
        .deferred_ms = v->deferred_ms,
        .deferrals = v->deferrals,
        .payload_bytes = v->payload.len,
    };
}

#define SUMMARY_FIELDS 15

static void reply_summary(struct reply *r, const struct summary *v)
{
    reply_text(r, "id");
    reply_id(r, v->id);
    reply_text(r, "state");
    reply_text(r, job_state_name(v->state));
    reply_text(r, "tenant");
    reply_bytes(r, v->tenant);
    reply_text(r, "queue");
    reply_bytes(r, v->queue);
    reply_field_bytes(r, "key", v->key);
    reply_field(r, "priority", v->priority);
    reply_field(r, "due_ms", v->due_ms);
    reply_field(r, "at_ms", v->at_ms);
    reply_field(r, "attempt", v->attempt);
    reply_field(r, "attempts", v->attempts);
    reply_field(r, "payload_bytes", (int64_t)v->payload_bytes);
    field_int_if(r, "deferred_until", v->deferred_ms >= 0, v->deferred_ms);
    reply_field(r, "deferrals", v->deferrals);
    reply_field_bytes(r, "error", v->error);
    reply_field_bytes(r, "order", v->order);
}

#define DETAIL_FIELDS 24

static void reply_detail(struct reply *r, const struct job_view *v)
{
    bool leased = v->state == JOB_LEASED;
    bool ended = v->state > JOB_LEASED && v->state != JOB_WAITING;

    reply_text(r, "payload");
    reply_bytes(r, v->payload);
    reply_field(r, "created_ms", v->created_ms);
    reply_field(r, "stalls", v->stalls);
    reply_labels(r, v);
    reply_text(r, "after");
    reply_array(r, v->after_count);
    for (size_t i = 0; i < v->after_count; i++)
        reply_id(r, v->after[i]);
    reply_field_bytes(r, "recurrence", v->recurrence);
    field_int_if(r, "nominal_ms", v->recurrence.len > 0, v->nominal_ms);
    field_int_if(r, "expires_ms", v->expires_ms >= 0, v->expires_ms);
    reply_text(r, "notify");
    reply_boolean(r, v->notify);
    reply_text(r, "gates");
    reply_text(r, v->passing ? "pass" : "hold");
    field_int_if(r, "lease_ms", leased, v->lease_ms);
    field_int_if(r, "until_ms", leased, v->until_ms);
    reply_field_bytes(r, "worker", leased ? v->worker : (struct str){ 0 });
    field_int_if(r, "progress", leased && v->progress >= 0, v->progress);
    reply_field_bytes(r, "note", v->note);
    reply_text(r, "cancelling");
    reply_boolean(r, v->cancelling);
    reply_text(r, "replacing");
    reply_boolean(r, v->replacing);
    field_int_if(r, "ended_ms", ended, v->ended_ms);
    field_int_if(r, "keep_ms", ended, v->keep_ms);
    reply_field_bytes(r, "result", v->result);
    reply_field_bytes(r, "push", v->push);
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
    if (!err)
        err = engine_get(c->engine, id, &v);
    if (err == BELFRY_NOTFOUND) {
        reply_null(c->reply);
    } else if (err) {
        verb_error(c, err, engine_detail(c->engine));
    } else {
        struct summary summary = summary_of(&v);

        reply_map(c->reply, SUMMARY_FIELDS + DETAIL_FIELDS);
        reply_summary(c->reply, &summary);
        reply_detail(c->reply, &v);
    }
}

#define PAGE_MAX 1000

/* Gathered before anything is answered: how many there are comes first, and views last only for the
 * engine's call. */
struct page {
    struct summary
        jobs[PAGE_MAX]; /* tenant, queue, key, error and order of each have only their lengths: */
    size_t n;
    struct buf text; /* they are here, one behind the other */
};

static void keep_text(struct buf *text, struct str *s)
{
    buf_str(text, *s);
    s->ptr = NULL;
}

static int page_add(void *arg, const struct job_view *v)
{
    struct page *p = arg;
    struct summary *s = &p->jobs[p->n++];

    *s = summary_of(v);
    keep_text(&p->text, &s->tenant);
    keep_text(&p->text, &s->queue);
    keep_text(&p->text, &s->key);
    keep_text(&p->text, &s->error);
    keep_text(&p->text, &s->order);
    return p->text.failed ? BELFRY_NOMEM : 0;
}

static void find_text(const char **at, struct str *s)
{
    s->ptr = *at;
    *at += s->len;
}

static void reply_page(struct verb_call *c, struct page *p, const struct list_cursor *next)
{
    const char *at = p->text.ptr;
    struct reply *r = c->reply;

    reply_map(r, 2);
    reply_text(r, "jobs");
    reply_array(r, p->n);
    for (size_t i = 0; i < p->n; i++) {
        struct summary *s = &p->jobs[i];

        find_text(&at, &s->tenant);
        find_text(&at, &s->queue);
        find_text(&at, &s->key);
        find_text(&at, &s->error);
        find_text(&at, &s->order);
        reply_map(r, SUMMARY_FIELDS);
        reply_summary(r, s);
    }
    reply_text(r, "cursor");
    seal_reply(c, next);
}

void run_list(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct page page;
    struct list_cursor cursor = { 0 };
    char name[QUEUE_MAX_BYTES];
    struct list_filter f = {
        .tenant = c->tenant,
        .state = a[LIST_STATE].set ? (int)a[LIST_STATE].number : -1,
        .from_ms = a[LIST_FROM].set ? a[LIST_FROM].number : 0,
        .to_ms = a[LIST_TO].set ? a[LIST_TO].number : INT64_MAX,
        .limit = a[LIST_LIMIT].set ? (size_t)a[LIST_LIMIT].number : 100,
    };
    int err = 0;

    f.tag = a[LIST_TAG].set ? a[LIST_TAG].str : (struct str){ 0 };
    if (a[LIST_QUEUE].set && !queue_named(c, a[LIST_QUEUE].str, name, &f.queue))
        return;
    page.n = 0;
    page.text = (struct buf){ 0 };
    if (a[LIST_CURSOR].set && !seal_parse(c, a[LIST_CURSOR].str, &cursor))
        err = BELFRY_INVALID;
    if (!err)
        err = engine_list(c->engine, &f, page_add, &page, &cursor);
    if (err)
        verb_error(c, err, err == BELFRY_INVALID ? "cursor: expected one that LIST gave" : "");
    else
        reply_page(c, &page, &cursor);
    buf_fini(&page.text);
}
