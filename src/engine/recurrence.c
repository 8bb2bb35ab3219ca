/* SPDX-License-Identifier: MIT */
/*
 * Recurrences at work. Firing decides about one nominal time after the other: make it, queue it
 * behind those before it, or skip it. The occurrence, the ledger entry and the next timer are one
 * commit, so a nominal time is decided about once, whatever crashes. Zones and rules are looked at
 * here only: what was found stands in the record.
 */
#include "engine/recurrence.h"

#include <xxhash.h>

#include "engine/internal.h"

#define DECIDE_SLICE 1000 /* nominal times in one step */

/* ---- What stands in the job ---- */

static struct str name_of(const struct job *j)
{
    struct job_opts o;

    job_opts_get(j, &o);
    return o.key;
}

static bool read(const struct engine *e, const struct job *j, struct recurrence *ret)
{
    return recurrence_decode(job_payload(j), e->o.partition, ret);
}

/* When it is to be looked at next. */
static int64_t wake_ms(const struct recurrence *r)
{
    return r->paused || r->next_ms < 0 ? AT_NEVER : r->next_ms;
}

/* j is another afterwards. */
static int put(struct engine *e, const struct job *j, const struct recurrence *r)
{
    struct buf payload = { 0 };
    struct job_image image;
    int err;

    recurrence_encode(&payload, r);
    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.payload = buf_view(&payload);
    image.at_ms = wake_ms(r);
    if (r->next_ms >= 0)
        image.due_ms = r->next_ms;
    err = payload.failed ? engine_plain(e, BELFRY_NOMEM) : emit_put(e, &image);
    buf_fini(&payload);
    return err;
}

/* ---- When ---- */

static int rule_of(struct engine *e, struct str name, const struct recurrence *r,
                   struct recur **ret)
{
    struct rule_error error = { 0, "out of memory" };
    struct recur_spec spec = {
        .kind = r->kind,
        .text = r->rule,
        .start_ms = r->start_ms,
        .seed = XXH3_64bits_withSeed(name.ptr, name.len, XXH3_64bits(r->queue.ptr, r->queue.len)),
        .exdate = r->exdate,
        .rdate = r->rdate,
    };
    const char *why = "this engine knows none";
    int err = BELFRY_INVALID;

    if (e->o.zone)
        err = e->o.zone(e->o.journal, r->zone, &spec.zone, &why);
    if (err)
        return engine_error(e, err == BELFRY_NOTFOUND ? BELFRY_INVALID : err, "tz: %s", why);
    err = recur_new(&spec, ret, &error);
    return err ? engine_error(e, err, "%s", error.text) : 0;
}

/* -1: never again, or not to be found out. */
static int64_t next_after(const struct recur *rule, int64_t ms, struct recur_state *state)
{
    struct recur_occurrence o;

    return recur_next(rule, ms, state, &o) == 1 ? o.at_ms : -1;
}

/* ---- Occurrences ---- */

/* Makes one. LIMIT: its tenant has too many jobs. */
static int make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                bool by_hand)
{
    struct job_id id = { nominal_ms, e->o.partition, e->next_seq };
    struct job_image image = {
        .seq = id.seq,
        .born_ms = nominal_ms,
        .state = JOB_SCHEDULED,
        .priority = r->priority,
        .due_ms = nominal_ms,
        .at_ms = nominal_ms > e->now_ms ? nominal_ms : e->now_ms,
        .queue = r->queue,
        .payload = r->payload,
    };
    struct ledger_entry entry = { .outcome = LEDGER_OPEN,
                                  .nominal_ms = nominal_ms,
                                  .upto_ms = nominal_ms,
                                  .count = 1,
                                  .by_hand = by_hand,
                                  .id = id,
                                  .ended_ms = nominal_ms };
    struct buf *opts = &e->scratch;
    int err = tenant_refuses(e, queue_find(e, r->queue), r->queue);

    if (err)
        return err;
    if (ledger_open(r) == LEDGER_MAX)
        return engine_error(e, BELFRY_FULL, "%d occurrences of it have not ended", LEDGER_MAX);
    opts->len = 0;
    wire_put_zigzag(opts, e->now_ms - nominal_ms);
    buf_str(opts, r->opts);
    opts_put_id(opts, OPT_LISTENER, job_id_of(e, j));
    wire_put_u8(opts, OPT_NOMINAL);
    wire_put_varint(opts, (uint64_t)nominal_ms);
    wire_put_bytes(opts, name_of(j));
    image.opts = buf_view(opts);
    if (opts->failed) {
        opts->failed = false;
        return engine_plain(e, BELFRY_NOMEM);
    }
    err = emit_put(e, &image);
    if (err)
        return err;
    COUNT(e, queue_find(e, r->queue), scheduled);
    ledger_add(r, &entry);
    return 0;
}

