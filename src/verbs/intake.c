/* SPDX-License-Identifier: MIT */
/* SCHEDULE, CANCEL, RESCHEDULE, REDRIVE. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "base/time.h"

void reply_id(struct reply *r, struct job_id id)
{
    char text[ID_TEXT];

    id_format(id, text);
    reply_bytes(r, (struct str){ text, ID_TEXT });
}

int due_of(struct verb_call *c, const struct arg_value *in, const struct arg_value *at,
           int64_t *ret)
{
    int64_t now = engine_now(c->engine);

    if (in->set && at->set) {
        verb_error(c, BELFRY_INVALID, "in, at: expected only one of them");
        return BELFRY_INVALID;
    }
    if (in->set && in->number > TIME_MOMENT_MAX - now) {
        verb_error(c, BELFRY_INVALID, "in: expected a moment up to the year 9999");
        return BELFRY_INVALID;
    }
    *ret = in->set ? now + in->number : arg_number(at, -1);
    return 0;
}

void full_name(struct str tenant, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret)
{
    *ret = queue;
    if (str_eq(tenant, STR(TENANT_DEFAULT)))
        return;
    memcpy(buf, tenant.ptr, tenant.len);
    buf[tenant.len] = SCOPE_SEP;
    memcpy(buf + tenant.len + 1, queue.ptr, queue.len);
    *ret = (struct str){ buf, tenant.len + 1 + queue.len };
}

bool queue_named(struct verb_call *c, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret)
{
    if (!one_tenant(c))
        return false;
    full_name(c->tenant, queue, buf, ret);
    return true;
}

const struct item_args schedule_args = {
    .queue = SCHEDULE_QUEUE,
    .payload = SCHEDULE_PAYLOAD,
    .in = SCHEDULE_IN,
    .at = SCHEDULE_AT,
    .key = SCHEDULE_KEY,
    .if_exists = SCHEDULE_IFEXISTS,
    .priority = SCHEDULE_PRIORITY,
    .attempts = SCHEDULE_ATTEMPTS,
    .backoff = SCHEDULE_BACKOFF,
    .lease = SCHEDULE_LEASE,
    .retain = SCHEDULE_RETAIN,
    .expire = SCHEDULE_EXPIRE,
    .tag = SCHEDULE_TAG,
    .meta = SCHEDULE_META,
    .after = SCHEDULE_AFTER,
    .after_fail = SCHEDULE_AFTERFAIL,
    .notify = SCHEDULE_NOTIFY,
    .gates = SCHEDULE_GATES,
    .order = SCHEDULE_ORDER,
    .push = SCHEDULE_PUSH,
};

static const struct arg_value *arg_at(const struct verb_call *c, int at)
{
    static const struct arg_value none;

    return at < 0 ? &none : &c->args[at];
}

/* What may be given several times. */
static void labels_of(struct verb_call *c, const struct item_args *at, struct item *ret)
{
    struct job_spec *spec = &ret->spec;
    struct str text, same;
    size_t word = 0;

    while (spec->tag_count <= TAGS_MAX && arg_at(c, at->tag)->set &&
           verb_each(c, (size_t)at->tag, &word, &ret->tags[spec->tag_count], &same))
        spec->tag_count++;
    word = 0;
    while (spec->meta_count <= METAS_MAX && arg_at(c, at->meta)->set &&
           verb_each(c, (size_t)at->meta, &word, &ret->meta[spec->meta_count].name,
                     &ret->meta[spec->meta_count].value))
        spec->meta_count++;
    word = 0;
    while (spec->after_count <= AFTER_MAX && arg_at(c, at->after)->set &&
           verb_each(c, (size_t)at->after, &word, &text, &same))
        id_parse(text, &ret->after[spec->after_count++]); /* it was checked before */
}

