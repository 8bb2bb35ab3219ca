/* SPDX-License-Identifier: MIT */
/* Requests about jobs that are not running: schedule, cancel, reschedule. */
#include "engine/work/work.h"

#include "base/time.h"
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/work/lot.h"
#include "record/opts.h"
#include "record/record.h"

/* The moment at which a job becomes ready. A job that is due becomes ready now. A job with an
 * ordering key has its due time as this moment, even if that is past: it is its place in the order.
 */
int64_t moment_of(const struct engine *e, bool ordered, int64_t due)
{
    return ordered || due > e->now_ms ? due : e->now_ms;
}

int refuse_full(struct engine *e)
{
    return e->refuse_new ? engine_plain(e, BELFRY_FULL) : 0;
}

int key_exists(struct engine *e, const struct job *holder)
{
    char text[ID_TEXT];

    id_format(job_id_of(e, holder), text);
    return engine_error(e, BELFRY_KEYEXISTS, "%.*s", ID_TEXT, text);
}

/* The key is taken by `holder`. */
static int schedule_onto(struct engine *e, const struct job_spec *s, struct job *holder,
                         struct schedule_result *ret)
{
    struct queue *q = holder->queue;
    bool ended = state_is_ended(holder->state);
    int64_t due = s->due_ms < 0 ? e->now_ms : s->due_ms;
    int err;

    ret->id = job_id_of(e, holder);
    ret->outcome = SCHEDULE_KEPT;
    if (s->if_exists == IFEXISTS_REJECT)
        return key_exists(e, holder);
    if (s->if_exists == IFEXISTS_KEEP || ended) {
        COUNT(e, q, kept);
        return 0;
    }
    err = tenant_refuses_bytes(e, q->tenant, replace_needs(holder, s->payload));
    if (err)
        return err;
    if (holder->state == JOB_LEASED) {
        if ((err = leased_refuses(e, holder, s->payload)))
            return err;
        err = emit_mark(e, &(struct mark_record){
                               .seq = holder->seq,
                               .flags = holder->trail->flags | TRAIL_REPLACING,
                               .pending_due_ms = due,
                               .pending = s->payload,
                           });
    } else {
        struct job_image image;

        job_image_of(holder, &image);
        image.payload = s->payload;
        image.due_ms = due;
        image.at_ms = job_is_waiting(holder) ? AT_NEVER : moment_of(e, holder->ordered, due);
        image.attempt = 0;
        image.stalls = 0;
        image.trail.flags = 0;
        image.trail.deferred_ms = 0;
        err = emit_put(e, &image);
    }
    if (err)
        return err;
    ret->outcome = SCHEDULE_REPLACED;
    COUNT(e, q, replaced);
    return 0;
}

/* Asks for the jobs on disk that a new job may meet. `again`: an item before it has its key, and
 * may leave the key free. */
static void schedule_ask(struct engine *e, const struct job_spec *s, bool again)
{
    struct queue *q = queue_find(e, s->queue);
    bool kept = false;

    if (spec_check(e, q, s))
        return;
    if (q && s->key.len > 0)
        kept = key_ask(e, q, s->order, s->key, s->if_exists == IFEXISTS_REPLACE);
    if (!kept || again)
        after_ask(e, s);
}

/* Finds the queue of a new job, or NULL, and the job that has its key, or NULL. A holder of the key
 * that is on disk comes to memory if it is to be replaced, and is shown otherwise. All jobs on disk
 * have been asked for. 0, or an error. */
static int schedule_check(struct engine *e, const struct job_spec *s, struct queue **ret_queue,
                          struct job **ret_holder)
{
    struct queue *q = *ret_queue = queue_find(e, s->queue);
    int err = spec_check(e, q, s);
    struct job_id lost;
    size_t waits;
    int64_t due = s->due_ms < 0 ? e->now_ms : s->due_ms;

