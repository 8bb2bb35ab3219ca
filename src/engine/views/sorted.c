/* SPDX-License-Identifier: MIT */
/* Pages of jobs in order of time: see sorted.h. */
#include "engine/sorted.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/place/detail.h"
#include "engine/place/filter.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/record.h"

#define STRIPE_JOBS 2048 /* about so many jobs are visited in a round */
#define SORTS_MAX   16   /* under way at a time, */
#define TENANT_MAX  4    /* of which so many are about one tenant */
#define SHOWN_ALONE 200
#define TRIES_MAX   100 /* rounds that are made again, as runs changed */

static const struct cold_point waiting = { AT_NEVER, 0 }; /* all that wait stand behind this */

/* ---- From disk ---- */

static struct sorted_found found_get(struct wire_reader *in)
{
    struct sorted_found x = { .key = wire_bytes(in), .body = wire_bytes(in) };

    x.payload_len = wire_varint(in);
    x.number = (uint32_t)wire_varint(in);
    return x;
}

/* An entry counts if its job is still there. A job that has come to memory is met in memory. NOMEM.
 */
static int judge(struct engine *e, struct sorted *s, const struct sorted_found *x)
{
    struct job_image image;

    if (!record_get_job(x->body, &image) || !cold_counts(e, x->key, x->number) ||
        job_find(e, image.seq) || !sorted_wants(s, (struct cold_point){ image.at_ms, image.seq }))
        return 0;
    struct queue *q = queue_obtain(e, image.queue);
    struct job *j = q ? job_new(e, &image, q) : NULL;
    if (!j)
        return BELFRY_NOMEM;
    if (job_passes(e, &s->filter, j))
        sorted_add(e, s, j, x->payload_len);
    job_free(e, j);
    return 0;
}

/* Judges what the round has read. */
static int sorted_take(struct engine *e, struct sorted *s)
{
    struct wire_reader in = wire_reader_of(buf_view(&s->found));
    int err = s->found.failed ? BELFRY_NOMEM : 0;

    if (s->found.len > 0 && s->run_changes != e->cold.run_changes && ++s->tries < TRIES_MAX) {
        /* What tells whether these entries count may have gone with a run. */
        s->at = s->from;
        s->due = s->due_before;
        s->disk_done = s->cut = false;
        in.p = in.end;
    }
    while (in.p < in.end && !err) {
        struct sorted_found x = found_get(&in);

        err = judge(e, s, &x);
    }
    if (s->cut)
        sorted_bound(s, s->upto);
    buf_reset(&s->found, 0);
    s->found_count = 0;
    s->cut = false;
    return err;
}

/* What the next round reads. */
static void sorted_ask(struct engine *e, struct sorted *s)
{
    bool full = s->n == s->filter.limit;

    s->run_changes = e->cold.run_changes;
    s->from = s->at;
    s->due_before = s->due;
    s->ends = s->bounded || full;
    if (s->ends)
        s->upto = full ? sorted_last(s) : s->bound;
    e->cold.want = (struct cold_want){ .kind = WANT_SORTED };
    e->cold.sorted = s;
}

/* ---- Rounds ---- */

struct visit {
    const struct engine *e;
    struct sorted *s;
};

static int visit_job(void *arg, struct table_node *node)
{
    const struct visit *v = arg;

    sorted_meet(v->e, v->s, container_of(node, struct job, by_seq));
    return 0;
}

static bool disk_has(const struct engine *e, const struct sorted *s)
{
    int64_t n = 0;

    if (s->waits)
        return e->cold.counts[COLD_WAITING] > 0;
    for (unsigned slot = 0; slot < COLD_SLOTS; slot++)
        n += slot == COLD_DUE || slot_is_backlog((enum cold_slot)slot) ? e->cold.counts[slot] : 0;
    return n > 0 && filter_states(&s->filter) & (JOB_BIT(SCHEDULED) | JOB_BIT(READY));
}

/* Begins with jobs that have a moment, or with those that wait. */
static void part_begin(const struct engine *e, struct sorted *s, bool waits)
{
    struct cold_point from = e->place.frontier;

    s->waits = waits;
    s->bounded = !waits;
    s->bound = waiting;
    if (waits && point_after(waiting, s->after))
        s->after = waiting;
    /* A job that was put off is behind its due time, never before it. */
    if (!waits && point_after((struct cold_point){ s->filter.from_ms, 0 }, s->after))
        s->after = (struct cold_point){ s->filter.from_ms, 0 };
    if (!waits && point_after(s->after, from))
        from = s->after;
    cold_key_due(&s->at, from);
    s->disk_done = !disk_has(e, s);
    s->stripe = 0;
}

/* Whether jobs that wait are to come, behind all others. */
static bool waiting_follow(const struct engine *e, const struct sorted *s)
{
    return !s->waits && !point_after(waiting, s->bound) &&
           filter_states(&s->filter) & JOB_BIT(WAITING) &&
           (s->met_waiting || e->cold.counts[COLD_WAITING] > 0);
}

/* Does the engine's part of a round. 1: another round is needed. NOMEM. */
static int sorted_round(struct engine *e, struct sorted *s)
{
    struct visit v = { e, s };
    int err = sorted_take(e, s);

    if (err || s->failed)
        return BELFRY_NOMEM;
    if (!s->disk_done)
        return 1;
    bool visits = s->stripe >> s->stripes_log2 == 0;
    if (visits) {
        table_each_stripe(&e->place.jobs, s->stripes_log2, s->stripe++, visit_job, &v);
        if (s->failed)
            return BELFRY_NOMEM;
    }
    if (s->stripe >> s->stripes_log2 == 0)
        return 1;
    if (waiting_follow(e, s) && s->n < s->filter.limit) {
        part_begin(e, s, true);
        return 1;
    }
    if (waiting_follow(e, s))
        sorted_bound(s, sorted_last(s));
    return visits && s->n > SHOWN_ALONE; /* a long page is shown in a round of its own */
}

