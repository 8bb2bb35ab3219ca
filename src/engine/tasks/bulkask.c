/* SPDX-License-Identifier: MIT */
/* Requests about bulks. */
#include <stdlib.h>

#include "engine/bulk.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/tasks/tasks.h"
#include "engine/work/work.h"
#include "record/name.h"
#include "record/record.h"

static unsigned states_for(enum bulk_action a)
{
    static const unsigned states[] = {
#define STATES(name, word, set) set,
        BULK_ACTIONS(STATES)
#undef STATES
    };
    return states[a];
}

static int bad_state(struct engine *e, enum bulk_action a)
{
    struct buf names = { 0 };

    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (states_for(a) >> s & 1)
            buf_printf(&names, "%s%s", names.len ? ", " : "", job_state_name((enum job_state)s));
    int err = engine_error(e, BELFRY_INVALID, "state: %s is about jobs that are %.*s",
                           bulk_action_name(a), (int)names.len, names.len ? names.ptr : "");
    buf_fini(&names);
    return err;
}

static bool has_filter(const struct bulk_spec *s)
{
    return s->queue.len || s->state >= 0 || s->states || s->tag.len || s->from_ms >= 0 ||
           s->to_ms >= 0 || s->recurrence.len || s->key_prefix.len || s->order.len ||
           s->worker.len || s->error.len || s->error_group.len || s->ended_from_ms ||
           s->ended_to_ms;
}

/* The states that are asked for, as bits; 0: any. */
static unsigned states_asked(const struct bulk_spec *s)
{
    return s->states ? s->states : s->state >= 0 ? 1u << s->state : 0;
}

static int bulk_check(struct engine *e, const struct bulk_spec *s)
{
    if (!name_valid(s->tenant))
        return engine_error(e, BELFRY_INVALID, "tenant: expected the name of one");
    if (!has_filter(s))
        return engine_error(e, BELFRY_INVALID,
                            "expected at least one filter, such as QUEUE, STATE, TAG, FROM or TO");
    if (s->queue.len > 0 && !queue_name_valid(s->queue))
        return engine_error(e, BELFRY_INVALID, "queue: " NAME_RULE);
    if (states_asked(s) & ~states_for(s->action))
        return bad_state(e, s->action);
    if (s->from_ms >= 0 && s->to_ms >= 0 && s->from_ms >= s->to_ms)
        return engine_error(e, BELFRY_INVALID, "from: expected a moment before TO");
    if (s->ended_from_ms && s->ended_to_ms && s->ended_from_ms >= s->ended_to_ms)
        return engine_error(e, BELFRY_INVALID, "ended_from: expected a moment before ENDED_TO");
    if (s->due_ms > TIME_MOMENT_MAX)
        return engine_error(e, BELFRY_INVALID, "due time: expected a moment up to the year 9999");
    return 0;
}

static int check_room(struct engine *e, const struct queue *q, const struct bulk_spec *s)
{
    if (q && q->jobs[JOB_READY] + q->jobs[JOB_SCHEDULED] >= BULKS_MAX)
        return engine_error(e, BELFRY_LIMIT, "%d bulks of the tenant have not ended", BULKS_MAX);
    if (list_length(&e->place.due[HIDDEN_BULK]) >= BULKS_MAX_ALL)
        return engine_error(e, BELFRY_LIMIT, "%d bulks have not ended", BULKS_MAX_ALL);
    if (e->refuse_new && bulk_adds(s->action) && !s->dry)
        return engine_error(e, BELFRY_FULL, "%s needs room; cancel and delete make some",
                            bulk_action_name(s->action));
    return 0;
}

int engine_bulk(struct engine *e, const struct bulk_spec *s, struct job_id *ret)
{
    struct bulk b = {
        .action = s->action,
        .dry = s->dry,
        .queue = s->queue,
        .states = states_asked(s) ? states_asked(s) : states_for(s->action),
        .tag = s->tag,
        .from_ms = s->from_ms >= 0 ? s->from_ms : 0,
        .to_ms = s->to_ms >= 0 ? s->to_ms : INT64_MAX,
        .due_ms = s->due_ms >= 0 ? s->due_ms : e->now_ms,
        .recurrence = s->recurrence,
        .key_prefix = s->key_prefix,
        .order = s->order,
        .worker = s->worker,
        .with_error = s->error,
        .with_error_group = s->error_group,
        .ended_from_ms = s->ended_from_ms,
        .ended_to_ms = s->ended_to_ms,
        .token = (e->o.epoch << TOKEN_COUNTER | e->work.next_token) + 1,
    };
    struct job_image image = {
        .seq = e->log.next_seq,
        .born_ms = e->now_ms,
        .state = JOB_SCHEDULED,
        .priority = 1,
        .due_ms = e->now_ms,
        .at_ms = 0, /* whatever the clock says */
        .opts = opts_none,
    };
    struct buf payload = { 0 };
    char name[QUEUE_MAX_BYTES];
    int err = bulk_check(e, s);

    if (err)
        return err;
    image.queue = hidden_queue_name(s->tenant, HIDDEN_BULK, name);
    err = check_room(e, queue_find(e, image.queue), s);
    if (err)
        return err;
    bulk_encode(&payload, &b);
    err = emit_put_payload(e, &image, &payload, true);
    if (!err)
        *ret = (struct job_id){ image.born_ms, e->o.partition, image.seq };
    return err;
}

