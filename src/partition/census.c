/* SPDX-License-Identifier: MIT */
/* The part of a census that blocks: rules are asked for their times, and family D is read. */
#include "partition/times.h"

#include <stdlib.h>

#include "partition/internal.h"
#include "record/image.h"
#include "record/opts.h"
#include "record/record.h"

#define ROUND_COST  200000 /* of rules in a round; some hundred milliseconds at most */
#define FOUND_BYTES ((size_t)1 << 20)

/* ---- Rules ---- */

/* From this moment on, times of a rule are not counted. */
static void census_stops(struct census *c, int64_t at_ms)
{
    size_t step = at_ms < c->ask.from_ms ? 0 : census_step(&c->ask, at_ms);

    if (step < c->partial)
        c->partial = step;
}

/* Multiples of `every` from a moment on that are before another moment. */
static uint64_t times_before(int64_t first_ms, int64_t every_ms, int64_t ms)
{
    return ms <= first_ms ? 0 : (uint64_t)((ms - first_ms - 1) / every_ms + 1);
}

/* The times of EVERY are counted without going through them. */
static bool count_every(struct census *c, const struct census_rule *r)
{
    const struct census_ask *a = &c->ask;
    int64_t every_ms, first_ms = r->next_ms;
    const char *why;

    if (r->spec.kind != RECUR_EVERY || r->spec.exdate.len > 0 || r->spec.rdate.len > 0 ||
        time_parse_duration(r->spec.text, &every_ms, &why) < 0 || every_ms <= 0)
        return false;
    if (r->from_ms > first_ms)
        first_ms += (r->from_ms - first_ms + every_ms - 1) / every_ms * every_ms;
    for (size_t i = 0; i < a->n; i++) {
        int64_t from_ms = a->from_ms + (int64_t)i * a->step_ms;
        int64_t to_ms = a->to_ms - from_ms > a->step_ms ? from_ms + a->step_ms : a->to_ms;

        c->recurring[i] +=
            times_before(first_ms, every_ms, to_ms) - times_before(first_ms, every_ms, from_ms);
    }
    return true;
}

static void count_times(struct census *c, const struct recur *recur, struct census_rule *r)
{
    int64_t at_ms = r->from_ms > c->ask.from_ms ? r->from_ms : c->ask.from_ms;
    struct recur_occurrence o;
    int is;

    r->state.most = CENSUS_RULE_COST;
    r->state.cost = 0;
    at_ms--;
    while ((is = recur_next(recur, at_ms, &r->state, &o)) == 1 && o.at_ms < c->ask.to_ms) {
        c->recurring[census_step(&c->ask, o.at_ms)]++;
        at_ms = o.at_ms;
    }
    if (is < 0)
        census_stops(c, at_ms + 1);
}

/* Returns the cost. */
static uint64_t count_rule(struct census *c, struct zonecache *zones, struct census_rule *r)
{
    struct rule_error error;
    struct recur *recur;
    const char *why;

    if (count_every(c, r))
        return c->ask.n;
    if (zonecache_get(zones, ZONEDIR_DEFAULT, r->zone, &r->spec.zone, &why) < 0 ||
        recur_new(&r->spec, &recur, &error) < 0) {
        census_stops(c, r->from_ms);
        return 1;
    }
    count_times(c, recur, r);
    recur_free(recur);
    return r->state.cost;
}

static void count_rules(struct census *c, uint16_t partition)
{
    struct zonecache zones = { 0 };
    uint64_t cost = 0;
    struct census_rule r;

    if (c->rules.len == c->rules_at) /* there may be no buffer at all */
        return;
    struct str rest = { c->rules.ptr + c->rules_at, c->rules.len - c->rules_at };
    struct wire_reader in = wire_reader_of(rest);
    while (in.p < in.end && !in.bad && cost < ROUND_COST) {
        if (c->ask.times) {
            cost += times_rule_count(c, &zones, &in, partition);
            continue;
        }
        if (!census_rule_get(&in, &r)) { /* memory ran out when it was written: see census.lacks */
            in.p = in.end;
            break;
        }
        cost += count_rule(c, &zones, &r);
    }
    if (in.bad) {
        c->partial = 0;
        in.p = in.end;
    }
    c->rules_at = c->rules.len - (size_t)(in.end - in.p);
    zonecache_fini(&zones);
}