    *ret_holder = NULL;
    if (err || (err = refuse_full(e)))
        return err;
    if (q && q->settings->past_grace_ms >= 0 && due < e->now_ms - q->settings->past_grace_ms)
        return engine_error(e, BELFRY_PAST, "%lld ms ago, the queue's past_grace is %lld ms",
                            (long long)(e->now_ms - due), (long long)q->settings->past_grace_ms);
    struct job *holder = q && s->key.len > 0 ? key_seek(e, q, s->order, s->key, false, &err) : NULL;
    if (holder && state_is_ahead(holder->state) &&
        (s->if_exists == IFEXISTS_REPLACE || job_is_over(e, holder)))
        holder = key_seek(e, q, s->order, s->key, true, &err);
    if (!holder && err && err != BELFRY_NOTFOUND)
        return err;
    if (MUTANT(e->o.mutant, KEY_TWICE) && s->if_exists == IFEXISTS_KEEP)
        holder = NULL;
    *ret_holder = holder;
    if (holder || s->after_count == 0)
        return 0;
    err = after_check(e, s, &waits, &lost);
    *ret_queue = queue_find(e, s->queue); /* jobs that came to memory may have driven it out */
    return err;
}

/* The job, and a word with each that it waits for; all in one commit. */
static int put_waiting(struct engine *e, const struct job_spec *s, struct job_image *image)
{
    struct job_id id = { image->born_ms, e->o.partition, image->seq }, lost;
    size_t waits;
    int err = after_check(e, s, &waits, &lost);

    if (err)
        return err;
    if (waits > 0)
        image->at_ms = AT_NEVER;
    bool before = commit_begin(e);
    err = emit_put(e, image);
    if (!err) {
        err = lost.seq ? after_lost(e, job_find(e, id.seq), lost) : after_listen(e, s, id);
        e->work.torn = e->work.torn || err;
    }
    return commit_end(e, before, err);
}

/* Bytes that a job of this spec takes. */
static int64_t spec_needs(struct engine *e, const struct job_spec *s)
{
    e->scratch.len = 0;
    spec_opts(&e->scratch, s, e->now_ms - (s->due_ms < 0 ? e->now_ms : s->due_ms));
    after_put(e, &e->scratch, s);
    return image_needs(&(struct job_image){
        .queue = s->queue, .opts = buf_view(&e->scratch), .payload = s->payload });
}

static int schedule_new(struct engine *e, const struct job_spec *s, struct queue *q,
                        struct schedule_result *ret)
{
    int64_t due = s->due_ms < 0 ? e->now_ms : s->due_ms;

    e->scratch.len = 0;
    spec_opts(&e->scratch, s, e->now_ms - due);
    after_put(e, &e->scratch, s);
    if (engine_scratch(e) < 0)
        return BELFRY_NOMEM;
    struct job_image image = {
        .seq = e->log.next_seq,
        .born_ms = due,
        .state = JOB_SCHEDULED,
        .priority = (unsigned)s->priority,
        .due_ms = due,
        .at_ms = moment_of(e, s->order.len > 0, due),
        .queue = s->queue,
        .opts = buf_view(&e->scratch),
        .payload = s->payload,
    };
    int err = tenant_refuses_bytes(e, tenant_of(e, q, s->queue), image_needs(&image));
    if (!err)
        err = s->after_count > 0 ? put_waiting(e, s, &image) : emit_put(e, &image);
    if (err)
        return err;
    ret->id = (struct job_id){ due, e->o.partition, image.seq };
    ret->outcome = SCHEDULE_CREATED;
    if (!q || s->after_count > 0) /* it is there now, but may be another */
        q = queue_find(e, s->queue);
    COUNT(e, q, scheduled);
    return 0;
}

/* Schedules one job. `limited`: checks the limits of the tenant first. */
static int schedule_one(struct engine *e, const struct job_spec *s, bool limited,
                        struct schedule_result *ret)
{
    struct queue *q;
    struct job *holder;
    int err = schedule_check(e, s, &q, &holder);

    if (err)
        return err;
    if (holder)
        return schedule_onto(e, s, holder, ret);
    err = limited ? tenant_refuses(e, q, s->queue) : 0;
    if (!err && limited)
        err = tenant_refuses_class(e, q, s);
    return err ? err : schedule_new(e, s, q, ret);
}

