/* SPDX-License-Identifier: MIT */
/* Requests about jobs on disk: what they ask for, and what an answer is worth when it comes. */
#include "engine/work/work.h"

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record_cold.h"

const struct cold_want *engine_want(const struct engine *e)
{
    return &e->cold.want;
}

void want_page_of(struct engine *e, const struct queue *q, char family, struct cold_point after,
                  size_t limit)
{
    struct cold_key k;

    cold_key_queue(&k, family, queue_name(q), 0, after);
    e->cold.want = (struct cold_want){ .kind = WANT_PAGE,
                                       .limit = limit,
                                       .prefix_len = k.len - 16,
                                       .after_len = k.len,
                                       .now_ms = e->now_ms };
    memcpy(e->cold.want.after, k.bytes, k.len);
}

bool want_is_answered(const struct engine *e)
{
    const struct cold_want *w = &e->cold.want,
                           *answered = e->cold.answer ? e->cold.answer->want : NULL;

    return answered && answered->kind == WANT_PAGE && answered->after_len == w->after_len &&
           answered->since == w->since && memcmp(answered->after, w->after, w->after_len) == 0;
}

static void forget_shown(struct engine *e)
{
    if (e->place.shown)
        job_free(e, e->place.shown);
    e->place.shown = NULL;
}

static bool is_kept(const struct engine *e, const struct job_image *image)
{
    int64_t now_ms = e->now_ms + (MUTANT(e->o.mutant, FORGOTTEN_EARLY) ? 60000 : 0);

    return state_is_ahead(image->state) ||
           (image->has_trail && (image->trail.keep_ms > now_ms || image->trail.hold_ms > now_ms));
}

/* Whether an item was asked for and counts by now. */
static bool item_counts(const struct engine *e, const struct cold_want *w,
                        const struct cold_item *item)
{
    struct job_image image;

    if (!record_get_job(item->body, &image) ||
        !cold_counts(e, (struct str){ item->key, item->key_len }, item->number) ||
        !is_kept(e, &image) || job_find(e, image.seq))
        return false;
    if (w->kind == WANT_ID)
        return image.seq == w->id.seq && image.born_ms == w->id.due_ms;
    return true;
}

int engine_answer(struct engine *e, struct cold_answer *a)
{
    size_t n = 0;

    forget_shown(e);
    e->cold.answer = a;
    e->cold.answer_at = 0;
    if (!a)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (item_counts(e, a->want, &a->items[i]))
            a->items[n++] = a->items[i];
    a->n = n;
    /* A job may have come to memory and gone to its place again, changed. */
    if (a->moves == e->cold.moves || a->want->kind == WANT_CENSUS)
        return 0;
    e->cold.answer = NULL;
    return BELFRY_COLD;
}

/* Ends a job that was not started in time, before a request changes it. Its timer may not have
 * fired, or it was on disk. NULL with NOTFOUND if the job is forgotten by that, or with NOMEM. */
static struct job *settled(struct engine *e, struct job *j, int *ret_err)
{
    uint64_t seq = j->seq;

    if (!job_is_over(e, j))
        return j;
    *ret_err = job_expire(e, j);
    j = *ret_err ? NULL : job_find(e, seq);
    if (!j && !*ret_err)
        *ret_err = engine_plain(e, BELFRY_NOTFOUND);
    return j;
}

/* An ended job comes to memory to be put back or deleted: how it had ended is no longer known. */
static void past_taken(struct engine *e, const struct cold_item *item)
{
    struct cold_point p;
    unsigned state;
    struct str queue;
    int64_t at;

    if (record_peek_job(item->body, &state, &at, &queue) && state_is_ended(state) &&
        cold_key_point((struct str){ item->key, item->key_len }, &p))
        past_forget(e, p.seq);
}

int item_take(struct engine *e, const struct cold_item *item)
{
    int err = emit_taken(
        e, &(struct taken_record){ e->cold.next_grave, { item->key, item->key_len }, item->body });

    if (!err) {
        run_taken(e, item);
        past_taken(e, item);
    }
    return err;
}

/* The job of an item: as it is, or brought to memory. */
static struct job *item_give(struct engine *e, const struct cold_item *item, bool take,
                             int *ret_err)
{
    struct job_image image;

    if (!record_get_job(item->body, &image)) {
        *ret_err = BELFRY_CORRUPT;
        return NULL;
    }
    if (take) {
        *ret_err = item_take(e, item);
        return *ret_err ? NULL : settled(e, job_find(e, image.seq), ret_err);
    }
    forget_shown(e);
    struct queue *q = queue_obtain(e, image.queue);
    e->place.shown = q ? job_new(e, &image, q) : NULL;
    if (!e->place.shown) {
        *ret_err = engine_plain(e, BELFRY_NOMEM);
        return NULL;
    }
    if (e->place.shown->state == JOB_SCHEDULED && image.at_ms <= e->now_ms)
        e->place.shown->state = JOB_READY;
    return e->place.shown;
}

/* The job may have come to memory, and even have ended there, since the answer came. */
static bool is_there_still(const struct engine *e, const struct cold_item *item, uint64_t seq)
{
    return cold_counts(e, (struct str){ item->key, item->key_len }, item->number) &&
           !job_find(e, seq);
}

/* Callers mostly ask for the jobs of a page in its order: the search begins where the last one was
 * found. */
static const struct cold_item *item_of_seq(struct engine *e, struct job_id id)
{
    const struct cold_answer *a = e->cold.answer;

    for (size_t k = 0; a && k < a->n; k++) {
        size_t i = (e->cold.answer_at + k) % a->n;
        struct job_image image;

        if (record_get_job(a->items[i].body, &image) && image.seq == id.seq &&
            image.born_ms == id.due_ms && is_there_still(e, &a->items[i], image.seq)) {
            e->cold.answer_at = i;
            return &a->items[i];
        }
    }
    return NULL;
}

