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

bool due_of(struct verb_call *c, const struct arg_value *in, int64_t *ret)
{
    const struct arg_value *at = in + 1;
    int64_t now = engine_now(c->engine);

    if (in->set && at->set)
        verb_error(c, BELFRY_INVALID, "in, at: expected only one of them");
    else if (in->set && in->number > TIME_MOMENT_MAX - now)
        verb_error(c, BELFRY_INVALID, "in: expected a moment up to the year 9999");
    else
        *ret = in->set ? now + in->number : arg_number(at, -1);
    return !c->failed;
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

void item_labels(struct verb_call *c, struct item *ret)
{
    const struct arg *args = c->verb->args;
    struct job_spec *spec = &ret->spec;
    struct str text, same;

    for (uint32_t left = c->given; left; left &= left - 1) {
        size_t i = (size_t)__builtin_ctz(left), word = 0;

        if (args[i].as != AS_LIST)
            continue;
        if (args[i].type == ARG_NAME) {
            spec->tags = ret->tags;
            spec->tag_count = 0;
            while (spec->tag_count <= TAGS_MAX &&
                   verb_each(c, i, &word, &ret->tags[spec->tag_count], &same))
                spec->tag_count++;
        } else if (args[i].type == ARG_META) {
            spec->meta = ret->meta;
            spec->meta_count = 0;
            while (spec->meta_count <= METAS_MAX &&
                   verb_each(c, i, &word, &ret->meta[spec->meta_count].name,
                             &ret->meta[spec->meta_count].value))
                spec->meta_count++;
        } else {
            spec->after = ret->after;
            while (spec->after_count <= AFTER_MAX && verb_each(c, i, &word, &text, &same))
                id_parse(text, &ret->after[spec->after_count++]); /* verb_parse has checked it */
        }
    }
}

/* Whether a job is kept no longer than its queue says. False after an error reply. */
static bool retains_little(struct verb_call *c, const struct job_spec *spec)
{
    struct queue_view v = { .settings = &queue_defaults };
    char text[200];

    engine_queue_get(c->engine, spec->queue, &v);
    if (spec->retain_ms <= v.settings->retain_ms)
        return true;
    snprintf(text, sizeof(text),
             "retain: %lld ms are more than the %lld ms of the queue; this token is %s",
             (long long)spec->retain_ms, (long long)v.settings->retain_ms, role_name(c->who->role));
    verb_error(c, BELFRY_NOPERM, text);
    return false;
}

/* So producers cannot fill the disk for years. */
bool may_retain(struct verb_call *c, const struct job_spec *spec)
{
    return spec->retain_ms < 0 || !c->who || c->who->role == ROLE_ADMIN || retains_little(c, spec);
}

bool item_of(struct verb_call *c, struct item *ret)
{
    ret->spec = (struct job_spec){
        .due_ms = -1,
        .if_exists = IFEXISTS_KEEP,
        .priority = 3,
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = -1,
        .expire_ms = -1,
        .key_hold_ms = -1,
        .after_fail = AFTERFAIL_CANCEL,
    };
    args_store(c, &ret->spec);
    item_labels(c, ret);
    return queue_named(c, ret->spec.queue, ret->name, &ret->spec.queue) &&
           may_retain(c, &ret->spec);
}

bool schedule_of(struct verb_call *c, struct item *ret)
{
    ret->map = c->args[SCHEDULE_ANSWER].set && c->args[SCHEDULE_ANSWER].number == 1;
    return item_of(c, ret) && due_of(c, &c->args[SCHEDULE_IN], &ret->spec.due_ms);
}

#define SCHEDULE_OUTCOMES(X) X(CREATED, "created") X(KEPT, "kept") X(REPLACED, "replaced")
#define WORD(name, text)     [SCHEDULE_##name] = text,

static const char *const outcomes[] = { SCHEDULE_OUTCOMES(WORD) };
#undef WORD

static void put_created(struct reply *r, const void *view)
{
    reply_boolean(r, ((const struct schedule_result *)view)->outcome == SCHEDULE_CREATED);
}

/* clang-format off */
#define OF struct schedule_result
const struct shape_field scheduled_fields[] = {
    SHOW_ID("id", id), SHOW_OWN("created", SHAPE_BOOL, put_created),
    SHOW_INDEX("outcome", outcome, outcomes, WORDS(SCHEDULE_OUTCOMES)), { 0 },
};
#undef OF
/* clang-format on */

void reply_scheduled(struct reply *r, bool map, const struct schedule_result *result)
{
    if (map)
        shape_put(r, scheduled_fields, result);
    else
        reply_id(r, result->id);
}

void run_schedule(struct verb_call *c)
{
    struct schedule_result result;
    struct item item;

    const struct arg_value *wait = &c->args[SCHEDULE_WAIT];

    if (!schedule_of(c, &item) || verb_failed(c, engine_schedule(c->engine, &item.spec, &result)))
        return;
    if (wait->set)
        await_begin(c, result.id, wait);
    else
        reply_scheduled(c->reply, item.map, &result);
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
#define WORD(name, text) text,
    static const char *const words[] = { CANCEL_OUTCOMES(WORD) };
    struct job_id id;
    int outcome = job_named(c, &id);

    if (outcome == BELFRY_INVALID)
        return;
    if (outcome == 0)
        outcome = engine_cancel(c->engine, id);
    else if (outcome == BELFRY_NOTFOUND)
        outcome = CANCEL_NOTFOUND;
    if (!verb_failed(c, outcome))
        reply_status(c->reply, words[outcome]);
}

void run_delete(struct verb_call *c)
{
    struct job_id id;
    int err = job_named(c, &id);

    if (err != BELFRY_INVALID)
        verb_ok(c, err ? err : engine_discard(c->engine, id));
}

void run_reschedule(struct verb_call *c)
{
    int64_t due;

    if (due_of(c, arg_of(c, "in"), &due))
        verb_ok(c, engine_reschedule(c->engine, c->args[SUBJECT].id,
                                     due < 0 ? engine_now(c->engine) : due));
}

void run_redrive(struct verb_call *c)
{
    const struct arg_value *id = &c->args[SUBJECT], *queue = arg_of(c, "queue");
    char buf[QUEUE_MAX_BYTES];
    struct str name;
    int n;

    if (id->set == queue->set) {
        verb_error(c, BELFRY_INVALID, "expected an id or QUEUE");
        return;
    }
    if (queue->set && !queue_named(c, queue->str, buf, &name))
        return;
    n = id->set
            ? engine_redrive(c->engine, id->id)
            : engine_redrive_queue(c->engine, name, (size_t)arg_number(arg_of(c, "limit"), 1000));
    n += id->set && n == 0;
    if (!verb_failed(c, n))
        reply_integer(c->reply, n);
    snprintf(c->outcome, sizeof(c->outcome), "%d put back", n);
}