/* The texts of the request last only as long as its execution. NOMEM. */
static int filter_keep(struct sorted *s, const struct list_filter *f)
{
    struct list_filter *own = &s->filter;
    struct str *texts[] = { &own->tenant,     &own->queue,      &own->tag,
                            &own->recurrence, &own->key_prefix, &own->order,
                            &own->worker,     &own->error,      &own->error_group };
    size_t at = 0;

    *own = *f;
    own->looked = NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        buf_append(&s->texts, texts[i]->len ? texts[i]->ptr : "", texts[i]->len);
    if (s->texts.failed)
        return BELFRY_NOMEM;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i]->len)
            texts[i]->ptr = s->texts.ptr + at;
        at += texts[i]->len;
    }
    return 0;
}

static int sorts_check(struct engine *e, struct str tenant)
{
    size_t all = 0, own = 0;

    list_each_of (const struct sorted, s, &e->cold.sorts, link) {
        all++;
        own += str_eq(s->filter.tenant, tenant);
    }
    if (all < SORTS_MAX && own < TENANT_MAX)
        return 0;
    return engine_error(e, BELFRY_BUSY,
                        "as many sorted pages as can be made at a time are under way");
}

static int sorted_begin(struct engine *e, const struct list_filter *f, size_t preview,
                        struct cold_point after, struct sorted **ret)
{
    int err = sorts_check(e, f->tenant);
    struct sorted *s = err ? NULL : calloc(1, sizeof(*s));

    if (!s)
        return err ? err : engine_plain(e, BELFRY_NOMEM);
    list_init(&s->link);
    s->jobs = malloc((f->limit + 1) * sizeof(struct sorted_job *));
    if (!s->jobs || filter_keep(s, f) < 0) {
        sorted_free(s);
        return engine_plain(e, BELFRY_NOMEM);
    }
    s->filter.states = filter_states(f) & SORT_STATES;
    s->preview = preview;
    s->after = after;
    s->batch = e->place.batch.fed ? e->place.batch.number : 0;
    while (e->place.jobs.count >> s->stripes_log2 > (size_t)engine_slice(e, STRIPE_JOBS))
        s->stripes_log2++;
    part_begin(e, s, !point_after(waiting, after));
    list_append(&e->cold.sorts, &s->link);
    *ret = s;
    return 0;
}

struct sorted *engine_sort(struct engine *e)
{
    struct sorted *s = e->cold.want.kind == WANT_SORTED ? e->cold.sorted : NULL;

    if (s)
        e->cold.sorted = NULL;
    return s;
}

/* ---- The request ---- */

static int sorted_show(struct engine *e, const struct sorted_job *x,
                       int (*fn)(void *arg, const struct job_view *v), void *arg)
{
    struct job_image image;
    struct job_view v;

    if (!record_get_job((struct str){ x->body, x->len }, &image))
        return BELFRY_CORRUPT;
    struct queue *q = queue_obtain(e, image.queue);
    struct job *j = q ? job_new(e, &image, q) : NULL;
    if (!j)
        return engine_plain(e, BELFRY_NOMEM);
    engine_view(e, j, &v);
    v.state = x->state;
    v.payload.len = x->payload_len;
    int answer = fn(arg, &v);
    job_free(e, j);
    return answer;
}

static int sorted_show_all(struct engine *e, const struct sorted *s,
                           int (*fn)(void *arg, const struct job_view *v), void *arg,
                           struct list_cursor *ret)
{
    struct cold_point upto = s->bound;
    int answer = 0;

    *ret = (struct list_cursor){ .phase = LIST_SORTED };
    ret->more = s->bounded && (s->waits || point_after(waiting, upto));
    for (size_t i = 0; i < s->n && answer == 0; i++) {
        answer = sorted_show(e, s->jobs[i], fn, arg);
        if (answer > 0 && i + 1 < s->n) {
            upto = s->jobs[i]->at;
            ret->more = true;
        }
    }
    if (ret->more) {
        ret->due_ms = upto.at_ms;
        ret->seq = upto.seq;
    }
    return answer;
}

/* The page that the request goes on with, or a new one. */
static int sorted_of(struct engine *e, const struct list_filter *f, size_t preview,
                     struct cold_point after, struct sorted **ret)
{
    struct cold_answer *a = e->cold.answer;

    sorted_free(e->cold.sorted); /* a request that answered COLD was given up */
    e->cold.sorted = NULL;
    if (!a || !a->sorted)
        return sorted_begin(e, f, preview, after, ret);
    *ret = a->sorted;
    a->sorted = NULL;
    return 0;
}

int engine_sorted(struct engine *e, const struct list_filter *f, size_t preview,
                  int (*fn)(void *arg, const struct job_view *v), void *arg,
                  struct list_cursor *cursor)
{
    struct cold_point after = { -1, 0 };
    struct sorted *s = NULL;
    int answer;

    if (cursor->more && cursor->phase != LIST_SORTED)
        return BELFRY_INVALID;
    if (cursor->more)
        after = (struct cold_point){ cursor->due_ms, cursor->seq };
    answer = sorted_of(e, f, preview, after, &s);
    if (answer)
        return answer;
    answer = sorted_round(e, s);
    if (answer == 1) {
        sorted_ask(e, s);
        return BELFRY_COLD;
    }
    if (answer == 0)
        answer = sorted_show_all(e, s, fn, arg, cursor);
    else
        answer = engine_plain(e, answer);
    sorted_free(s);
    return answer;
}
