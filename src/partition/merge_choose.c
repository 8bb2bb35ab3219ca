/* SPDX-License-Identifier: MIT */
/*
 * Which runs are merged, so that a lookup reads few of them:
 *
 *     D           eight runs of all times are split into stretches of time;
 *                 eight runs of one stretch become one
 *     B A L P X   eight runs of about one size become one
 *
 * A run of history whose time is over is not merged. It is counted and dropped whole.
 */
#include "engine/audit.h"
#include "partition/internal.h"

#define UNHURRIED     16 /* While batches are written, there may be so many times as many runs. */
#define UNHURRIED_L   4  /* The locator may have fewer: each new key is looked up in all of them. */
#define QUIET_MS      2000 /* So long after the last batch none is being written. */
#define LOOK_MS       1000 /* between two looks at runs that have not changed */
#define HISTORY_PARTS 16   /* One part goes, when the history is beyond its size. */
#define HOUR_MS       INT64_C(3600000)
#define DAY_MS        (24 * HOUR_MS)

int64_t merge_stretch(int64_t at_ms, int64_t now_ms)
{
    int64_t ahead = at_ms - now_ms;
    int64_t length = ahead < 2 * DAY_MS      ? HOUR_MS
                     : ahead < 60 * DAY_MS   ? DAY_MS
                     : ahead < 1200 * DAY_MS ? 30 * DAY_MS
                                             : INT64_MAX;

    return length == INT64_MAX ? INT64_MAX : at_ms - at_ms % length;
}

struct group {
    char family;
    int64_t group;
    int64_t now_ms;
    uint64_t small; /* bytes; runs below this size are alike */
    uint64_t most;  /* bytes of a run of done and cancelled jobs, which goes as a whole */
};

static unsigned size_tier(const struct cold_run *r, uint64_t small)
{
    unsigned tier = 0;

    for (uint64_t times = r->d.bytes / small; times; times >>= 3)
        tier++;
    return tier;
}

/* Runs that may be merged with each other have equal groups. */
static int64_t group_of(const struct cold_run *r, const struct group *g)
{
    struct cold_point first = { 0, 0 };

    if (r->d.family != FAMILY_DUE)
        return size_tier(r, g->small);
    cold_key_point(r->d.first, &first);
    return r->d.split ? merge_stretch(first.at_ms, g->now_ms) : -1;
}

static bool is_free(const struct cold_run *r)
{
    return !r->busy && !r->unreadable && !r->d.broken;
}

static bool in_group(void *arg, const struct cold_run *r)
{
    const struct group *g = arg;

    return is_free(r) && r->d.family == g->family && group_of(r, g) == g->group &&
           (g->family != FAMILY_PAST || r->d.bytes <= g->most);
}

static size_t count_group(struct partition *p, struct group *g)
{
    const struct cold_run *r;
    size_t n = 0;

    each_run (r, engine_runs(p->engine))
        n += in_group(g, r);
    return n;
}

/* A user who schedules many jobs should not wait for merges, which can be made later. */
static bool is_busy(const struct partition *p, int64_t now_ms)
{
    int64_t since = now_ms - p->last_fed_ms;

    return p->chores[CHORE_FEED].feed.state != FEED_IDLE || (since >= 0 && since < QUIET_MS);
}

/* A group that is worth merging. */
static bool find_group(struct partition *p, struct group *ret)
{
    const struct cold_run *r;

    ret->now_ms = engine_now(p->engine);
    ret->small = 1 + p->o.piece_bytes / 16;
    ret->most = p->o.history_disk_bytes / HISTORY_PARTS;
    bool busy = is_busy(p, ret->now_ms);
    each_run (r, engine_runs(p->engine)) {
        size_t enough = p->o.merge_runs;

        if (busy)
            enough *= r->d.family == FAMILY_LOCATOR ? UNHURRIED_L : UNHURRIED;
        ret->family = r->d.family;
        ret->group = group_of(r, ret);
        if (is_free(r) && count_group(p, ret) >= enough)
            return true;
    }
    return false;
}

/* Whether no entry of D counts, and all its runs can go at once. If one run stayed, it could have
 * jobs whose graves were in another. */
static bool due_is_empty(struct partition *p)
{
    const struct cold_run *r;

    if (!engine_due_is_empty(p->engine))
        return false;
    each_run (r, engine_runs(p->engine))
        if (r->d.family == FAMILY_DUE && !is_free(r))
            return false;
    return true;
}

