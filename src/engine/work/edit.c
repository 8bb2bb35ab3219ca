/* SPDX-License-Identifier: MIT */
/* EDIT and CLONE: see edit.h. An edited job is put anew by one PUT record, as a replaced one is. */
#include "engine/edit.h"

#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/opts.h"

/* ---- Templates ---- */

/* Copies queue, options and payload behind one another. */
static int template_copy(struct engine *e, const struct job *j, struct job_template *t,
                         struct str ret[3])
{
    const struct str parts[3] = { queue_name(j->queue), { j->tail, j->opts_len }, job_payload(j) };
    const char *at;

    for (size_t i = 0; i < 3; i++)
        buf_str(&t->bytes, parts[i]);
    if (t->bytes.failed)
        return engine_plain(e, BELFRY_NOMEM);
    at = t->bytes.ptr;
    for (size_t i = 0; i < 3; at += parts[i++].len)
        ret[i] = (struct str){ at, parts[i].len };
    return 0;
}

int engine_template(struct engine *e, struct job_id id, bool take, struct job_template *ret)
{
    struct wire_reader opts;
    struct str parts[3];
    struct job_opts o;
    int err;

    ret->bytes = (struct buf){ 0 };
    const struct job *j = job_seek(e, id, take, &err);
    if (!j)
        return err;
    err = template_copy(e, j, ret, parts);
    if (err)
        return err;
    job_opts_read(parts[1], 0, &o);
    opts = wire_reader_of(parts[1]);
    wire_zigzag(&opts); /* when the job was made */
    job_labels_read(opts, &ret->labels);
    ret->spec = (struct job_spec){
        .queue = parts[0],
        .payload = parts[2],
        .due_ms = -1,
        .key = o.key,
        .order = o.order,
        .if_exists = IFEXISTS_KEEP,
        .priority = j->priority,
        .attempts = o.attempts,
        .backoff = o.backoff,
        .lease_ms = o.lease_ms,
        .retain_ms = o.retain_ms,
        .key_hold_ms = o.key_hold_ms,
        .expire_ms = o.expire_ms,
        .tags = ret->labels.tags,
        .tag_count = ret->labels.tag_count,
        .meta = ret->labels.meta,
        .meta_count = ret->labels.meta_count,
        .notify = o.notify,
        .passing = o.passing,
        .push = o.push,
        .after_fail = AFTERFAIL_CANCEL,
    };
    return 0;
}

void job_template_fini(struct job_template *t)
{
    buf_fini(&t->bytes);
}

/* ---- Edits ---- */

static const char *why_not(enum job_state state, bool redrive)
{
    if (state == JOB_LEASED)
        return "a worker has it, so it cannot be changed until its attempt ends";
    if (state == JOB_DEAD)
        return "REDRIVE yes changes it and puts it back";
    if (state_is_ended(state))
        return "CLONE makes another job like it";
    return redrive ? "only a dead job is put back" : "";
}

/* The job, if its state allows the change. */
static struct job *edit_claim(struct engine *e, struct job_id id, bool redrive, bool take,
                              int *ret_err)
{
    struct job *j = job_seek(e, id, take, ret_err);

    if (!j || (redrive ? j->state == JOB_DEAD : state_is_ahead(j->state)))
        return j;
    enum job_state state = job_state_now(e, j);
    *ret_err = engine_error(e, BELFRY_STATE, "the job is %s: %s", job_state_name(state),
                            why_not(state, redrive));
    return NULL;
}

/* Whether this is an option about other jobs, or about the recurrence: it stays. */
static bool opt_stays(const struct opt *o)
{
    return o->type == OPT_AFTER || o->type == OPT_AFTERFAIL || o->type == OPT_TOLD ||
           o->type == OPT_LISTENER || o->type == OPT_NOMINAL;
}

/* The options of a newer version stay as well: they stand behind all that can be read. */
static void put_staying(struct buf *out, const struct job *j)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    while (r.p < r.end) {
        const char *at = (const char *)r.p;
        bool known = job_opt_next(&r, &o);
        const char *end = (const char *)(known ? r.p : r.end);

        if (!known || opt_stays(&o))
            buf_append(out, at, (size_t)(end - at));
        if (!known)
            return;
    }
}

/* A ready job goes behind those that are ready, as a replaced one does: ready lists are in the
 * order in which jobs became ready. */
static void edit_due(const struct engine *e, const struct job *j, const struct job_edit *x,
                     struct job_image *image)
{
    int64_t due = x->spec.due_ms >= 0 ? x->spec.due_ms : x->redrive ? e->now_ms : -1;
    bool deferred = image->has_trail && image->trail.deferred_ms > 0;

