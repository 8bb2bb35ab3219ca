/* SPDX-License-Identifier: MIT */
/*
 * Entries of the audit log never change, and all entries in memory go to disk together. So entries
 * on disk have smaller numbers than those in memory. On disk they are in the order of their
 * moments, which is another one where the clock was set back.
 *
 *     on disk, by moment                  in memory, by number
 *     numbers in floor+1 .. ceiling  ───> numbers from ceiling+1 on
 *           ^                               │ these went to disk between two pages:
 *           └───────────────────────────────┘ floor = ceiling, and only runs that are newer
 *
 * The pages walk over the entries on disk first, then over those in memory. Entries that go to disk
 * meanwhile are beyond the ceiling, and a further walk over newer runs shows them. So no entry is
 * shown twice or left out, however moments and numbers are related.
 */
#include "engine/audit.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/name.h"
#include "record/record.h"

#define FORMAT   1
#define TRIM_MAX 64 /* entries that go at a time: more than one if audit_max was lowered */

/* The texts of an entry, in the order of its payload: member, and the most bytes that it keeps. */
#define AUDIT_TEXTS(X)          \
    X(tenant, NAME_MAX_BYTES)   \
    X(user, AUDIT_TEXT_MAX)     \
    X(client, AUDIT_TEXT_MAX)   \
    X(address, AUDIT_TEXT_MAX)  \
    X(verb, NAME_MAX_BYTES)     \
    X(request, AUDIT_WORDS_MAX) \
    X(outcome, AUDIT_TEXT_MAX)

static void entry_encode(struct buf *out, const struct audit_entry *a)
{
    wire_put_u8(out, FORMAT);
#define PUT(member, max) \
    wire_put_bytes(out,  \
                   (struct str){ a->member.ptr, a->member.len < (max) ? a->member.len : (max) });
    AUDIT_TEXTS(PUT)
#undef PUT
}

static bool entry_decode(struct str bytes, struct audit_entry *ret)
{
    struct wire_reader r = wire_reader_of(bytes);

    if (wire_u8(&r) != FORMAT)
        return false;
#define GET(member, max) ret->member = wire_bytes(&r);
    AUDIT_TEXTS(GET)
#undef GET
    return !r.bad;
}

uint64_t engine_audit_count(const struct engine *e, uint64_t *ret_disk)
{
    const struct queue *q = queue_find(e, hidden_rows[HIDDEN_AUDIT].name);

    *ret_disk = q && q->cold[COLD_DONE] > 0 ? (uint64_t)q->cold[COLD_DONE] : 0;
    return *ret_disk + (q ? q->jobs[JOB_DONE] : 0);
}

/* Forgets the oldest entries beyond audit_max. Entries on disk are older than all in memory, and
 * merging forgets them: see merge_choose.c. */
static int audit_trim(struct engine *e)
{
    struct queue *q = queue_find(e, hidden_rows[HIDDEN_AUDIT].name);
    uint64_t disk;
    int err = 0;

    for (int i = 0; i < TRIM_MAX && !err && e->o.audit_max; i++) {
        if (engine_audit_count(e, &disk) <= e->o.audit_max || disk > 0 || list_empty(&q->logged))
            break;
        struct list *oldest = MUTANT(e->o.mutant, AUDIT_NEWEST) ? q->logged.prev : q->logged.next;
        err = emit_forget(e, container_of(oldest, struct trail, timer.link)->job);
        e->tasks.audit_dropped += !err;
    }
    return err;
}

int engine_audit(struct engine *e, const struct audit_entry *a)
{
    int64_t keep_ms = e->now_ms + (e->o.audit_ms ? e->o.audit_ms : AUDIT_KEEP_MS);
    struct job_image image = {
        .seq = e->log.next_seq,
        .born_ms = e->now_ms,
        .state = JOB_DONE,
        .priority = 1,
        .due_ms = e->now_ms,
        .at_ms = e->now_ms,
        .queue = hidden_rows[HIDDEN_AUDIT].name,
        .opts = opts_none,
        .has_trail = true,
        /* The entry is kept as if its key were held: other done jobs are kept as long as there is
           room. */
        .trail = { .progress = -1, .ended_ms = e->now_ms, .keep_ms = keep_ms, .hold_ms = keep_ms },
    };
    struct buf payload = { 0 };

    entry_encode(&payload, a);
    int err = emit_put_payload(e, &image, &payload, true);
    return err ? err : audit_trim(e);
}

/* ---- Looking ---- */

struct page {
    struct engine *e;
    const struct audit_filter *f;
    int (*fn)(void *arg, const struct audit_entry *a);
    void *arg;
    uint64_t floor, ceiling; /* the walk on disk shows numbers above the floor, up to the ceiling;
                                in memory, entries up to the ceiling have been shown */
    uint32_t since, newest;  /* the walk on disk reads runs newer than `since`, up to `newest`; in
                                memory both are equal */
    struct cold_point after; /* the walk on disk has shown all entries up to this point */
    size_t n;
};

static int entry_show(struct page *p, struct job_id id, int64_t at_ms, struct str payload)
{
    struct audit_entry a = { .id = id, .at_ms = at_ms };
    const struct audit_filter *f = p->f;

    if (at_ms < f->from_ms || at_ms >= f->to_ms || !entry_decode(payload, &a) ||
        (f->tenant.len > 0 && !str_eq(f->tenant, STR(TENANT_ALL)) && !str_eq(f->tenant, a.tenant)))
        return 0;
    p->n++;
    return p->fn(p->arg, &a);
}

