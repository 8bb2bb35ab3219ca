/* SPDX-License-Identifier: MIT */
/* Requests about recurrences: making one, changing it, looking at it. */
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/recurrence.h"
#include "engine/tasks/tasks.h"
#include "engine/work/work.h"
#include "record/name.h"
#include "record/opts.h"
#include "record/record.h"

/* An edit counts the nominal times that it passes over, up to PASSED_MAX. It also stops at a cost
 * of PASSED_COST; then there are at least as many as were counted. A plain rule of any kind costs
 * three for each time, so it is counted up to PASSED_MAX. */
#define PASSED_MAX  5000
#define PASSED_COST (4 * PASSED_MAX)

/* NULL with NOTFOUND, COLD or NOMEM. */
static struct job *recurrence_find(struct engine *e, struct str tenant, struct str name, bool take,
                                   int *ret_err)
{
    char buf[QUEUE_MAX_BYTES];
    struct queue *q = queue_find(e, hidden_queue_name(tenant, HIDDEN_RECURRENCE, buf));

    *ret_err = BELFRY_NOTFOUND;
    struct job *j = q ? key_seek(e, q, (struct str){ 0 }, name, take, ret_err) : NULL;
    if (!j && *ret_err == BELFRY_NOTFOUND)
        engine_error(e, BELFRY_NOTFOUND, "there is no recurrence %.*s", STR_ARG(name));
    return j;
}

static void view_of(const struct engine *e, const struct job *j, struct recurrence_view *ret)
{
    struct job_image image;
    struct job_opts o;

    job_opts_get(j, &o);
    job_image_of(j, &image);
    ret->kept_bytes = image_bytes(&image);
    ret->name = o.key;
    ret->created_ms = o.created_ms;
    ret->damaged = !recurrence_read(e, j, &ret->r);
    ret->open = ret->damaged ? 0 : ledger_open(&ret->r);
}

int engine_recurrence_get(struct engine *e, struct str tenant, struct str name,
                          struct recurrence_view *ret)
{
    int err;
    const struct job *j = recurrence_find(e, tenant, name, false, &err);

    if (!j)
        return err;
    view_of(e, j, ret);
    return 0;
}

static bool recurrence_same(const struct recurrence *a, const struct recurrence *b)
{
    return a->kind == b->kind && str_eq(a->rule, b->rule) && str_eq(a->zone, b->zone) &&
           str_eq(a->exdate, b->exdate) && str_eq(a->rdate, b->rdate) &&
           a->start_ms == b->start_ms && a->catchup == b->catchup && a->overlap == b->overlap &&
           str_eq(a->queue, b->queue) && a->priority == b->priority && str_eq(a->opts, b->opts) &&
           str_eq(a->payload, b->payload);
}

/* Counts the nominal times up to now that were not decided about: from r->next_ms to *ret_upto. */
static int count_passed(struct engine *e, struct str name, const struct recurrence *r,
                        int64_t *ret_upto, uint64_t *ret_n)
{
    struct recur_state state = r->state;
    struct recur *rule;
    int64_t at = r->next_ms;

    *ret_n = 0;
    if (at < 0 || at > e->now_ms)
        return 0;
    *ret_n = 1;
    *ret_upto = at;
    int err = recurrence_rule(e, name, r, &rule);
    if (err) /* its zone is gone: there is that one at least */
        return err == BELFRY_NOMEM ? err : 0;
    while (*ret_n < PASSED_MAX && state.cost < PASSED_COST &&
           (at = recurrence_after(rule, at, &state)) >= 0 && at <= e->now_ms) {
        *ret_upto = at;
        ++*ret_n;
    }
    if (*ret_n == PASSED_MAX || state.cost >= PASSED_COST)
        *ret_upto = e->now_ms;
    recur_free(rule);
    return 0;
}

/* The ledger goes on under the new rule. Times that were not decided about, or waited for their
 * turn, are skipped: no past occurrence is made. */
static int recurrence_inherit(struct engine *e, struct str name, struct recurrence *r,
                              const struct recurrence *old)
{
    int64_t upto;
    uint64_t n;
    int err = count_passed(e, name, old, &upto, &n);

    if (err)
        return err;
    r->paused = old->paused;
    r->revision = old->revision + 1;
    r->last_ms = n > 0 ? upto : old->last_ms;
    memcpy(r->totals, old->totals, sizeof(r->totals));
    r->ledger_count = old->ledger_count;
    memcpy(r->ledger, old->ledger, sizeof(r->ledger));
    for (size_t i = 0; i < old->range_count; i++)
        ledger_skip(r, old->ranges[i].from_ms, old->ranges[i].upto_ms, old->ranges[i].n,
                    LEDGER_EDITED);
    if (n > 0)
        ledger_skip(r, old->next_ms, upto, n, old->paused ? LEDGER_PAUSED : LEDGER_EDITED);
    return 0;
}