int engine_schedule_ask(struct engine *e, const struct job_spec *specs, size_t n)
{
    struct lot lot;

    if (list_empty(&e->cold.runs) || e->refuse_new)
        return 0;
    if (lot_init(&lot, e->o.secret, specs, n) < 0)
        return engine_plain(e, BELFRY_NOMEM);
    asks_begin(e);
    for (size_t i = 0; i < n; i++)
        schedule_ask(e, &specs[i], lot_same_key(&lot, i));
    lot_fini(&lot);
    return asks_end(e);
}

int engine_schedule_asked(struct engine *e, const struct job_spec *s, struct schedule_result *ret)
{
    e->work.asked = true;
    int err = schedule_one(e, s, true, ret);
    e->work.asked = false;
    return err;
}

int engine_schedule(struct engine *e, const struct job_spec *s, struct schedule_result *ret)
{
    int err = s->key.len > 0 || s->after_count > 0 ? engine_schedule_ask(e, s, 1) : 0;

    return err ? err : engine_schedule_asked(e, s, ret);
}

/* The bytes that an item adds. `holder` is the job that has its key; `earlier` is an item of the
 * batch with its key. Both may be NULL. */
static int64_t item_needs(struct engine *e, const struct job_spec *s, const struct job *holder,
                          const struct job_spec *earlier)
{
    if (!holder && !earlier)
        return spec_needs(e, s);
    if (s->if_exists != IFEXISTS_REPLACE || (holder && state_is_ended(holder->state)))
        return 0;
    return holder ? replace_needs(holder, s->payload)
                  : (int64_t)s->payload.len - (int64_t)earlier->payload.len;
}

/* Checks AFTER of an item whose key an earlier item may free, so that the item makes a job after
 * all. The jobs that the new job would wait for come to memory. A parent that is gone is no error,
 * because the key may stay taken. */
static int check_freed(struct engine *e, const struct job_spec *s)
{
    struct job_id lost;
    size_t waits;
    int err = after_check(e, s, &waits, &lost);

    return err == BELFRY_NOTFOUND ? 0 : err;
}

/* Whether all could be scheduled, one after the other, each with the jobs that it would meet. */
static int check_items(struct engine *e, struct lot *lot, const struct job_spec *specs, size_t n,
                       size_t *ret_at)
{
    for (size_t i = 0; i < n; i++) {
        struct queue *q;
        struct job *holder;
        int err = schedule_check(e, &specs[i], &q, &holder);
        struct tenant *t = tenant_of(e, q, specs[i].queue);
        const struct job_spec *earlier = lot_same_key(lot, i);
        bool again = earlier, taken = holder || again;
        bool first = !lot_same_queue(lot, i),
             begins = !taken && first && !(q && q->use == QUEUE_USED);
        /* A holder that is only shown is gone when parents are looked at. */
        int64_t needs = err ? 0 : item_needs(e, &specs[i], holder, earlier);

        *ret_at = i;
        if (!err && holder && again && specs[i].if_exists != IFEXISTS_REJECT)
            err = check_freed(e, &specs[i]);
        if (!err && (!holder || again))
            err = after_room(e, specs, i);
        if (!err && !taken)
            err = tenant_refuses_job(e, t);
        if (!err && begins)
            err = tenant_refuses_queue(e, q, specs[i].queue);
        if (!err && !taken)
            err = tenant_refuses_class(e, q, &specs[i]);
        if (!err)
            err = tenant_refuses_bytes(e, t, needs);
        if (err)
            return err;
        if (taken && specs[i].if_exists == IFEXISTS_REJECT)
            return holder ? key_exists(e, holder)
                          : engine_error(e, BELFRY_KEYEXISTS, "an item before it has this key");
        if (!taken && t) {
            t->promised++;
            t->promised_queues += begins;
        }
        if (t && needs > 0)
            t->promised_bytes += needs;
    }
    return 0;
}