/* The same by the rule: what cannot be made is skipped. NOMEM only. */
static int make_or_skip(struct engine *e, const struct job *j, struct recurrence *r,
                        int64_t nominal_ms)
{
    int err = make(e, j, r, nominal_ms, false);

    if (err == BELFRY_LIMIT)
        ledger_skip(r, nominal_ms, LEDGER_LIMIT);
    else if (err == BELFRY_FULL)
        ledger_skip(r, nominal_ms, LEDGER_CROWD);
    return err == BELFRY_NOMEM ? err : 0;
}

static void enqueue(struct recurrence *r, int64_t nominal_ms)
{
    if (r->queued++ == 0)
        r->queued_ms = nominal_ms;
}

/* About r->next_ms, whose time has come. *ret_makes: it is to be made. */
static void decide(const struct engine *e, struct recurrence *r, int64_t following, bool *ret_makes)
{
    int64_t nominal = r->next_ms;
    bool missed = e->now_ms - nominal > MISSED_MS;
    size_t open = ledger_open(r);

    if (missed && r->skip_ms < nominal && r->catchup != CATCHUP_ALL && r->queued == 0) {
        r->skip_ms = e->now_ms; /* all of them: a part of the missed ones may be fresh */
        r->skip_why = LEDGER_MISSED;
    }
    if (nominal <= r->skip_ms) {
        bool last = following < 0 || following > r->skip_ms;

        if (!last || r->skip_why != LEDGER_MISSED || r->catchup != CATCHUP_LAST) {
            ledger_skip(r, nominal, r->skip_why);
            return;
        }
    }
    /* Behind one that waits for its turn all do. */
    if (r->queued > 0 ||
        (open > 0 && (r->overlap == OVERLAP_QUEUE || (missed && r->catchup == CATCHUP_ALL))))
        enqueue(r, nominal);
    else if (open > 0 && r->overlap == OVERLAP_SKIP && !MUTANT(e->o.mutant, OVERLAP_IGNORED))
        ledger_skip(r, nominal, LEDGER_OVERLAP);
    else
        *ret_makes = true;
}

/* Decides about nominal times until one is made, and writes all that down. */
static int fire(struct engine *e, const struct job *j, struct recurrence *r,
                const struct recur *rule)
{
    bool whole = e->whole, makes = false;
    int err = 0;

    e->whole = true;
    for (int i = 0; i < DECIDE_SLICE && r->next_ms >= 0 && r->next_ms <= e->now_ms && !makes; i++) {
        int64_t nominal = r->next_ms;
        int64_t following = next_after(rule, nominal, &r->state);

        decide(e, r, following, &makes);
        if (makes)
            err = make_or_skip(e, j, r, nominal);
        if (err)
            break;
        r->last_ms = nominal;
        r->next_ms = following;
    }
    if (!err) {
        err = put(e, j, r);
        e->torn = e->torn || (err && makes);
    }
    e->whole = whole;
    if (!err && !whole)
        commit_roll(e);
    return err;
}