bool item_of(struct verb_call *c, const struct item_args *at, struct item *ret)
{
    ret->spec = (struct job_spec){
        .payload = c->args[at->payload].str,
        .key = arg_str(arg_at(c, at->key)),
        .order = arg_str(arg_at(c, at->order)),
        .push = arg_str(arg_at(c, at->push)),
        .if_exists = (enum if_exists)arg_number(arg_at(c, at->if_exists), IFEXISTS_KEEP),
        .priority = (int)arg_number(arg_at(c, at->priority), 3),
        .attempts = arg_number(arg_at(c, at->attempts), -1),
        .backoff = arg_str(arg_at(c, at->backoff)),
        .lease_ms = arg_number(arg_at(c, at->lease), -1),
        .retain_ms = arg_number(arg_at(c, at->retain), -1),
        .expire_ms = arg_number(arg_at(c, at->expire), -1),
        .notify = arg_number(arg_at(c, at->notify), 0) == 1,
        .passing = arg_number(arg_at(c, at->gates), 0) == 1,
        .tags = ret->tags,
        .meta = ret->meta,
        .after = ret->after,
        .after_fail = (enum after_fail)arg_number(arg_at(c, at->after_fail), AFTERFAIL_CANCEL),
    };
    labels_of(c, at, ret);
    return queue_named(c, c->args[at->queue].str, ret->name, &ret->spec.queue) &&
           due_of(c, arg_at(c, at->in), arg_at(c, at->at), &ret->spec.due_ms) == 0;
}

void run_schedule(struct verb_call *c)
{
    struct schedule_result result;
    struct item item;
    int err;

    if (!item_of(c, &schedule_args, &item))
        return;
    err = engine_schedule(c->engine, &item.spec, &result);
    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else
        reply_id(c->reply, result.id);
}

int job_named(struct verb_call *c, struct job_id *ret)
{
    const struct arg_value *id = &c->args[JOB_ID];
    const struct arg_value *key = &c->args[JOB_KEY];
    const struct arg_value *queue = &c->args[JOB_QUEUE];
    const struct arg_value *order = &c->args[JOB_ORDER];

    if (id->set ? key->set || queue->set || order->set : !key->set || !queue->set) {
        verb_error(c, BELFRY_INVALID, "expected an id, or KEY and QUEUE");
        return BELFRY_INVALID;
    }
    if (!id->set) {
        char buf[QUEUE_MAX_BYTES];
        struct str name;

        return queue_named(c, queue->str, buf, &name)
                   ? engine_find_key(c->engine, name, arg_str(order), key->str, ret)
                   : BELFRY_INVALID;
    }
    *ret = id->id;
    return 0;
}

void run_cancel(struct verb_call *c)
{
    static const char *const words[] = {
#define WORD(name, text) [CANCEL_##name] = text,
        CANCEL_OUTCOMES(WORD)
#undef WORD
    };
    struct job_id id;
    int outcome = job_named(c, &id);

    if (outcome == BELFRY_INVALID)
        return;
    if (outcome == 0)
        outcome = engine_cancel(c->engine, id);
    else if (outcome == BELFRY_NOTFOUND)
        outcome = CANCEL_NOTFOUND;
    if (outcome < 0)
        verb_error(c, outcome, "");
    else
        reply_status(c->reply, words[outcome]);
}

void verb_ok(struct verb_call *c, int err)
{
    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else
        reply_status(c->reply, "OK");
}

void run_reschedule(struct verb_call *c)
{
    int64_t due;

    if (due_of(c, &c->args[RESCHEDULE_IN], &c->args[RESCHEDULE_AT], &due) < 0)
        return;
    verb_ok(c, engine_reschedule(c->engine, c->args[RESCHEDULE_ID].id,
                                 due < 0 ? engine_now(c->engine) : due));
}

void run_redrive(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    char buf[QUEUE_MAX_BYTES];
    struct str name;
    int n;

    if (a[REDRIVE_ID].set == a[REDRIVE_QUEUE].set) {
        verb_error(c, BELFRY_INVALID, "expected an id or QUEUE");
        return;
    }
    if (a[REDRIVE_ID].set) {
        n = engine_redrive(c->engine, a[REDRIVE_ID].id);
        n = n ? n : 1;
    } else {
        if (!queue_named(c, a[REDRIVE_QUEUE].str, buf, &name))
            return;
        n = engine_redrive_queue(c->engine, name, (size_t)arg_number(&a[REDRIVE_LIMIT], 1000));
    }
    if (n < 0)
        verb_error(c, n, engine_detail(c->engine));
    else
        reply_integer(c->reply, n);
    snprintf(c->outcome, sizeof(c->outcome), "%d put back", n);
}