/* The first nominal time after a moment, and after the last one that was decided about. */
static int set_next(struct engine *e, struct str name, struct recurrence *r, int64_t after)
{
    struct recur *rule;
    int err = recurrence_rule(e, name, r, &rule);

    if (err)
        return err;
    r->state = (struct recur_state){ .most = RECUR_COST_MAX };
    r->next_ms = recurrence_after(rule, after > r->last_ms ? after : r->last_ms, &r->state);
    if (MUTANT(e->o.mutant, OCCURRENCE_OFF) && r->next_ms >= 0)
        r->next_ms = recurrence_after(rule, r->next_ms, &r->state);
    recur_free(rule);
    if (r->next_ms < 0 && r->state.cost >= RECUR_COST_MAX)
        return engine_error(e, BELFRY_INVALID,
                            "the search for the rule's next occurrence takes too long: expected a "
                            "START nearer to now, or a simpler rule");
    if (r->next_ms < 0)
        return engine_error(e, BELFRY_INVALID, "the rule has no occurrence after now");
    return 0;
}

static int put_new(struct engine *e, struct str queue, struct str name, const struct recurrence *r)
{
    struct buf payload = { 0 };
    struct job_image image = {
        .seq = e->log.next_seq,
        .born_ms = r->next_ms,
        .state = JOB_SCHEDULED,
        .priority = 1,
        .due_ms = r->next_ms,
        .at_ms = r->next_ms,
        .queue = queue,
    };

    recurrence_encode(&payload, r);
    e->scratch.len = 0;
    job_opts_put(
        &e->scratch,
        &(struct job_opts){
            .created_ms = e->now_ms, .key = name, .attempts = -1, .lease_ms = -1, .retain_ms = -1 },
        r->next_ms);
    image.opts = buf_view(&e->scratch);
    payload.failed = engine_scratch(e) < 0 || payload.failed;
    return emit_put_payload(e, &image, &payload, false);
}

static int check_recurrence(struct engine *e, const struct recurrence_spec *s)
{
    if (!name_valid(s->name))
        return engine_error(e, BELFRY_INVALID, "name: " NAME_RULE);
    if (s->job.payload.len + s->rule.len + s->exdate.len + s->rdate.len > RECURRENCE_BYTES / 2)
        return engine_error(e, BELFRY_TOOLARGE, "payload and rule: together at most %d bytes",
                            RECURRENCE_BYTES / 2);
    return spec_check(e, queue_find(e, s->job.queue), &s->job);
}

/* Checks the period of EVERY. Rules of other kinds have a period of a second at least. A text that
 * is no duration is refused later, when the rule is parsed. */
static int check_every(struct engine *e, const struct recurrence_spec *s)
{
    char least[TIME_TEXT];
    const char *why;
    int64_t ms;

    if (s->kind != RECUR_EVERY || time_parse_duration(s->rule, &ms, &why) < 0 ||
        ms >= e->o.min_every_ms || ms == 0)
        return 0;
    time_format_duration(e->o.min_every_ms, least);
    return engine_error(e, BELFRY_INVALID, "every: expected at least %s, the server's min_every",
                        least);
}

static int check_number(struct engine *e, struct str tenant)
{
    const struct tenant *t = tenant_find(e, tenant);
    int64_t most = t ? t->settings.max_recurrences : tenant_defaults.max_recurrences;

    if (most == 0 || tenant_recurrences(e, tenant) < (uint64_t)most + MUTANT(e->o.mutant, CROWDED))
        return 0;
    return engine_error(e, BELFRY_LIMIT, "max_recurrences of %.*s is %lld", STR_ARG(tenant),
                        (long long)most);
}

#define RECURRENCE_OPTS 16 /* bytes of a recurrence's options besides its name, at most */

/* Whether the tenant may have a new recurrence, or one that grows. */
static int check_bytes(struct engine *e, const struct recurrence_spec *s, const struct job *j,
                       const struct recurrence *r)
{
    struct buf payload = { 0 };
    char buf[QUEUE_MAX_BYTES];

    recurrence_encode(&payload, r);
    int64_t needs = (int64_t)payload.len;
    buf_fini(&payload);
    needs += j ? -(int64_t)j->payload_len
               : (int64_t)(JOB_KEPT_BYTES + s->name.len + RECURRENCE_OPTS +
                           hidden_queue_name(s->tenant, HIDDEN_RECURRENCE, buf).len);
    return tenant_refuses_bytes(e, tenant_find(e, s->tenant), needs);
}

