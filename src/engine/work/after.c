/* SPDX-License-Identifier: MIT */
/* Jobs that wait for others. A waiting job names its parents among its options (AFTER), and each
 * parent names it (LISTENER). So both go to disk and come back with these facts, and no index is
 * needed. An ended job with listeners stays in memory until they have been told (task.c). Telling a
 * listener twice does no harm: it no longer waits then. */
#include "engine/work/work.h"

#include <assert.h>
#include <stdio.h>

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "record/name.h"
#include "record/opts.h"
#include "record/record.h"

static int no_parent(struct engine *e, struct job_id id)
{
    char text[ID_TEXT];

    id_format(id, text);
    return engine_error(e, BELFRY_NOTFOUND, "after: there is no job %.*s, or no longer", ID_TEXT,
                        text);
}

static int too_many(struct engine *e, struct job_id id)
{
    char text[ID_TEXT];

    id_format(id, text);
    return engine_error(e, BELFRY_LIMIT, "after: %d jobs wait for %.*s, no more may", LISTENERS_MAX,
                        ID_TEXT, text);
}

static int check_names(struct engine *e, const struct job_spec *s)
{
    if (s->after_count > AFTER_MAX)
        return engine_error(e, BELFRY_INVALID, "after: expected at most %d of them", AFTER_MAX);
    for (size_t i = 0; i < s->after_count; i++)
        for (size_t k = 0; k < i; k++)
            if (s->after[k].seq == s->after[i].seq)
                return engine_error(e, BELFRY_INVALID, "after: a job is named twice");
    return 0;
}

/* The state of a job, wherever it is. A job that has not ended comes to memory. NOTFOUND, NOMEM. */
static int parent_state(struct engine *e, struct job_id id)
{
    int state = job_asked_state(e, id);

    if (state >= 0 && !state_is_ended((unsigned)state)) {
        const struct job *j = job_seek(e, id, true, &state);

        state = j ? (int)j->state : state;
    }
    if (state != BELFRY_NOTFOUND)
        return state;
    /* In the middle of a batch all is known that the batch was checked with. So an item moved this
     * job to where it had expired, and it is forgotten. */
    return e->log.whole ? JOB_EXPIRED : no_parent(e, id);
}

static int check_parents(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                         struct job_id *ret_lost)
{
    for (size_t i = 0; i < s->after_count; i++) {
        int state = parent_state(e, s->after[i]);

        if (state < 0)
            return state;
        if (!state_is_ended((unsigned)state)) {
            if (job_listeners(job_of(e, s->after[i])) >= LISTENERS_MAX)
                return too_many(e, s->after[i]);
            ++*ret_waits;
        } else if (state != JOB_DONE && s->after_fail == AFTERFAIL_CANCEL &&
                   !MUTANT(e->o.mutant, PARENT_IGNORED)) {
            *ret_lost = s->after[i];
        }
    }
    return 0;
}

int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost)
{
    struct str scope = e->scope, queue;
    int err = check_names(e, s);

    *ret_waits = 0;
    *ret_lost = (struct job_id){ 0 };
    scope_split(s->queue, &e->scope, &queue); /* no job waits for another tenant's */
    if (!err)
        err = check_parents(e, s, ret_waits, ret_lost);
    e->scope = scope;
    return err;
}

void after_ask(struct engine *e, const struct job_spec *s)
{
    struct str scope = e->scope, queue;

    scope_split(s->queue, &e->scope, &queue);
    for (size_t i = 0; i < s->after_count && i < AFTER_MAX; i++)
        job_ask(e, s->after[i]);
    e->scope = scope;
}

/* The job of an id, if it has not ended. */
static struct job *parent_of(const struct engine *e, struct job_id id)
{
    struct job *j = job_of(e, id);

    return j && !state_is_ended(j->state) ? j : NULL;
}

