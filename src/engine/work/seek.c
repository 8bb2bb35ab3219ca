/* SPDX-License-Identifier: MIT */
/* Requests about jobs on disk: what they ask for, and what an answer is worth when it comes. */
#include "engine/work/work.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record_cold.h"

#define ASKS_KEEP 65536 /* bytes of a buffer that are kept for the next request */

const struct cold_want *engine_want(const struct engine *e)
{
    return &e->cold.want;
}

int want_grows(struct engine *e, int err)
{
    e->cold.want.grows = err == BELFRY_COLD;
    return err;
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
    for (size_t i = 0; i < a->n && a->want->kind != WANT_MANY; i++)
        if (item_counts(e, a->want, &a->items[i]))
            a->items[n++] = a->items[i];
    if (a->want->kind != WANT_MANY) /* else each item is judged when it is looked at */
        a->n = n;
    /* A job may have come to memory and gone to its place again, changed. */
    if (a->moves == e->cold.moves)
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

int item_take(struct engine *e, const struct cold_item *item)
{
    int err = emit_taken(
        e, &(struct taken_record){ e->cold.next_grave, { item->key, item->key_len }, item->body });

    if (!err)
        run_taken(e, item);
    return err;
}

static int too_large(struct engine *e)
{
    return engine_error(e, BELFRY_TOOLARGE,
                        "the jobs on disk that it changes or waits for are too large to come to "
                        "memory together; name them in several requests");
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
        *ret_err = item->cut ? too_large(e) : item_take(e, item);
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

    for (size_t k = 0; a && a->want->kind != WANT_MANY && k < a->n; k++) {
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

static bool id_may_be_cold(const struct engine *e, struct job_id id)
{
    return !list_empty(&e->cold.runs) && id.partition == e->o.partition && id.seq < e->log.next_seq;
}

/* ---- Several jobs ---- */

int ask_compare(const void *a, const void *b)
{
    const struct cold_ask *x = a, *y = b;

    if (x->by_key != y->by_key)
        return x->by_key - y->by_key;
    if (x->by_key)
        return memcmp(x->locator, y->locator, ASK_BYTES);
    if (x->id.seq != y->id.seq)
        return x->id.seq < y->id.seq ? -1 : 1;
    return x->id.due_ms < y->id.due_ms ? -1 : x->id.due_ms > y->id.due_ms;
}

void asks_begin(struct engine *e)
{
    buf_reset(&e->cold.asks, ASKS_KEEP);
    e->cold.asks_whole = 0;
    e->cold.unanswered = e->cold.too_large = false;
}

int asks_end(struct engine *e)
{
    struct buf *asks = &e->cold.asks;

    if (asks->failed) {
        buf_reset(asks, 0);
        return engine_plain(e, BELFRY_NOMEM);
    }
    if (!e->cold.unanswered)
        return e->cold.too_large ? too_large(e) : 0;
    e->cold.want = (struct cold_want){ .kind = WANT_MANY,
                                       .grows = e->cold.asks_whole > 0,
                                       .asks = (struct cold_ask *)(void *)asks->ptr,
                                       .ask_count = asks->len / sizeof(struct cold_ask) };
    return BELFRY_COLD;
}

/* What the answer at hand says; NULL: nothing. */
static const struct cold_ask *ask_answered(const struct engine *e, const struct cold_ask *ask)
{
    const struct cold_answer *a = e->cold.answer;

    if (!a || a->want->kind != WANT_MANY)
        return NULL;
    return bsearch(ask, a->want->asks, a->want->ask_count, sizeof(*ask), ask_compare);
}

/* Notes what the request needs. `cut`: what the answer has of it is not enough. */
static void ask_note(struct engine *e, const struct cold_ask *ask, const struct cold_ask *answered,
                     bool cut)
{
    buf_append(&e->cold.asks, (const char *)ask, sizeof(*ask));
    e->cold.asks_whole += ask->whole;
    if (!answered || (cut && !answered->whole))
        e->cold.unanswered = true;
    else if (cut)
        e->cold.too_large = true;
}

/* The job of an id among several that were asked for, or NULL. */
static const struct cold_item *ask_id_item(const struct engine *e, const struct cold_ask *a)
{
    const struct cold_want w = { .kind = WANT_ID, .id = a->id };

    for (size_t i = a->first; i < a->first + a->n; i++)
        if (item_counts(e, &w, &e->cold.answer->items[i]))
            return &e->cold.answer->items[i];
    return NULL;
}

void job_ask(struct engine *e, struct job_id id)
{
    struct cold_ask ask = { .id = id };
    const struct cold_item *item;
    struct job_image image;
    const struct queue *q;

    if (job_of(e, id) || !id_may_be_cold(e, id))
        return;
    const struct cold_ask *a = ask_answered(e, &ask);
    item = a ? ask_id_item(e, a) : NULL;
    if (item && record_get_job(item->body, &image) && state_is_ahead(image.state)) {
        q = queue_find(e, image.queue);
        ask.whole = q && is_in_scope(e, q);
    }
    ask_note(e, &ask, a, ask.whole && item->cut);
}

static struct job *job_locate(struct engine *e, struct job_id id, bool take, int *ret_err)
{
    struct job *j = job_of(e, id);
    const struct cold_ask *a;

    *ret_err = 0;
    if (j)
        return j;
    a = id_may_be_cold(e, id) ? ask_answered(e, &(struct cold_ask){ .id = id }) : NULL;
    const struct cold_item *item = a ? ask_id_item(e, a) : item_of_seq(e, id);
    if (item)
        return item_give(e, item, take, ret_err);
    *ret_err = engine_plain(e, BELFRY_NOTFOUND);
    if (!id_may_be_cold(e, id) || e->cold.asking == ASKS_NONE || answers_id(e->cold.answer, id))
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
    list_each_of (const struct cold_run, r, &e->cold.runs, link) {
        if (r->d.family == FAMILY_LOCATOR) {
            cold_key_of_key(ret, queue_name(q), order, key);
            return !e->o.may_have || e->o.may_have(e->o.journal, cold_key_hash(cold_key_str(ret)));
        }
    }
    return false;
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
    return str_eq(o.key, key) && str_eq(o.order, order) && str_eq(image.queue, queue_name(q)) &&
           (state_is_ahead(image.state) ||
            image.trail.hold_ms > e->now_ms + (MUTANT(e->o.mutant, HOLD_SHORT) ? 60000 : 0)) &&
           is_there_still(e, item, image.seq);
}

/* The items that may have a key, in the answer at hand. False: it says nothing about the key. */
static bool key_items(const struct engine *e, const struct queue *q, struct str order,
                      struct str key, size_t *ret_first, size_t *ret_end)
{
    const struct cold_answer *a = e->cold.answer;
    struct cold_ask ask = { .by_key = true };
    struct cold_key k;

    *ret_first = *ret_end = 0;
    if (!a || a->want->kind != WANT_MANY) {
        *ret_end = a ? a->n : 0;
        return answers_key(a, q, order, key);
    }
    cold_key_of_key(&k, queue_name(q), order, key);
    memcpy(ask.locator, k.bytes, ASK_BYTES);
    const struct cold_ask *found = ask_answered(e, &ask);
    if (found) {
        *ret_first = found->first;
        *ret_end = found->first + found->n;
    }
    return found;
}

static void want_key(struct engine *e, const struct queue *q, struct str order, struct str key)
{
    struct cold_want *w = &e->cold.want;

    *w = (struct cold_want){
        .kind = WANT_KEY, .queue_len = queue_name(q).len, .key_len = key.len, .order_len = order.len
    };
    memcpy(w->queue, q->text, w->queue_len);
    memcpy(w->key, key.ptr, key.len);
    if (order.len > 0)
        memcpy(w->order, order.ptr, order.len);
}

struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err)
{
    struct job *j = key_find(e, q, order, key);
    bool was_here = j != NULL;
    size_t i, end;
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
    if (key_items(e, q, order, key, &i, &end)) {
        for (; i < end; i++) {
            if (!holds_key(e, &e->cold.answer->items[i], q, order, key))
                continue;
            j = item_give(e, &e->cold.answer->items[i], take, ret_err);
            if (j ? j->state != JOB_EXPIRED : *ret_err != BELFRY_NOTFOUND)
                return j; /* else it expired on disk, and has no key any more */
        }
        if (e->cold.asking == ASKS_ONE)
            key_absent(e, queue_name(q), order, key);
    } else if (e->cold.asking == ASKS_ONE && key_may_be_cold(e, q, order, key, &k) &&
               !key_is_absent(e, &k)) {
        want_key(e, q, order, key);
        *ret_err = BELFRY_COLD;
        return NULL;
    }
    *ret_err = BELFRY_NOTFOUND;
    return NULL;
}

bool key_ask(struct engine *e, struct queue *q, struct str order, struct str key, bool replace)
{
    const struct job *holder = key_find(e, q, order, key);
    struct cold_ask ask = { .by_key = true };
    bool cut = false;
    struct cold_key k;
    int err;

    if (holder)
        return holder->state != JOB_EXPIRED && !job_is_over(e, holder);
    if (!key_may_be_cold(e, q, order, key, &k))
        return false;
    memcpy(ask.locator, k.bytes, ASK_BYTES);
    const struct cold_ask *a = ask_answered(e, &ask);
    for (size_t i = 0; a && i < a->n && !holder; i++) {
        const struct cold_item *item = &e->cold.answer->items[a->first + i];

        if (holds_key(e, item, q, order, key))
            holder = item_give(e, item, false, &err);
        if (holder && holder->state == JOB_EXPIRED)
            holder = NULL; /* it has no key any more */
        cut = holder && item->cut;
    }
    bool over = holder && job_is_over(e, holder);
    ask.whole = over || (holder && replace && state_is_ahead(holder->state));
    ask_note(e, &ask, a, ask.whole && cut);
    return holder && !over;
}