static bool answers_id(const struct cold_answer *a, struct job_id id)
{
    return a && a->want->kind == WANT_ID && a->want->id.seq == id.seq &&
           a->want->id.due_ms == id.due_ms;
}

/* Other tenants' jobs are as if they were not there. */
static bool is_in_scope(const struct engine *e, const struct queue *q)
{
    if (q->hidden && !e->work.inside)
        return false;
    return !e->scope.ptr || MUTANT(e->o.mutant, TENANT_LEAK) ||
           str_eq(e->scope, tenant_name(q->tenant));
}

static struct job *job_locate(struct engine *e, struct job_id id, bool take, int *ret_err)
{
    struct job *j = job_of(e, id);

    *ret_err = 0;
    if (j)
        return j;
    const struct cold_item *item = item_of_seq(e, id);
    if (item)
        return item_give(e, item, take, ret_err);
    *ret_err = engine_plain(e, BELFRY_NOTFOUND);
    if (list_empty(&e->cold.runs) || id.partition != e->o.partition || id.seq >= e->log.next_seq ||
        answers_id(e->cold.answer, id) || e->work.asked)
        return NULL;
    e->cold.want = (struct cold_want){ .kind = WANT_ID, .id = id };
    *ret_err = BELFRY_COLD;
    return NULL;
}

struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err)
{
    struct job *j = job_locate(e, id, take && e->work.inside, ret_err);

    if (j && !is_in_scope(e, j->queue)) {
        *ret_err = engine_plain(e, BELFRY_NOTFOUND);
        return NULL;
    }
    j = j && take ? job_locate(e, id, take, ret_err) : j;
    return j && take ? settled(e, j, ret_err) : j;
}

static bool answers_key(const struct cold_answer *a, const struct queue *q, struct str order,
                        struct str key)
{
    return a && a->want->kind == WANT_KEY &&
           str_eq((struct str){ a->want->queue, a->want->queue_len }, queue_name(q)) &&
           str_eq((struct str){ a->want->order, a->want->order_len }, order) &&
           str_eq((struct str){ a->want->key, a->want->key_len }, key);
}

/* Whether a locator could have an entry for it. */
static bool key_may_be_cold(const struct engine *e, const struct queue *q, struct str order,
                            struct str key, struct cold_key *ret)
{
    struct cold_key old_name;
    bool any = false, old = false;

    list_each_of (const struct cold_run, r, &e->cold.runs, link) {
        any = any || r->d.family == FAMILY_LOCATOR;
        old = old || run_has_old_names(&e->naming, &r->d);
    }
    if (!any)
        return false;
    cold_key_of_key(ret, &e->naming, queue_name(q), order, key);
    if (!e->o.may_have || e->o.may_have(e->o.journal, cold_key_hash(cold_key_str(ret))))
        return true;
    if (!old)
        return false;
    cold_key_of_key(&old_name, &cold_names_old, queue_name(q), order, key);
    return e->o.may_have(e->o.journal, cold_key_hash(cold_key_str(&old_name)));
}

/* The key of an ended job counts while it is held. */
static bool holds_key(const struct engine *e, const struct cold_item *item, const struct queue *q,
                      struct str order, struct str key)
{
    struct job_image image;
    struct job_opts o;

    if (!record_get_job(item->body, &image))
        return false;
    job_opts_read(image.opts, image.born_ms, &o);
    return str_eq(image.queue, queue_name(q)) && str_eq(o.key, key) && str_eq(o.order, order) &&
           (state_is_ahead(image.state) ||
            image.trail.hold_ms > e->now_ms + (MUTANT(e->o.mutant, HOLD_SHORT) ? 60000 : 0)) &&
           is_there_still(e, item, image.seq);
}

struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err)
{
    struct job *j = key_find(e, q, order, key);
    bool was_here = j != NULL;
    struct cold_key k;

    *ret_err = 0;
    if (j && take)
        j = settled(e, j, ret_err);
    if (j && j->state != JOB_EXPIRED)
        return j;
    if (*ret_err == BELFRY_NOMEM)
        return NULL;
    if (was_here) /* it had the key until now, so no other has it, on disk or here */
        key_absent(e, queue_name(q), order, key);
    if (answers_key(e->cold.answer, q, order, key)) {
        for (size_t i = 0; i < e->cold.answer->n; i++) {
            if (!holds_key(e, &e->cold.answer->items[i], q, order, key))
                continue;
            j = item_give(e, &e->cold.answer->items[i], take, ret_err);
            if (j ? j->state != JOB_EXPIRED : *ret_err != BELFRY_NOTFOUND)
                return j; /* else it expired on disk, and has no key any more */
        }
        key_absent(e, queue_name(q), order, key);
    } else if (!e->work.asked && key_may_be_cold(e, q, order, key, &k) && !key_is_absent(e, &k)) {
        e->cold.want = (struct cold_want){ .kind = WANT_KEY, .queue_len = queue_name(q).len };
        memcpy(e->cold.want.queue, q->text, queue_name(q).len);
        e->cold.want.key_len = key.len;
        memcpy(e->cold.want.key, key.ptr, key.len);
        e->cold.want.order_len = order.len;
        if (order.len > 0)
            memcpy(e->cold.want.order, order.ptr, order.len);
        *ret_err = BELFRY_COLD;
        return NULL;
    }
    *ret_err = BELFRY_NOTFOUND;
    return NULL;
}
