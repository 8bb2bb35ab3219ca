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

/* Whether an item counts by now: its job may have come to memory since it was read, and even have
 * ended there. */
static bool item_counts(const struct engine *e, const struct cold_item *item, struct job_image *ret)
{
    return record_get_job(item->body, ret) &&
           cold_counts(e, (struct str){ item->key, item->key_len }, item->number) &&
           is_kept(e, ret) && !job_find(e, ret->seq);
}

int engine_answer(struct engine *e, struct cold_answer *a)
{
    struct job_image image;
    size_t n = 0;

    forget_shown(e);
    e->cold.answer = a;
    e->cold.answer_at = 0;
    if (!a)
        return 0;
    if (a->want->kind == WANT_PAGE) { /* others are judged when they are looked at */
        for (size_t i = 0; i < a->n; i++)
            if (item_counts(e, &a->items[i], &image))
                a->items[n++] = a->items[i];
        a->n = n;
    }
    /* A job may have come to memory and gone to its place again, changed. */
    if (a->moves == e->cold.moves || a->want->kind == WANT_CENSUS || a->want->kind == WANT_SORTED)
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
        bool cut = item->cut && !MUTANT(e->o.mutant, CUT_TAKEN);

        *ret_err = cut ? ask_too_large(e) : item_take(e, item);
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

/* The job of an id among n items of the answer at hand, or NULL. The search begins where the last
 * one was found, because callers mostly ask for the jobs of a page in its order. */
static const struct cold_item *item_of_id(struct engine *e, struct job_id id, size_t first,
                                          size_t n, struct job_image *ret)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = first + (e->cold.answer_at + k) % n;

        if (item_counts(e, &e->cold.answer->items[i], ret) && ret->seq == id.seq &&
            ret->born_ms == id.due_ms) {
            e->cold.answer_at = i - first;
            return &e->cold.answer->items[i];
        }
    }
    return NULL;
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

static struct job *job_locate(struct engine *e, struct job_id id, bool take, int *ret_err)
{
    const struct cold_ask ask = { .id = id, .whole = true }, *answered;
    const struct cold_item *item = NULL;
    struct job_image image;
    struct job *j = job_of(e, id);

    *ret_err = 0;
    if (j)
        return j;
    *ret_err = engine_plain(e, BELFRY_NOTFOUND);
    if (!id_may_be_cold(e, id))
        return NULL;
    answered = ask_answered(e, &ask);
    if (answered)
        item = item_of_id(e, id, answered->first, answered->n, &image);
    else if (e->cold.answer && !e->work.asked) /* a page, or a job that was asked for by its key */
        item = item_of_id(e, id, 0, e->cold.answer->n, &image);
    if (item) {
        *ret_err = 0;
        return item_give(e, item, take, ret_err);
    }
    if (!answered && !e->work.asked)
        *ret_err = ask_one(e, &ask, take);
    return NULL;
}

/* The item of a job of the scope that the request asked for, or NULL. */
static const struct cold_item *asked_item(struct engine *e, struct job_id id,
                                          const struct cold_ask *answered,
                                          enum job_state *ret_state)
{
    struct job_image image;
    const struct cold_item *item =
        answered ? item_of_id(e, id, answered->first, answered->n, &image) : NULL;

    if (!item)
        return NULL;
    const struct queue *q = queue_find(e, image.queue);
    *ret_state = (enum job_state)image.state;
    return q && is_in_scope(e, q) ? item : NULL;
}

void job_ask(struct engine *e, struct job_id id)
{
    struct cold_ask ask = { .id = id };
    enum job_state state;

    if (job_of(e, id) || !id_may_be_cold(e, id))
        return;
    const struct cold_ask *answered = ask_answered(e, &ask);
    const struct cold_item *item = asked_item(e, id, answered, &state);
    ask.whole = item && !state_is_ended(state);
    ask_note(e, &ask, answered, ask.whole && item->cut);
}