    if (due < 0 && deferred && (!x->spec.notify || x->spec.passing))
        due = image->due_ms; /* quiet hours have no say any more */
    image->at_ms =
        job_is_waiting(j) ? AT_NEVER : moment_of(e, j->ordered, due < 0 ? image->at_ms : due);
    if (due < 0)
        return;
    image->due_ms = due;
    image->trail.flags = 0;
    image->trail.deferred_ms = 0;
}

/* The job as it is to be. Its options stand in e->scratch. */
static int edit_image(struct engine *e, const struct job *j, const struct job_edit *x,
                      struct job_image *ret)
{
    struct job_opts o;

    job_opts_get(j, &o);
    job_image_of(j, ret);
    e->scratch.len = 0;
    spec_opts(&e->scratch, &x->spec, o.created_ms - (int64_t)j->born_ms);
    put_staying(&e->scratch, j);
    if (engine_scratch(e) < 0)
        return BELFRY_NOMEM;
    ret->opts = MUTANT(e->o.mutant, EDIT_PAYLOAD_ONLY) ? ret->opts : buf_view(&e->scratch);
    ret->payload = x->spec.payload;
    ret->priority = (unsigned)x->spec.priority;
    edit_due(e, j, x, ret);
    if (x->redrive) {
        ret->state = JOB_SCHEDULED;
        ret->attempt = 0;
        ret->stalls = 0;
        ret->trail.ended_ms = ret->trail.keep_ms = ret->trail.hold_ms = 0;
    }
    return 0;
}

/* The bytes of the next option that is no listener; all that is left, where a newer version wrote
 * it.
 */
static struct str next_but_listener(struct wire_reader *r)
{
    struct opt o = { .type = OPT_LISTENER };
    const uint8_t *at = r->p;
    bool known = true;

    while (r->p < r->end && known && o.type == OPT_LISTENER) {
        at = r->p;
        known = job_opt_next(r, &o);
    }
    if (!known)
        r->p = r->end;
    else if (o.type == OPT_LISTENER)
        at = r->p;
    return (struct str){ (const char *)at, (size_t)(r->p - at) };
}

/* Whether these are the options of the job. A listener that came later stands before all others in
 * the job, and behind them in an image. An edit changes no listener. */
static bool opts_are_of(const struct job *j, struct str opts)
{
    struct wire_reader is = job_opts_reader(j), x = wire_reader_of(opts);
    struct str a, b;

    wire_zigzag(&x); /* when the job was made */
    do {
        a = next_but_listener(&is);
        b = next_but_listener(&x);
    } while (a.len > 0 && str_eq(a, b));
    return a.len == 0 && b.len == 0;
}

/* Whether the job has these values already. */
static bool edit_is_none(const struct job *j, const struct job_edit *x,
                         const struct job_image *image)
{
    return !x->redrive && x->spec.due_ms < 0 && image->priority == j->priority &&
           str_eq(image->payload, job_payload(j)) && opts_are_of(j, image->opts);
}

/* Whether there is room for the job as it is to be. */
static int edit_refuses(struct engine *e, const struct job *j, const struct job_edit *x,
                        const struct job_image *image)
{
    bool trails = x->spec.expire_ms > 0 && !image->has_trail;
    int64_t needs = (int64_t)image_bytes(image) - (int64_t)job_bytes(j) +
                    (trails ? (int64_t)TRAIL_KEPT_BYTES : 0);
    int err = needs > 0 || x->redrive ? refuse_full(e) : 0;

    if (!err)
        err = tenant_refuses_class(e, j->queue, &x->spec);
    return err ? err : tenant_refuses_bytes(e, j->queue->tenant, needs);
}

int engine_edit(struct engine *e, struct job_id id, const struct job_edit *x)
{
    struct job_image image;
    int err;
    struct job *j = edit_claim(e, id, x->redrive, false, &err);

    if (!j)
        return want_grows(e, err);
    err = spec_check(e, j->queue, &x->spec);
    if (err)
        return err;
    j = edit_claim(e, id, x->redrive, true, &err); /* it may expire when it comes from disk */
    if (!j)
        return err;
    if (x->redrive) {
        const struct job *rival = job_rival(e, j, &err);

        if (rival)
            return key_exists(e, rival);
        if (err != BELFRY_NOTFOUND)
            return err;
    }
    err = edit_image(e, j, x, &image);
    if (!err && edit_is_none(j, x, &image))
        return 0;
    if (!err)
        err = edit_refuses(e, j, x, &image);
    return err ? err : emit_put(e, &image);
}