static int check_all(struct engine *e, const struct job_spec *specs, size_t n, size_t *ret_at)
{
    struct lot lot;

    *ret_at = 0;
    if (lot_init(&lot, e->o.secret, specs, n) < 0)
        return engine_plain(e, BELFRY_NOMEM);
    int err = check_items(e, &lot, specs, n, ret_at);
    lot_fini(&lot);
    return err;
}

static void promise_nothing(struct engine *e, const struct job_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tenant *t = tenant_of(e, queue_find(e, specs[i].queue), specs[i].queue);

        if (t)
            t->promised = t->promised_queues = t->promised_bytes = 0;
    }
    after_promise_nothing(e, specs, n);
}

/* As engine_schedule_all, when all is known that is needed from disk. */
static int schedule_known(struct engine *e, const struct job_spec *specs, size_t n,
                          struct schedule_result *ret, size_t *ret_at)
{
    int err = check_all(e, specs, n, ret_at);

    promise_nothing(e, specs, n);
    if (err)
        return err;
    bool before = commit_begin(e);
    e->work.checked = true;
    for (size_t i = 0; i < n && !err; i++) {
        *ret_at = i;
        /* The limits were checked for the batch as a whole. An item may end a job, and the next
         * item may make another instead. */
        err = schedule_one(e, &specs[i], false, &ret[i]);
    }
    e->work.checked = false;
    if (err)
        e->work.torn = true; /* out of memory in between: the engine is to be discarded */
    return commit_end(e, before, err);
}

int engine_schedule_all(struct engine *e, const struct job_spec *specs, size_t n,
                        struct schedule_result *ret, size_t *ret_at)
{
    int err = engine_schedule_ask(e, specs, n);

    *ret_at = n;
    if (err)
        return err;
    e->work.asked = true;
    err = schedule_known(e, specs, n, ret, ret_at);
    e->work.asked = false;
    return err;
}

void engine_tear(struct engine *e)
{
    e->work.torn = true;
}

bool engine_torn(const struct engine *e)
{
    return e->work.torn;
}

int engine_cancel(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_seek(e, id, false, &err);

    if (j && !state_is_ended(j->state))
        j = job_seek(e, id, true, &err);
    if (!j)
        return err == BELFRY_NOTFOUND ? CANCEL_NOTFOUND : want_grows(e, err);
    if (state_is_ended(j->state))
        return engine_error(e, BELFRY_STATE, "the job is already %s", job_state_name(j->state));
    if (j->state == JOB_LEASED) {
        err = emit_mark(e, &(struct mark_record){ .seq = j->seq, .flags = TRAIL_CANCELLING });
        return err ? err : CANCEL_RUNNING;
    }
    err =
        job_end(e, j, JOB_CANCELLED, OUTCOME_NONE, j->stalls, (struct str){ 0 }, (struct str){ 0 });
    return err ? err : CANCEL_CANCELLED;
}

struct job *job_claim(struct engine *e, struct job_id id, unsigned states, bool take, int *ret_err)
{
    struct job *j = job_seek(e, id, take, ret_err);

    if (!j || states >> j->state & 1)
        return j;
    *ret_err = engine_error(e, BELFRY_STATE, "the job is %s", job_state_name(j->state));
    return NULL;
}

int engine_reschedule(struct engine *e, struct job_id id, int64_t due_ms)
{
    int err;
    const struct job *j = job_claim(e, id, JOB_AHEAD, false, &err);

    if (!j)
        return want_grows(e, err);
    if (due_ms < 0 || due_ms > TIME_MOMENT_MAX)
        return engine_error(e, BELFRY_INVALID, "due time: expected a moment up to the year 9999");
    j = job_claim(e, id, JOB_AHEAD, true, &err); /* it may expire when it comes from disk */
    if (!j)
        return err;
    return emit_move(e,
                     &(struct move_record){
                         .seq = j->seq,
                         .due_ms = due_ms,
                         .at_ms = job_is_waiting(j) ? AT_NEVER : moment_of(e, j->ordered, due_ms),
                     });
}