int job_asked_state(struct engine *e, struct job_id id)
{
    const struct job *j = job_of(e, id);
    enum job_state state;

    if (j)
        return is_in_scope(e, j->queue) ? (int)j->state : BELFRY_NOTFOUND;
    if (!id_may_be_cold(e, id) ||
        !asked_item(e, id, ask_answered(e, &(struct cold_ask){ .id = id }), &state))
        return BELFRY_NOTFOUND;
    return (int)state;
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

/* Makes the name of a key. Whether a filter of the locator may have it. */
static bool name_key(const struct engine *e, const struct cold_names *names, const struct queue *q,
                     struct str order, struct str key, char ret[ASK_NAME_BYTES])
{
    struct cold_key k;

    cold_key_of_key(&k, names, queue_name(q), order, key);
    memcpy(ret, k.bytes, ASK_NAME_BYTES);
    return !e->o.may_have || e->o.may_have(e->o.journal, cold_key_hash(cold_key_str(&k)));
}

/* Whether a locator could have an entry for a key; if so, how to ask for its job. */
static bool key_may_be_cold(const struct engine *e, const struct queue *q, struct str order,
                            struct str key, struct cold_ask *ret)
{
    bool any = false;

    *ret = (struct cold_ask){ .by_key = true };
    list_each_of (const struct cold_run, r, &e->cold.runs, link) {
        any = any || r->d.family == FAMILY_LOCATOR;
        ret->has_old = ret->has_old || run_has_old_names(&e->naming, &r->d);
    }
    if (!any)
        return false;
    any = name_key(e, &e->naming, q, order, key, ret->name);
    if (ret->has_old)
        any = name_key(e, &cold_names_old, q, order, key, ret->old_name) || any;
    return any;
}

/* The key of an ended job counts while it is held. */
static bool holds_key(const struct engine *e, const struct cold_item *item, const struct queue *q,
                      struct str order, struct str key)
{
    struct job_image image;
    struct job_opts o;

    if (!item_counts(e, item, &image))
        return false;
    job_opts_read(image.opts, image.born_ms, &o);
    return str_eq(image.queue, queue_name(q)) && str_eq(o.key, key) && str_eq(o.order, order) &&
           (state_is_ahead(image.state) ||
            image.trail.hold_ms > e->now_ms + (MUTANT(e->o.mutant, HOLD_SHORT) ? 60000 : 0));
}

/* The job among the items of an ask that has the key, or NULL. *ret_cut: only its head is there. */
static struct job *key_give(struct engine *e, const struct cold_ask *answered,
                            const struct queue *q, struct str order, struct str key, bool take,
                            bool *ret_cut, int *ret_err)
{
    for (size_t i = 0; i < answered->n; i++) {
        const struct cold_item *item = &e->cold.answer->items[answered->first + i];
        struct job *j;

        if (!holds_key(e, item, q, order, key))
            continue;
        *ret_cut = item->cut;
        j = item_give(e, item, take, ret_err);
        if (j ? j->state != JOB_EXPIRED : *ret_err != BELFRY_NOTFOUND)
            return j; /* else it expired on disk, and has no key any more */
    }
    *ret_err = BELFRY_NOTFOUND;
    return NULL;
}

struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err)
{
    struct job *j = key_find(e, q, order, key);
    const struct cold_ask *answered;
    struct cold_ask ask;
    bool cut;

    *ret_err = 0;
    if (j && take)
        j = settled(e, j, ret_err);
    if (j && j->state != JOB_EXPIRED)
        return j;
    if (*ret_err == BELFRY_NOMEM)
        return NULL;
    *ret_err = BELFRY_NOTFOUND;
    if (!key_may_be_cold(e, q, order, key, &ask))
        return NULL;
    answered = ask_answered(e, &ask);
    if (answered)
        return key_give(e, answered, q, order, key, take, &cut, ret_err);
    ask.whole = true;
    if (!e->work.asked)
        *ret_err = ask_one(e, &ask, take);
    return NULL;
}

bool key_ask(struct engine *e, struct queue *q, struct str order, struct str key, bool replace)
{
    const struct job *holder = key_find(e, q, order, key);
    const struct cold_ask *answered;
    struct cold_ask ask;
    bool cut = false;
    int err;

    if (holder) /* then no job on disk has the key, even if this one has expired by now */
        return holder->state != JOB_EXPIRED && !job_is_over(e, holder);
    if (!key_may_be_cold(e, q, order, key, &ask))
        return false;
    answered = ask_answered(e, &ask);
    holder = answered ? key_give(e, answered, q, order, key, false, &cut, &err) : NULL;
    bool over = holder && job_is_over(e, holder);
    ask.whole = over || (holder && replace && state_is_ahead(holder->state));
    ask_note(e, &ask, answered, ask.whole && cut);
    return holder && !over;
}
