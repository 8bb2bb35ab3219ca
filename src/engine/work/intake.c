/* SPDX-License-Identifier: MIT */
/* Requests about jobs that are not running: schedule, cancel, reschedule, redrive. */
#include "engine/work/work.h"

#include "base/time.h"
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

/* The moment at which a job becomes ready. A job that is due becomes ready now. A job with an
 * ordering key has its due time as this moment, even if that is past: it is its place in the order.
 */
static int64_t moment_of(const struct engine *e, bool ordered, int64_t due)
{
    return ordered || due > e->now_ms ? due : e->now_ms;
}

static int refuse_full(struct engine *e)
{
    return e->refuse_new ? engine_plain(e, BELFRY_FULL) : 0;
}

static int key_exists(struct engine *e, const struct job *holder)
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

/* Asks for all jobs on disk that a new job may meet. `again`: a job before it has the same key, so
 * it may find it free. */
static void schedule_ask(struct engine *e, const struct job_spec *s, bool again)
{
    struct queue *q = queue_find(e, s->queue);
    bool kept = false;

    if (list_empty(&e->cold.runs) || spec_check(e, q, s))
        return;
    if (q && s->key.len > 0)
        kept = key_ask(e, q, s->order, s->key, s->if_exists == IFEXISTS_REPLACE);
    if (!kept || again)
        after_ask(e, s);
}

/* Finds the queue of a new job, or NULL, and the job that has its key, or NULL. A holder of the key
 * that is on disk comes to memory if it is to be replaced; else it is shown. 0, or an error. */
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

/* `limited`: the limits of the tenant hold. */
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
    return err ? err : schedule_new(e, s, q, ret);
}

int engine_schedule_next(struct engine *e, const struct job_spec *s, struct schedule_result *ret)
{
    e->cold.asking = ASKS_NONE;
    int err = schedule_one(e, s, true, ret);
    e->cold.asking = ASKS_ONE;
    return err;
}

int engine_schedule(struct engine *e, const struct job_spec *s, struct schedule_result *ret)
{
    int err = s->key.len > 0 || s->after_count > 0 ? engine_schedule_ask(e, s, 1) : 0;

    return err ? err : engine_schedule_next(e, s, ret);
}

/* The earlier item of the batch with the key of item i, or NULL. That item will have the key when
 * item i is scheduled. */
static const struct job_spec *earlier_of(const struct job_spec *specs, size_t i)
{
    for (size_t k = 0; specs[i].key.len > 0 && k < i; k++)
        if (str_eq(specs[k].key, specs[i].key) && str_eq(specs[k].queue, specs[i].queue) &&
            str_eq(specs[k].order, specs[i].order))
            return &specs[k];
    return NULL;
}

int engine_schedule_ask(struct engine *e, const struct job_spec *specs, size_t n)
{
    asks_begin(e);
    for (size_t i = 0; i < n && !e->refuse_new; i++)
        schedule_ask(e, &specs[i], earlier_of(specs, i));
    return asks_end(e);
}

/* Bytes that item i takes; `earlier` is the item whose job it meets, if it is no holder. */
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

/* Whether item i is the first job of its queue. */
static bool begins_queue(const struct queue *q, const struct job_spec *specs, size_t i)
{
    if (q && q->use == QUEUE_USED)
        return false;
    for (size_t k = 0; k < i; k++)
        if (str_eq(specs[k].queue, specs[i].queue))
            return false;
    return true;
}

/* Checks AFTER of an item whose key an earlier item may free, so that it makes a job after all. The
 * jobs that it would wait for come to memory. A job that is gone is no error: its key may stay. */
static int check_freed(struct engine *e, const struct job_spec *s)
{
    struct job_id lost;
    size_t waits;
    int err = after_check(e, s, &waits, &lost);

    return err == BELFRY_NOTFOUND ? 0 : err;
}

/* Whether all could be scheduled, one after the other, each with the jobs that it would meet. */
static int check_all(struct engine *e, const struct job_spec *specs, size_t n, size_t *ret_at)
{
    for (size_t i = 0; i < n; i++) {
        struct queue *q;
        struct job *holder;
        int err = schedule_check(e, &specs[i], &q, &holder);
        struct tenant *t = tenant_of(e, q, specs[i].queue);
        const struct job_spec *earlier = earlier_of(specs, i);
        bool again = earlier, taken = holder || again;
        bool begins = !taken && begins_queue(q, specs, i);
        /* A holder that is only shown is shown no more when parents are looked at. */
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

static void promise_nothing(struct engine *e, const struct job_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tenant *t = tenant_of(e, queue_find(e, specs[i].queue), specs[i].queue);

        if (t)
            t->promised = t->promised_queues = t->promised_bytes = 0;
    }
    after_promise_nothing(e, specs, n);
}

/* As engine_schedule_all, when everything is known that is needed from disk. */
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
        /* The limits were checked for all. An item may end a job, and the next make one instead. */
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
    e->cold.asking = ASKS_NONE;
    err = schedule_known(e, specs, n, ret, ret_at);
    e->cold.asking = ASKS_ONE;
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
    if (!j && err != BELFRY_NOTFOUND)
        return want_grows(e, err);
    if (!j || state_is_ended(j->state))
        return CANCEL_NOTFOUND;
    if (j->state == JOB_LEASED) {
        err = emit_mark(e, &(struct mark_record){ .seq = j->seq, .flags = TRAIL_CANCELLING });
        return err ? err : CANCEL_RUNNING;
    }
    err =
        job_end(e, j, JOB_CANCELLED, OUTCOME_NONE, j->stalls, (struct str){ 0 }, (struct str){ 0 });
    return err ? err : CANCEL_CANCELLED;
}