/* The largest number that an entry on disk can have. */
static uint64_t disk_ceiling(const struct engine *e, const struct queue *q)
{
    uint64_t ceiling = e->log.next_seq - 1;

    list_each_of (const struct trail, t, &q->logged, timer.link)
        if (!job_is_waste(e, t->job) && t->job->seq <= ceiling)
            ceiling = t->job->seq - 1;
    return ceiling;
}

/* Begins a walk over entries that went to disk since the last one, if there may be any. */
static void walk_again(struct page *p, const struct queue *q)
{
    uint32_t newest = walk_newest(p->e);
    uint64_t ceiling = disk_ceiling(p->e, q);

    if (q->cold[COLD_DONE] <= 0 || newest == p->newest || ceiling <= p->ceiling)
        return;
    p->since = p->newest;
    p->newest = newest;
    p->floor = p->ceiling;
    p->ceiling = ceiling;
    p->after = (struct cold_point){ p->f->from_ms > 0 ? p->f->from_ms : 0, 0 };
}

static bool is_on_disk(const struct page *p)
{
    return p->since != p->newest;
}

/* Shows a page of the entries on disk: 0, COLD, or the answer of the caller's function. */
static int show_disk(struct page *p, const struct queue *q)
{
    int err = 0;

    want_page_of(p->e, q, FAMILY_KEPT, p->after, p->f->limit);
    p->e->cold.want.since = p->since;
    if (!want_is_answered(p->e))
        return BELFRY_COLD;
    const struct cold_answer *a = p->e->cold.answer;
    for (size_t i = 0; i < a->n && !err; i++) {
        struct job_image image;

        if (!record_get_job(a->items[i].body, &image) || !image.has_trail)
            continue;
        p->after = (struct cold_point){ image.trail.ended_ms, image.seq };
        if (image.seq > p->floor && image.seq <= p->ceiling)
            err = entry_show(p, (struct job_id){ image.born_ms, p->e->o.partition, image.seq },
                             image.trail.ended_ms, image.payload);
    }
    if (a->more && !err)
        cold_key_point((struct str){ a->last, a->last_len }, &p->after);
    if (!err && (!a->more || p->after.at_ms >= p->f->to_ms)) /* later ones are beyond the end */
        p->since = p->newest;
    return err;
}

/* Picks the first entries in memory, in the order of their numbers. */
static size_t page_pick(const struct page *p, const struct queue *q, const struct job **ret,
                        size_t max)
{
    size_t n = 0;

    list_each_of (const struct trail, t, &q->logged, timer.link) {
        const struct job *j = t->job;
        size_t at = n;

        if (job_is_waste(p->e, j) || j->seq <= p->ceiling)
            continue;
        while (at > 0 && ret[at - 1]->seq > j->seq) /* mostly they are in order */
            at--;
        if (at == max)
            continue;
        n -= n == max;
        memmove(&ret[at + 1], &ret[at], (n - at) * sizeof(*ret));
        ret[at] = j;
        n++;
    }
    return n;
}

/* Shows entries in memory until the page is full. The ceiling is right below the next entry, so
 * that its place tells whether entries went to disk. */
static int show_memory(struct page *p, const struct queue *q, bool *ret_more)
{
    size_t max = p->f->limit - p->n, n, shown = 0;
    const struct job **jobs = malloc((max + 1) * sizeof(*jobs));
    int err = 0;

    if (!jobs)
        return engine_plain(p->e, BELFRY_NOMEM);
    n = page_pick(p, q, jobs, max + 1);
    for (; shown < n && shown < max && !err; shown++)
        err = entry_show(p, job_id_of(p->e, jobs[shown]), jobs[shown]->trail->ended_ms,
                         job_payload(jobs[shown]));
    *ret_more = shown < n;
    if (*ret_more)
        p->ceiling = jobs[shown]->seq - 1;
    free(jobs);
    return err;
}

static void page_resume(struct page *p, const struct list_cursor *c)
{
    p->floor = c->stripe;
    p->ceiling = c->epoch;
    p->since = c->walk;
    p->newest = c->since;
    p->after = (struct cold_point){ c->due_ms, c->seq };
}

static struct list_cursor page_cursor(const struct page *p)
{
    return (struct list_cursor){
        .more = true,
        .stripe = p->floor,
        .epoch = p->ceiling,
        .walk = p->since,
        .since = p->newest,
        .due_ms = p->after.at_ms,
        .seq = p->after.seq,
    };
}

int engine_audits(struct engine *e, const struct audit_filter *f,
                  int (*fn)(void *arg, const struct audit_entry *a), void *arg,
                  struct list_cursor *cursor)
{
    struct page p = { .e = e, .f = f, .fn = fn, .arg = arg };
    const struct queue *q = queue_find(e, hidden_rows[HIDDEN_AUDIT].name);
    bool more = q != NULL;
    int err = 0;

    if (cursor->more)
        page_resume(&p, cursor);
    if (q && !is_on_disk(&p))
        walk_again(&p, q);
    if (q && is_on_disk(&p)) {
        err = show_disk(&p, q);
        if (err == BELFRY_COLD)
            return err;
        if (!err && !is_on_disk(&p))
            walk_again(&p, q);
    }
    if (q && !err && !is_on_disk(&p))
        err = show_memory(&p, q, &more);
    *cursor = more ? page_cursor(&p) : (struct list_cursor){ 0 };
    return err;
}
