/* SPDX-License-Identifier: MIT */
/* QUEUE, QUEUES, PAUSE, RESUME. */
#include "verbs/handlers.h"

#include "engine/push.h"
#include "verbs/page.h"

/* Secrets are not shown: of headers only the names are, and of secrets only the number. */
static void put_header_names(struct reply *r, const void *view)
{
    const struct queue_settings *s = view;
    struct str rest = s->push.headers, name, value;
    struct buf names = { 0 };

    while (push_header_next(&rest, &name, &value))
        buf_printf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(name));
    if (names.len && !names.failed)
        reply_bytes(r, buf_view(&names));
    else
        reply_null(r);
    buf_fini(&names);
}

static void put_secret_count(struct reply *r, const void *view)
{
    const struct queue_settings *s = view;
    struct str rest = s->push.secrets, value;
    int64_t secrets = 0;

    while (push_secret_next(&rest, &value))
        secrets++;
    reply_integer(r, secrets);
}

/* clang-format off */
#define OF struct queue_settings
static const struct shape_field setting_fields[] = {
    SHOW_BOOL("paused", paused), SHOW_DURATION("lease_ms", lease_ms), SHOW_INT("attempts", attempts),
    SHOW_TEXT("backoff", backoff), SHOW_DURATION("retain_ms", retain_ms),
    SHOW_DURATION("retain_dead_ms", retain_dead_ms), SHOW_DURATION("key_hold_ms", key_hold_ms),
    SHOW_DURATION("past_grace_ms", past_grace_ms, OR_NULL), SHOW_INT("max_running", max_running),
    SHOW_RATE("rate", rate), SHOW_INT("burst", rate.burst), SHOW_TEXT("push_url", push.url, OR_NULL),
    SHOW_OWN("push_headers", SHAPE_TEXT, put_header_names, OR_NULL),
    SHOW_OWN("push_secrets", SHAPE_INT, put_secret_count),
    SHOW_DURATION("push_timeout_ms", push.timeout_ms), SHOW_INT("push_concurrency", push.concurrency),
    { 0 },
};
#undef OF
#define STATE(name, text, part, next) SHOW_INT(text, jobs[JOB_##name]),
#define OF struct queue_view
const struct shape_field queue_fields[] = {
    SHOW_TENANT(name), SHOW_QUEUE(name), SHOW_WORD("held_by", hold, hold_text, OR_NULL),
    JOB_STATES(STATE)
    SHOW_INT("waiting_workers", waiters), SHOW_MOMENT("oldest_ms", oldest_ms, OR_NULL),
    SHOW_MOMENT("asked_ms", asked_ms, OR_NULL),
    SHOW_PART(settings, struct queue_settings, setting_fields),
    SHOW_PART(counters, struct counters, counter_fields), SHOW_HIST("lateness", "ms", lateness),
    SHOW_HIST("runtime", "ms", runtime), SHOW_HIST("wait", "ms", wait), { 0 },
};
/* clang-format on */

static int queue_add(void *page, const struct queue_view *v)
{
    return page_add(page, v);
}

void run_queues(struct verb_call *c)
{
    struct page page = { .call = c, .fields = queue_fields };
    bool is_short = arg_of(c, "after")->set && !str_eq(c->tenant, STR(TENANT_ALL));
    struct listing l = LISTING;
    char buf[QUEUE_MAX_BYTES];

    args_store(c, &l);
    if (is_short && !name_valid(l.after)) {
        verb_error(c, BELFRY_INVALID, "after: expected a queue's name");
        return;
    }
    if (is_short)
        full_name(c->tenant, l.after, buf, &l.after);
    page_begin(&page);
    page_end(&page, engine_queues(c->engine, c->tenant, l.after, l.limit, queue_add, &page), "");
}

void run_queue(struct verb_call *c)
{
    struct queue_settings s = { 0 };
    unsigned fields = args_store(c, &s);
    char buf[QUEUE_MAX_BYTES];
    struct str name;
    struct queue_view v;

    if (!queue_named(c, c->args[SUBJECT].str, buf, &name))
        return;
    if (fields && verb_failed(c, engine_queue_set(c->engine, name, &s, fields)))
        return;
    if (engine_queue_get(c->engine, name, &v) == 0)
        shape_put(c->reply, queue_fields, &v);
    else
        reply_null(c->reply);
}

void run_pause(struct verb_call *c)
{
    struct queue_settings s = { .paused = c->verb->flags & VERB_STOPS };
    char buf[QUEUE_MAX_BYTES];
    struct str name;

    if (queue_named(c, c->args[SUBJECT].str, buf, &name))
        verb_ok(c, engine_queue_set(c->engine, name, &s, 1u << QUEUE_PAUSED));
}

void run_queuedelete(struct verb_call *c)
{
    char buf[QUEUE_MAX_BYTES];
    struct str name;

    if (queue_named(c, c->args[SUBJECT].str, buf, &name))
        verb_ok(c, engine_queue_delete(c->engine, name));
}