int after_room(struct engine *e, const struct job_spec *specs, size_t i)
{
    size_t all = 0;

    for (size_t k = 0; k <= i; k++)
        all += specs[k].after_count;
    if (all > AFTERS_MAX)
        return engine_error(e, BELFRY_INVALID, AFTERS_RULE);
    for (size_t a = 0; a < specs[i].after_count; a++) {
        const struct job *j = parent_of(e, specs[i].after[a]);

        if (!j || (!j->heard && i < LISTENERS_MAX))
            continue;
        if (job_listeners(j) + (j->heard ? ear_of(j)->promised : i) >= LISTENERS_MAX)
            return too_many(e, specs[i].after[a]);
        if (j->heard)
            ear_of(j)->promised++;
    }
    return 0;
}

void after_promise_nothing(const struct engine *e, const struct job_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < specs[i].after_count; a++) {
            const struct job *j = parent_of(e, specs[i].after[a]);

            if (j && j->heard)
                ear_of(j)->promised = 0;
        }
}

void after_put(struct engine *e, struct buf *out, const struct job_spec *s)
{
    for (size_t i = 0; i < s->after_count; i++) {
        const struct job *j = job_of(e, s->after[i]);

        if (j && !state_is_ended(j->state))
            opts_put_id(out, OPT_AFTER, s->after[i]);
    }
    if (s->after_count > 0 && s->after_fail != AFTERFAIL_CANCEL) {
        wire_put_u8(out, OPT_AFTERFAIL);
        wire_put_varint(out, (uint64_t)s->after_fail);
    }
}

int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener)
{
    int err = 0;

    for (size_t i = 0; i < s->after_count && !err; i++) {
        const struct job *j = job_of(e, s->after[i]);

        if (j && !state_is_ended(j->state))
            err = emit_listen(e, &(struct listen_record){ j->seq, listener.due_ms, listener.seq });
    }
    return err;
}

bool after_waits(const struct job *j, const struct job *parent)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    while (job_is_waiting(j) && job_opt_next(&r, &o))
        if (o.type == OPT_AFTER && o.seq == parent->seq)
            return true;
    return false;
}

/* The job waits for one parent less. */
static int release_parent(struct engine *e, const struct job *j, uint64_t parent, bool last)
{
    int64_t at_ms = j->due_ms > e->now_ms || j->ordered ? j->due_ms : e->now_ms;

    return emit_released(e, &(struct released_record){ j->seq, parent, last ? at_ms : AT_NEVER });
}

#define LOST_BEFORE "the job "
#define LOST_BEHIND " that it waited for was not done"

int after_lost(struct engine *e, struct job *j, struct job_id parent)
{
    char text[ID_TEXT], why[96];

    id_format(parent, text);
    snprintf(why, sizeof(why), LOST_BEFORE "%.*s" LOST_BEHIND, ID_TEXT, text);
    return job_end(e, j, JOB_CANCELLED, OUTCOME_NONE, j->stalls, str_of(why), (struct str){ 0 });
}

bool after_lost_parent(const struct engine *e, struct str error, struct job_id *ret)
{
    const struct str before = STR(LOST_BEFORE), behind = STR(LOST_BEHIND);
    struct str id = { error.ptr + before.len, ID_TEXT };
    struct job_id parent;

    if (error.len != before.len + ID_TEXT + behind.len ||
        memcmp(error.ptr, before.ptr, before.len) != 0 ||
        memcmp(id.ptr + id.len, behind.ptr, behind.len) != 0 || !id_parse(id, &parent) ||
        parent.partition != e->o.partition)
        return false;
    *ret = parent;
    return true;
}

int after_told(struct engine *e, struct job *j, const struct job *ended)
{
    struct job_opts o;

    assert(state_is_ended(ended->state));
    if (!after_waits(j, ended)) /* it came to memory, and ended by that */
        return 0;
    if (job_is_over(e, j)) /* it came from disk just now */
        return job_expire(e, j);
    job_opts_get(j, &o);
    if (ended->state != JOB_DONE && o.after_fail == AFTERFAIL_CANCEL &&
        !MUTANT(e->o.mutant, PARENT_IGNORED))
        return after_lost(e, j, job_id_of(e, ended));
    return release_parent(e, j, ended->seq, o.afters == 1);
}