int recurrence_fire(struct engine *e, struct job *j)
{
    struct recurrence r;
    struct recur *rule;
    int err;

    if (!read(e, j, &r) || wake_ms(&r) > e->now_ms) { /* the clock was set back, or it is damaged */
        job_unplace(e, j);
        j->timer.at_ms = j->timer.at_ms <= e->now_ms ? AT_NEVER : j->timer.at_ms;
        job_place(e, j, JOB_SCHEDULED);
        return 1;
    }
    err = rule_of(e, name_of(j), &r, &rule);
    if (err == BELFRY_NOMEM)
        return err;
    if (err) { /* its zone is gone from the system: it is looked at again every minute */
        job_unplace(e, j);
        j->timer.at_ms = e->now_ms + MISSED_MS;
        job_place(e, j, JOB_SCHEDULED);
        return 1;
    }
    err = fire(e, j, &r, rule);
    recur_free(rule);
    return err ? err : 1;
}

/* The first of those that wait for their turn, if it has come. */
static int make_queued(struct engine *e, const struct job *j, struct recurrence *r)
{
    struct recur_state state = { 0 };
    struct recur *rule;
    int err;

    if (r->queued == 0 || ledger_open(r) > 0 || r->paused)
        return 0;
    err = make_or_skip(e, j, r, r->queued_ms);
    if (err || --r->queued == 0)
        return err;
    err = rule_of(e, name_of(j), r, &rule);
    if (err)
        return err;
    r->queued_ms = next_after(rule, r->queued_ms, &state);
    recur_free(rule);
    return 0;
}

static enum ledger_outcome outcome_of(enum job_state state)
{
    switch (state) {
    case JOB_DONE: return LEDGER_RAN;
    case JOB_DEAD: return LEDGER_FAILED;
    case JOB_EXPIRED: return LEDGER_EXPIRED;
    default: return LEDGER_CANCELLED;
    }
}

int recurrence_told(struct engine *e, struct job *j, const struct job *ended)
{
    bool whole = e->whole;
    struct recurrence r;
    size_t i = 0;
    int err;

    if (!read(e, j, &r))
        return 0;
    while (i < r.ledger_count &&
           (r.ledger[i].id.seq != ended->seq || r.ledger[i].outcome != LEDGER_OPEN))
        i++;
    if (i == r.ledger_count)
        return 0;
    r.ledger[i].outcome = outcome_of((enum job_state)ended->state);
    r.ledger[i].ended_ms = ended->trail->ended_ms;
    r.totals[LEDGER_OPEN]--;
    r.totals[r.ledger[i].outcome]++;
    e->whole = true;
    err = make_queued(e, j, &r);
    if (!err)
        err = put(e, j, &r);
    if (err == BELFRY_NOMEM)
        e->torn = true;
    e->whole = whole;
    if (!err && !whole)
        commit_roll(e);
    return err;
}

/* ---- Requests ---- */

static void queue_name_of(struct str tenant, char buf[QUEUE_MAX_BYTES], struct str *ret)
{
    *ret = STR(RECURRENCE_QUEUE);
    if (str_eq(tenant, STR(TENANT_DEFAULT)))
        return;
    memcpy(buf, tenant.ptr, tenant.len);
    buf[tenant.len] = SCOPE_SEP;
    memcpy(buf + tenant.len + 1, ret->ptr, ret->len);
    *ret = (struct str){ buf, tenant.len + 1 + ret->len };
}

/* NULL with NOTFOUND, COLD or NOMEM. */
static struct job *find(struct engine *e, struct str tenant, struct str name, bool take,
                        int *ret_err)
{
    char buf[QUEUE_MAX_BYTES];
    struct str full;
    struct queue *q;

    queue_name_of(tenant, buf, &full);
    *ret_err = BELFRY_NOTFOUND;
    q = queue_find(e, full);
    if (q) {
        struct job *j = key_seek(e, q, (struct str){ 0 }, name, take, ret_err);

        if (j)
            return j;
    }
    if (*ret_err == BELFRY_NOTFOUND)
        engine_error(e, BELFRY_NOTFOUND, "there is no recurrence %.*s", STR_ARG(name));
    return NULL;
}

static void view_of(const struct engine *e, const struct job *j, struct recurrence_view *ret)
{
    struct job_opts o;

    job_opts_get(j, &o);
    ret->name = o.key;
    ret->created_ms = o.created_ms;
    ret->damaged = !read(e, j, &ret->r);
    ret->open = ret->damaged ? 0 : ledger_open(&ret->r);
}