/* ---- Family D ---- */

/* Notes a recurrence; the engine decides whether its entry counts. */
static void find_rule(struct census *c, const struct run_entry *e, struct cold_point p,
                      uint16_t partition)
{
    struct buf rule = { 0 };
    struct job_image image;
    struct recurrence r;
    struct job_opts o;

    bool counts = record_get_job(e->value, &image) &&
                  recurrence_decode(image.payload, partition, &r) &&
                  (c->ask.times || census_rule_counts(&r)) && census_has(c, r.queue);
    if (counts)
        job_opts_read(image.opts, image.born_ms, &o);
    if (counts && c->ask.times)
        times_put(&rule, &c->ask, image.seq, o.key, &r);
    else if (counts)
        census_rule_put(&rule, o.key, &r);
    else if (!c->ask.times) /* else the engine counts that it was met */
        return;
    wire_put_zigzag(&c->found, p.at_ms);
    wire_put_varint(&c->found, p.seq);
    wire_put_bytes(&c->found, buf_view(&rule));
    c->found.failed = c->found.failed || rule.failed;
    buf_fini(&rule);
}

static void census_entry(struct census *c, const struct run_entry *e, struct cold_point p,
                         const struct partition *part)
{
    struct str full, tenant, queue;
    unsigned state;
    int64_t at_ms;

    if (e->grave || !record_peek_job(e->value, &state, &at_ms, &full))
        return;
    scope_split(full, &tenant, &queue);
    enum hidden hidden = hidden_kind(queue);
    if (hidden == HIDDEN_RECURRENCE)
        find_rule(c, e, p, part->o.number);
    else if (hidden == HIDDEN_NONE && !c->ask.times && at_ms == p.at_ms &&
             p.at_ms >= c->ask.from_ms && census_has(c, full))
        c->points[c->point_count++] = p; /* else it waits for other jobs */
}

static int read_round(struct census *c, struct run_merge *m, const struct partition *part)
{
    size_t most = partition_slice(part, CENSUS_PAGE);
    int err = 0;

    for (size_t n = 0; m->now && !err; n++) {
        const struct run_entry *e = &m->now->entry;
        struct cold_point p;

        if (e->key.len > COLD_KEY_MAX || !cold_key_point(e->key, &p) ||
            (p.at_ms >= c->disk_to_ms && c->disk_to_ms < INT64_MAX)) {
            c->disk_done = true;
            return 0;
        }
        if (n == most || c->found.len >= FOUND_BYTES)
            return 0;
        c->after.len = e->key.len;
        memcpy(c->after.bytes, e->key.ptr, e->key.len);
        census_entry(c, e, p, part);
        err = run_merge_next(m);
    }
    c->disk_done = !m->now;
    return err;
}

/* A block that cannot be read may have jobs of any step. */
static void note_damage(struct census *c, const struct run_merge *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->cursors[i].damaged > 0)
            c->partial = 0;
}

static int read_due(struct partition *p, struct census *c)
{
    struct run **runs = calloc(c->run_count + 1, sizeof(struct run *));
    struct str after = cold_key_str(&c->after);
    struct run_merge m = { 0 };
    size_t n = 0;
    int err = runs ? 0 : BELFRY_NOMEM;

    for (size_t i = 0; i < c->run_count && !err; i++)
        if (str_compare(c->runs[i]->d.last, after) > 0)
            err = cold_open(p, c->runs[i], &runs[n++]);
    if (!err)
        err = run_merge_init(&m, runs, n, after, true);
    if (!err)
        err = read_round(c, &m, p);
    note_damage(c, &m);
    run_merge_fini(&m);
    free(runs);
    return err;
}

int census_run(struct fetch *f)
{
    struct census *c = f->answer.census;

    count_rules(c, f->p->o.number);
    return c->disk_done ? 0 : read_due(f->p, c);
}