/* Whether a run is no longer needed, though no other takes its place. */
static bool is_over(struct partition *p, const struct cold_run *r)
{
    struct cold_point last, frontier = engine_frontier(p->engine);
    int64_t now = engine_now(p->engine);

    if (!is_free(r))
        return false;
    switch (r->d.family) {
    case FAMILY_DUE:
        return (cold_key_point(r->d.last, &last) && !point_after(last, frontier)) ||
               due_is_empty(p);
    case FAMILY_BACKLOG: return engine_backlog_is_empty(p->engine);
    case FAMILY_ASIDE: return engine_aside_is_empty(p->engine);
    case FAMILY_LOCATOR: return r->d.gone_ms < now && r->d.gone_ms < frontier.at_ms;
    default: return r->d.gone_ms < now;
    }
}

/* The oldest run of done and cancelled jobs, if they are beyond their size on disk. */
static struct cold_run *beyond_cap(struct partition *p)
{
    struct cold_run *r, *oldest = NULL;
    uint64_t bytes = 0;

    each_run (r, engine_runs(p->engine)) {
        if (r->d.family == FAMILY_PAST && is_free(r) && r->d.graves < r->d.entries) {
            bytes += r->d.bytes;
            if (!oldest || r->d.number < oldest->d.number)
                oldest = r;
        }
    }
    return bytes > p->o.history_disk_bytes ? oldest : NULL;
}

/* Drops the runs that are over. Returns one that must be counted first. */
static struct cold_run *sweep(struct partition *p)
{
    struct buf drops = { 0 };
    struct cold_run *r, *history = beyond_cap(p);

    each_run (r, engine_runs(p->engine)) {
        if (!is_over(p, r))
            continue;
        if (family_is_history(r->d.family))
            history = history ? history : r;
        else
            wire_put_varint(&drops, r->d.file);
    }
    if (drops.len > 0 && !drops.failed) {
        engine_merged(p->engine, buf_view(&drops), (struct str){ 0 }, (struct str){ 0 });
        cold_note_gone(p);
    }
    buf_fini(&drops);
    return history;
}

/* A run of history that goes. If its time is over, all such runs of its family go with it. So jobs
 * go together with the graves that say that they were counted before. */
struct going {
    struct partition *p;
    const struct cold_run *run;
};

static bool is_going(void *arg, const struct cold_run *r)
{
    const struct going *g = arg;

    return r == g->run ||
           (r->d.family == g->run->d.family && is_over(g->p, g->run) && is_over(g->p, r));
}

/* ---- The audit log ---- */

#define AUDIT_PARTS 16 /* One part goes, when the audit log has too many entries on disk. */

/* How many entries of the audit log on disk are to go. Entries in memory are younger. The engine
 * forgets those when no entry is left on disk. */
static uint64_t audits_beyond(struct partition *p)
{
    uint64_t max = p->o.audit_max, disk, all = engine_audit_count(p->engine, &disk);
    uint64_t beyond;

    if (!max || all <= max || !disk)
        return 0;
    beyond = all - max + max / AUDIT_PARTS;
    return beyond < disk ? beyond : disk;
}

/* Whether a run may have entries of the audit log. */
static bool has_audits(void *arg, const struct cold_run *r)
{
    struct cold_key from;

    (void)arg;
    cold_key_audit(&from);
    return r->d.family == FAMILY_KEPT && is_free(r) &&
           (cold_is_audit(r->d.last) || str_compare(r->d.last, cold_key_str(&from)) > 0) &&
           (cold_is_audit(r->d.first) || str_compare(r->d.first, cold_key_str(&from)) < 0);
}

/* ---- History that gives way ---- */

static bool is_cut(void *arg, const struct cold_run *r)
{
    return r == ((const struct cut *)arg)->run;
}

/* A look takes time that grows with the number of runs, and there is one at every turn. */
static bool looked_just_now(struct partition *p)
{
    uint64_t changes = engine_run_changes(p->engine);
    int64_t now = engine_now(p->engine), since = now - p->merge_look_ms;

    if (changes == p->merge_changes && since >= 0 && since < LOOK_MS)
        return true;
    p->merge_changes = changes;
    p->merge_look_ms = now;
    return false;
}

bool merge_choose(struct partition *p, struct merge *m, int *ret_err)
{
    struct group g;

    if (looked_just_now(p))
        return false;
    struct cold_run *history = sweep(p);
    if (history) {
        m->expires = true;
        m->family = history->d.family;
        *ret_err = cold_pin(p, is_going, &(struct going){ p, history }, &m->inputs);
        return true;
    }
    m->audits = audits_beyond(p);
    if (m->audits) {
        m->family = FAMILY_KEPT;
        *ret_err = cold_pin(p, has_audits, NULL, &m->inputs);
        return true;
    }
    if (engine_cut(p->engine, &m->cut)) {
        m->family = FAMILY_PAST;
        *ret_err = cold_pin(p, is_cut, &m->cut, &m->inputs);
        return true;
    }
    if (!find_group(p, &g))
        return false;
    m->family = g.family;
    *ret_err = cold_pin(p, in_group, &g, &m->inputs);
    return true;
}