int engine_recurrence_get(struct engine *e, struct str tenant, struct str name,
                          struct recurrence_view *ret)
{
    int err;
    const struct job *j = find(e, tenant, name, false, &err);

    if (!j)
        return err;
    view_of(e, j, ret);
    return 0;
}

static bool same_rule(const struct recurrence *a, const struct recurrence *b)
{
    return a->kind == b->kind && str_eq(a->rule, b->rule) && str_eq(a->zone, b->zone) &&
           str_eq(a->exdate, b->exdate) && str_eq(a->rdate, b->rdate) && a->start_ms == b->start_ms;
}

static bool same(const struct recurrence *a, const struct recurrence *b)
{
    return same_rule(a, b) && a->catchup == b->catchup && a->overlap == b->overlap &&
           str_eq(a->queue, b->queue) && a->priority == b->priority && str_eq(a->opts, b->opts) &&
           str_eq(a->payload, b->payload);
}

/* Its life so far goes on under the new rule. */
static void inherit(struct recurrence *r, const struct recurrence *old, int64_t now_ms)
{
    r->paused = old->paused;
    r->revision = old->revision + 1;
    r->edited_ms = now_ms;
    r->last_ms = old->last_ms;
    memcpy(r->totals, old->totals, sizeof(r->totals));
    r->ledger_count = old->ledger_count;
    memcpy(r->ledger, old->ledger, sizeof(r->ledger));
    for (uint64_t i = 0; i < old->queued; i++)
        ledger_skip(r, old->queued_ms, LEDGER_EDITED);
}

/* The first nominal time after the edit and after the last one that was decided about. */
static int set_next(struct engine *e, struct str name, struct recurrence *r)
{
    int64_t after = e->now_ms - 1 > r->last_ms ? e->now_ms - 1 : r->last_ms;
    struct recur *rule;
    int err = rule_of(e, name, r, &rule);

    if (err)
        return err;
    r->state = (struct recur_state){ 0 };
    r->next_ms = next_after(rule, after, &r->state);
    recur_free(rule);
    if (r->next_ms < 0)
        return engine_error(e, BELFRY_INVALID, "the rule has no occurrence after now");
    return 0;
}

static int put_new(struct engine *e, struct str queue, struct str name, const struct recurrence *r)
{
    struct buf payload = { 0 };
    struct job_image image = {
        .seq = e->next_seq,
        .born_ms = r->next_ms,
        .state = JOB_SCHEDULED,
        .priority = 1,
        .due_ms = r->next_ms,
        .at_ms = r->next_ms,
        .queue = queue,
    };
    int err;

    recurrence_encode(&payload, r);
    e->scratch.len = 0;
    job_opts_put(
        &e->scratch,
        &(struct job_opts){
            .created_ms = e->now_ms, .key = name, .attempts = -1, .lease_ms = -1, .retain_ms = -1 },
        r->next_ms);
    image.opts = buf_view(&e->scratch);
    image.payload = buf_view(&payload);
    err = payload.failed || e->scratch.failed ? engine_plain(e, BELFRY_NOMEM) : emit_put(e, &image);
    e->scratch.failed = false;
    buf_fini(&payload);
    return err;
}

/* The options of the jobs that it makes, without what stands first there. */
static int template_of(struct engine *e, const struct job_spec *s, struct buf *out)
{
    spec_opts(out, s, 0);
    return out->failed ? engine_plain(e, BELFRY_NOMEM) : 0;
}

static int check_recurrence(struct engine *e, const struct recurrence_spec *s)
{
    if (!name_valid(s->name))
        return engine_error(e, BELFRY_INVALID,
                            "name: expected 1-128 characters of A-Z a-z 0-9 . _ - : /");
    if (s->job.payload.len + s->rule.len + s->exdate.len + s->rdate.len > RECURRENCE_BYTES / 2)
        return engine_error(e, BELFRY_TOOLARGE, "payload and rule: together at most %d bytes",
                            RECURRENCE_BYTES / 2);
    return spec_check(e, queue_find(e, s->job.queue), &s->job);
}