static int recurrence_change(struct engine *e, const struct recurrence_spec *s, struct str opts)
{
    char buf[QUEUE_MAX_BYTES];
    struct recurrence r = {
        .kind = s->kind,
        .rule = s->rule,
        .zone = s->zone,
        .exdate = s->exdate,
        .rdate = s->rdate,
        .catchup = s->catchup,
        .overlap = s->overlap,
        .queue = s->job.queue,
        .priority = (unsigned)s->job.priority,
        .opts = opts,
        .payload = s->job.payload,
        .revision = 1,
        .edited_ms = e->now_ms,
        .last_ms = -1,
        .skip_ms = -1,
    };
    struct recurrence old;
    int err;
    struct job *j = recurrence_find(e, s->tenant, s->name, true, &err);

    if (!j && err != BELFRY_NOTFOUND)
        return err;
    if (j && !recurrence_read(e, j, &old))
        return engine_error(e, BELFRY_CORRUPT, "what is stored of it cannot be read: delete it");
    r.start_ms = s->start_ms >= 0 ? s->start_ms
                 : j              ? old.start_ms
                                  : (e->now_ms + 999) / 1000 * 1000;
    if (j && recurrence_same(&r, &old))
        return 0;
    err = j ? 0 : check_number(e, s->tenant);
    if (!err)
        err = check_every(e, s);
    if (!err && j)
        err = recurrence_inherit(e, s->name, &r, &old);
    if (!err)
        err = set_next(e, s->name, &r, j ? e->now_ms : e->now_ms - 1);
    if (!err)
        err = check_bytes(e, s, j, &r);
    if (err)
        return err;
    return j ? recurrence_put(e, j, &r)
             : put_new(e, hidden_queue_name(s->tenant, HIDDEN_RECURRENCE, buf), s->name, &r);
}

int engine_recur(struct engine *e, const struct recurrence_spec *s)
{
    struct buf opts = { 0 };
    int err = check_recurrence(e, s);

    if (!err && e->refuse_new)
        err = engine_plain(e, BELFRY_FULL);
    if (!err)
        spec_opts(&opts, &s->job, 0);
    if (opts.failed)
        err = engine_plain(e, BELFRY_NOMEM);
    if (!err) /* without the first byte, which says when a job was made */
        err = recurrence_change(e, s, (struct str){ opts.ptr + 1, opts.len - 1 });
    buf_fini(&opts);
    return err;
}

int engine_recurrence_pause(struct engine *e, struct str tenant, struct str name, bool pause)
{
    struct recurrence r;
    int err;
    const struct job *j = recurrence_find(e, tenant, name, true, &err);

    if (!j)
        return err;
    if (!recurrence_read(e, j, &r) || r.paused == pause)
        return 0;
    r.paused = pause;
    if (!pause && r.next_ms >= 0 && r.next_ms <= e->now_ms) {
        r.skip_ms = e->now_ms;
        r.skip_why = LEDGER_PAUSED;
    }
    return recurrence_put(e, j, &r);
}

static bool is_taken(const struct recurrence *r, int64_t nominal_ms)
{
    for (size_t i = 0; i < r->ledger_count; i++)
        if (r->ledger[i].id.seq && r->ledger[i].nominal_ms == nominal_ms)
            return true;
    return r->next_ms == nominal_ms;
}

int engine_recurrence_run(struct engine *e, struct str tenant, struct str name, struct job_id *ret)
{
    struct recurrence r;
    int64_t nominal = e->now_ms;
    int err;
    const struct job *j = recurrence_find(e, tenant, name, true, &err);

    if (!j)
        return err;
    if (e->refuse_new)
        return engine_plain(e, BELFRY_FULL);
    if (!recurrence_read(e, j, &r))
        return engine_error(e, BELFRY_CORRUPT, "what is stored of it cannot be read: delete it");
    while (is_taken(&r, nominal)) /* two in one millisecond are two */
        nominal++;
    bool before = commit_begin(e);
    err = recurrence_make(e, j, &r, nominal, true);
    if (!err) {
        *ret = r.ledger[r.ledger_count - 1].id;
        err = recurrence_put(e, j, &r);
        e->work.torn = e->work.torn || err;
    }
    return commit_end(e, before, err);
}

int engine_recurrence_delete(struct engine *e, struct str tenant, struct str name)
{
    int err;
    const struct job *j = recurrence_find(e, tenant, name, true, &err);

    return j ? emit_gone(e, j) : err;
}

struct listing {
    const struct engine *e;
    int (*fn)(void *arg, const struct recurrence_view *v);
    void *arg;
};

static int list_one(void *arg, const struct job_view *v)
{
    struct listing *l = arg;
    struct recurrence_view view = { .name = v->key,
                                    .created_ms = v->created_ms,
                                    .kept_bytes = v->kept_bytes };

    view.damaged = !recurrence_decode(v->payload, l->e->o.partition, &view.r);
    view.open = view.damaged ? 0 : ledger_open(&view.r);
    return l->fn(l->arg, &view);
}

int engine_recurrences(struct engine *e, struct str tenant, size_t limit,
                       int (*fn)(void *arg, const struct recurrence_view *v), void *arg,
                       struct list_cursor *cursor)
{
    char buf[QUEUE_MAX_BYTES];
    struct listing l = { e, fn, arg };
    struct list_filter f = {
        .queue = hidden_queue_name(tenant, HIDDEN_RECURRENCE, buf),
        .state = -1,
        .to_ms = INT64_MAX,
        .limit = limit,
    };

    return engine_list(e, &f, list_one, &l, cursor);
}