/* The job of an id, if it is in one of these states (bits); see job_seek. STATE. */
static struct job *job_claim(struct engine *e, struct job_id id, unsigned states, bool take,
                             int *ret_err)
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

/* Puts a dead job back whose key, if it has one, is free. */
static int redrive(struct engine *e, struct job *j)
{
    struct job_image image;

    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.due_ms = image.at_ms = e->now_ms;
    image.attempt = 0;
    image.stalls = 0;
    image.trail.ended_ms = image.trail.keep_ms = 0;
    image.trail.flags = 0;
    return emit_put(e, &image);
}

/* The job that has the key of a dead one; NULL with NOTFOUND, COLD or NOMEM. A job on disk comes to
 * memory, as an answer is about one job only, and should not be asked for twice. */
static struct job *key_rival(struct engine *e, const struct job *j, int *ret_err)
{
    struct job_opts o;

    job_opts_get(j, &o);
    *ret_err = BELFRY_NOTFOUND;
    return o.key.len > 0 ? key_seek(e, j->queue, o.order, o.key, true, ret_err) : NULL;
}

int engine_redrive(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_claim(e, id, JOB_BIT(DEAD), false, &err);

    if (!j)
        return want_grows(e, err);
    if (refuse_full(e))
        return BELFRY_FULL;
    j = job_seek(e, id, true, &err);
    if (!j)
        return err;
    const struct job *rival = key_rival(e, j, &err);
    if (rival)
        return key_exists(e, rival);
    return err == BELFRY_NOTFOUND ? redrive(e, j) : err;
}

/* Puts back dead jobs of a queue that are in memory. Those whose key is taken go to the end, so
 * that the next call does not meet them first. */
static int redrive_hot(struct engine *e, struct queue *q, size_t limit)
{
    size_t n = 0;
    int err;

    for (size_t look = q->jobs[JOB_DEAD]; look > 0 && n < limit && !list_empty(&q->dead); look--) {
        struct trail *t = container_of(q->dead.next, struct trail, link);

        if (key_rival(e, t->job, &err)) {
            list_move(&q->dead, &t->link);
            continue;
        }
        if (err == BELFRY_NOTFOUND)
            err = redrive(e, t->job);
        if (err)
            return n > 0 ? (int)n : err;
        n++;
    }
    return (int)n;
}

static void want_dead(struct engine *e, const struct queue *q, size_t limit)
{
    const struct cold_answer *a = e->cold.answer;

    want_page_of(e, q, FAMILY_KEPT, (struct cold_point){ 0, 0 }, limit);
    if (a && a->want->kind == WANT_PAGE) { /* all of it was taken out already: behind that */
        e->cold.want.after_len = a->last_len;
        memcpy(e->cold.want.after, a->last, a->last_len);
    }
}

/* Brings dead jobs of a queue from disk to memory: those of the answer at hand, or asks for one. */
static int fetch_dead(struct engine *e, const struct queue *q, size_t limit)
{
    struct cold_answer *a = e->cold.answer;
    size_t taken = 0;
    int err = 0;

    for (size_t i = 0; a && a->want->kind == WANT_PAGE && i < a->n && !err; i++) {
        const struct cold_item *item = &a->items[i];
        unsigned state;
        struct str queue;
        int64_t at;

        if (!record_peek_job(item->body, &state, &at, &queue) || state != JOB_DEAD)
            continue;
        err = item_take(e, item);
        taken += !err;
    }
    if (err || taken > 0)
        return err;
    if (a && a->want->kind == WANT_PAGE && !a->more)
        return 0;
    want_dead(e, q, limit);
    return BELFRY_COLD;
}

int engine_redrive_queue(struct engine *e, struct str name, size_t limit)
{
    struct queue *q = queue_find(e, name);

    if (refuse_full(e))
        return BELFRY_FULL;
    if (!q)
        return 0;
    batch_release_dead(e, q);
    int n = redrive_hot(e, q, limit);
    if (n != 0 || q->cold[COLD_DEAD] <= 0)
        return n;
    n = fetch_dead(e, q, limit);
    if (n == 0)
        n = redrive_hot(e, q, limit);
    if (n == 0 && e->cold.answer->more) { /* the keys of all these are taken: on to the next ones */
        want_dead(e, q, limit);
        return BELFRY_COLD;
    }
    return n;
}