static int recur(struct engine *e, const struct recurrence_spec *s, struct str opts)
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
    struct str full;
    struct job *j;
    int err;

    queue_name_of(s->tenant, buf, &full);
    j = find(e, s->tenant, s->name, true, &err);
    if (!j && err != BELFRY_NOTFOUND)
        return err;
    if (j && !read(e, j, &old))
        return engine_error(e, BELFRY_CORRUPT, "what is stored of it cannot be read: delete it");
    r.start_ms = s->start_ms >= 0 ? s->start_ms
                 : j              ? old.start_ms
                                  : (e->now_ms + 999) / 1000 * 1000;
    if (j && same(&r, &old))
        return 0;
    if (j)
        inherit(&r, &old, e->now_ms);
    err = set_next(e, s->name, &r);
    if (err)
        return err;
    return j ? put(e, j, &r) : put_new(e, full, s->name, &r);
}

int engine_recur(struct engine *e, const struct recurrence_spec *s)
{
    struct buf opts = { 0 };
    int err = check_recurrence(e, s);

    if (!err && e->refuse_new)
        err = engine_plain(e, BELFRY_FULL);
    if (!err)
        err = template_of(e, &s->job, &opts);
    if (!err)
        err = recur(e, s, (struct str){ opts.ptr + 1, opts.len - 1 });
    buf_fini(&opts);
    return err;
}

int engine_recurrence_pause(struct engine *e, struct str tenant, struct str name, bool pause)
{
    struct recurrence r;
    int err;
    const struct job *j = find(e, tenant, name, true, &err);

    if (!j)
        return err;
    if (!read(e, j, &r) || r.paused == pause)
        return 0;
    r.paused = pause;
    if (!pause && r.next_ms >= 0 && r.next_ms <= e->now_ms) {
        r.skip_ms = e->now_ms;
        r.skip_why = LEDGER_PAUSED;
    }
    return put(e, j, &r);
}

int engine_recurrence_run(struct engine *e, struct str tenant, struct str name, struct job_id *ret)
{
    struct recurrence r;
    int64_t nominal = e->now_ms;
    bool whole = e->whole;
    int err;
    const struct job *j = find(e, tenant, name, true, &err);

    if (!j)
        return err;
    if (e->refuse_new)
        return engine_plain(e, BELFRY_FULL);
    if (!read(e, j, &r))
        return engine_error(e, BELFRY_CORRUPT, "what is stored of it cannot be read: delete it");
    for (size_t i = 0; i < r.ledger_count; i++) /* two in one millisecond are two */
        if (r.ledger[i].by_hand && r.ledger[i].nominal_ms >= nominal)
            nominal = r.ledger[i].nominal_ms + 1;
    e->whole = true;
    err = make(e, j, &r, nominal, true);
    if (!err) {
        *ret = r.ledger[r.ledger_count - 1].id;
        err = put(e, j, &r);
        e->torn = e->torn || err;
    }
    e->whole = whole;
    if (!err && !whole)
        commit_roll(e);
    return err;
}

int engine_recurrence_delete(struct engine *e, struct str tenant, struct str name)
{
    int err;
    const struct job *j = find(e, tenant, name, true, &err);

    if (!j)
        return err;
    return emit_end(e, &(struct end_record){ .seq = j->seq,
                                             .state = JOB_CANCELLED,
                                             .ended_ms = e->now_ms,
                                             .keep_ms = e->now_ms,
                                             .outcome = OUTCOME_NONE });
}

struct listing {
    const struct engine *e;
    int (*fn)(void *arg, const struct recurrence_view *v);
    void *arg;
};

static int list_one(void *arg, const struct job_view *v)
{
    struct listing *l = arg;
    struct recurrence_view view = { .name = v->key, .created_ms = v->created_ms };

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
    struct list_filter f = { .state = -1, .to_ms = INT64_MAX, .limit = limit };

    queue_name_of(tenant, buf, &f.queue);
    return engine_list(e, &f, list_one, &l, cursor);
}