/* NULL with NOTFOUND, COLD or NOMEM. */
static struct job *bulk_find(struct engine *e, struct str tenant, struct job_id id, bool take,
                             int *ret_err)
{
    char buf[QUEUE_MAX_BYTES];

    e->work.inside = true;
    struct job *j = job_seek(e, id, take, ret_err);
    e->work.inside = false;
    if (j && str_eq(hidden_queue_name(tenant, HIDDEN_BULK, buf), queue_name(j->queue)))
        return j;
    if (j || *ret_err == BELFRY_NOTFOUND)
        *ret_err = engine_error(e, BELFRY_NOTFOUND, "there is no such bulk, or no longer");
    return NULL;
}

static struct bulk_view view_of(struct job_id id, int64_t created_ms, struct str payload)
{
    struct bulk_view v = { .id = id, .created_ms = created_ms };

    v.damaged = !bulk_decode(payload, &v.b);
    return v;
}

int engine_bulk_get(struct engine *e, struct str tenant, struct job_id id, struct bulk_view *ret)
{
    int err;
    const struct job *j = bulk_find(e, tenant, id, false, &err);

    if (!j)
        return err;
    *ret = view_of(id, (int64_t)j->born_ms, job_payload(j));
    return 0;
}

int engine_bulk_stop(struct engine *e, struct str tenant, struct job_id id)
{
    int err;
    const struct job *j = bulk_find(e, tenant, id, true, &err);
    struct bulk b;

    if (!j)
        return err;
    if (state_is_ended(j->state))
        return engine_error(e, BELFRY_STATE, "the bulk has ended");
    if (!bulk_decode(job_payload(j), &b)) { /* nothing is known of it: it can be forgotten */
        bulk_forget(e, j->seq);
        return emit_gone(e, j);
    }
    bulk_finish(e, &b, BULK_STOPPED);
    return bulk_record(e, j, &b, e->lsn);
}

/* ---- All of a tenant ---- */

static int by_seq(const void *a, const void *b)
{
    uint64_t x = (*(const struct job *const *)a)->seq, y = (*(const struct job *const *)b)->seq;

    return x < y ? -1 : x > y;
}

/* The bulks of a queue in memory, in the order in which they were asked for. */
static size_t gather_bulks(const struct engine *e, const struct queue *q, const struct job **ret)
{
    size_t n = 0;

    list_each_of (const struct trail, t, &q->logged, timer.link)
        if (!job_is_waste(e, t->job))
            ret[n++] = t->job;
    list_each_of (const struct job, j, &e->place.due[HIDDEN_BULK], timer.link)
        if (j->queue == q)
            ret[n++] = j;
    qsort(ret, n, sizeof(*ret), by_seq);
    return n;
}

/* The page of those on disk: 1 if it is there, 0 if there are none, COLD. */
static int want_ended(struct engine *e, const struct queue *q)
{
    if (q->cold[COLD_DONE] + q->cold[COLD_CANCELLED] <= 0)
        return 0;
    want_page_of(e, q, FAMILY_PAST, (struct cold_point){ 0, 0 }, (size_t)10 * BULK_KEEP);
    return want_is_answered(e) ? 1 : BELFRY_COLD;
}

/* Shows the bulks on disk but for the first `skip`. */
static int show_disk(struct engine *e, size_t skip, int (*fn)(void *arg, const struct bulk_view *v),
                     void *arg)
{
    int err = 0;

    for (size_t i = skip; i < e->cold.answer->n && !err; i++) {
        struct job_image image;

        if (!record_get_job(e->cold.answer->items[i].body, &image))
            continue;
        struct bulk_view v = view_of((struct job_id){ image.born_ms, e->o.partition, image.seq },
                                     image.born_ms, image.payload);
        err = fn(arg, &v);
    }
    return err;
}

/* Shows the bulks in memory, but for the first `skip` of the ended ones. */
static int show_hot(struct engine *e, const struct job **jobs, size_t n, size_t skip,
                    int (*fn)(void *arg, const struct bulk_view *v), void *arg)
{
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        struct bulk_view v =
            view_of(job_id_of(e, jobs[i]), (int64_t)jobs[i]->born_ms, job_payload(jobs[i]));

        if (state_is_ended(jobs[i]->state) && skip > 0)
            skip--;
        else
            err = fn(arg, &v);
    }
    return err;
}

int engine_bulks(struct engine *e, struct str tenant,
                 int (*fn)(void *arg, const struct bulk_view *v), void *arg)
{
    char buf[QUEUE_MAX_BYTES];
    const struct queue *q = queue_find(e, hidden_queue_name(tenant, HIDDEN_BULK, buf));
    size_t n, ended, skip;
    int err = q ? want_ended(e, q) : 0;

    if (!q || err < 0)
        return err;
    const struct job **jobs = malloc(
        (list_length(&q->logged) + list_length(&e->place.due[HIDDEN_BULK]) + 1) * sizeof(*jobs));
    if (!jobs)
        return engine_plain(e, BELFRY_NOMEM);
    n = gather_bulks(e, q, jobs);
    ended = err ? e->cold.answer->n : 0; /* bulks on disk are the older ones */
    for (size_t i = 0; i < n; i++)
        ended += state_is_ended(jobs[i]->state);
    skip = ended > BULK_KEEP ? ended - BULK_KEEP : 0;
    if (err) {
        size_t first = skip < e->cold.answer->n ? skip : e->cold.answer->n;

        skip -= first;
        err = show_disk(e, first, fn, arg);
    }
    err = err ? err : show_hot(e, jobs, n, skip, fn, arg);
    free(jobs);
    return err;
}
