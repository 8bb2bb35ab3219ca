/* SPDX-License-Identifier: MIT */
/* EDIT and CLONE. Both begin with the values of a job, clear those that CLEAR names, and store the
 * given ones. */
#include "engine/edit.h"

#include <stdio.h>

#include "verbs/handlers.h"

static void clear_one(struct job_spec *s, struct str name)
{
    if (str_ieq(name, "attempts"))
        s->attempts = -1;
    else if (str_ieq(name, "backoff"))
        s->backoff = (struct str){ 0 };
    else if (str_ieq(name, "lease"))
        s->lease_ms = -1;
    else if (str_ieq(name, "retain"))
        s->retain_ms = -1;
    else if (str_ieq(name, "expire"))
        s->expire_ms = -1;
    else if (str_ieq(name, "key_hold"))
        s->key_hold_ms = -1;
    else if (str_ieq(name, "tag"))
        s->tag_count = 0;
    else if (str_ieq(name, "meta"))
        s->meta_count = 0;
    else if (str_ieq(name, "order"))
        s->order = (struct str){ 0 };
    else
        s->push = (struct str){ 0 };
}

/* Whether nothing is both cleared and given. False after an error reply. */
static bool clear_named(struct verb_call *c, struct job_spec *s)
{
    size_t arg = (size_t)(arg_of(c, "clear") - c->args), at = 0;
    struct str name, value;
    char why[96];

    while (verb_each(c, arg, &at, &name, &value)) {
        for (const struct arg *a = c->verb->args; a->name; a++) {
            if (!c->args[a - c->verb->args].set || !str_ieq(value, a->name))
                continue;
            snprintf(why, sizeof(why), "clear: %s is given, too: expected only one of them",
                     a->name);
            verb_error(c, BELFRY_INVALID, why);
            return false;
        }
        clear_one(s, value);
    }
    return true;
}

/* The job as the arguments change it, but for its due time. False after an error reply. */
static bool changed_of(struct verb_call *c, struct job_template *t, struct item *ret)
{
    ret->map = false;
    ret->spec = t->spec;
    if (!clear_named(c, &ret->spec))
        return false;
    args_store(c, &ret->spec);
    item_labels(c, ret);
    return !arg_of(c, "retain")->set || may_retain(c, &ret->spec);
}

void run_edit(struct verb_call *c)
{
    struct job_template t;
    struct job_edit x = { .redrive = arg_of(c, "redrive")->set && arg_of(c, "redrive")->number };
    struct item item;
    int64_t due;

    if (x.redrive && c->who && c->who->role != ROLE_ADMIN) {
        verb_error(c, BELFRY_NOPERM, "redrive: only an admin puts dead jobs back");
        return;
    }
    if (!due_of(c, arg_of(c, "in"), &due))
        return;
    int err = engine_template(c->engine, c->args[SUBJECT].id, false, &t);
    if (err) {
        verb_ok(c, err);
    } else if (changed_of(c, &t, &item)) {
        x.spec = item.spec;
        x.spec.due_ms = due;
        verb_ok(c, engine_edit(c->engine, c->args[SUBJECT].id, &x));
    }
    job_template_fini(&t);
}

/* The copy: it has no key and waits for no job, unless the arguments say so. */
static bool clone_of(struct verb_call *c, struct job_template *t, struct item *ret)
{
    const struct arg_value *queue = arg_of(c, "queue");

    t->spec.key = (struct str){ 0 };
    if (!changed_of(c, t, ret) || !due_of(c, arg_of(c, "in"), &ret->spec.due_ms))
        return false;
    ret->map = arg_of(c, "answer")->set && arg_of(c, "answer")->number == 1;
    if (queue->set && !queue_named(c, queue->str, ret->name, &ret->spec.queue))
        return false;
    return may_retain(c, &ret->spec);
}

void run_clone(struct verb_call *c)
{
    struct schedule_result result;
    struct job_template t;
    struct item item;
    /* The new job may need others on disk, and a fetch answers about either. */
    bool take = arg_of(c, "key")->set || arg_of(c, "after")->set;
    int err = engine_template(c->engine, c->args[SUBJECT].id, take, &t);

    if (err)
        verb_failed(c, err);
    else if (clone_of(c, &t, &item) &&
             !verb_failed(c, engine_schedule(c->engine, &item.spec, &result)))
        reply_scheduled(c->reply, item.map, &result);
    job_template_fini(&t);
}
