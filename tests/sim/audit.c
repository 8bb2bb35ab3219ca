/* SPDX-License-Identifier: MIT */
/* Entries of the audit log. The model numbers them. The log may lose its oldest entries beyond
 * audit_max, and no others, wherever they are. */
#include "engine/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/steps.h"

#define TRIMMED 63 /* entries that go at least, where many more than audit_max are in memory */
#define PARTS   16 /* a merge may drop the excess and one part in 16 of audit_max */

struct audit_seen {
    const struct model *m;
    uint64_t count;
    uint64_t others;          /* shown entries that are older than the last MODEL_AUDITS */
    bool there[MODEL_AUDITS]; /* which of the last MODEL_AUDITS entries were shown, by number */
};

/* Whether the time of an entry may be over, by the latest moment that the clock ever showed. */
static bool audit_is_over(const struct world *w, uint64_t n)
{
    return w->model.audit_at_ms[n % MODEL_AUDITS] + AUDIT_KEEP_MS <= w->wall_high_ms;
}

static int audit_note(void *arg, const struct audit_entry *a)
{
    struct audit_seen *s = arg;
    char text[24] = "";

    memcpy(text, a->request.ptr, a->request.len < 23 ? a->request.len : 23);
    uint64_t n = strtoull(text, NULL, 10);
    CHECK(n < s->m->audits, "the audit log has an entry %" PRIu64 " that was not made", n);
    if (n + MODEL_AUDITS >= s->m->audits) {
        CHECK(!s->there[n % MODEL_AUDITS], "the audit log has entry %" PRIu64 " twice", n);
        CHECK(a->at_ms == s->m->audit_at_ms[n % MODEL_AUDITS],
              "entry %" PRIu64 " has moment %" PRId64, n, a->at_ms);
        s->there[n % MODEL_AUDITS] = true;
    } else {
        s->others++;
    }
    s->count++;
    return 0;
}

/* An entry that is gone was older than all that are there, by number or by moment. After a clock
 * was set back, either order is right. Such a clock may also bring back entries whose time was
 * over. */
static void judge_order(const struct world *w, const struct audit_seen *s)
{
    const struct model *m = s->m;
    uint64_t first = m->audits > MODEL_AUDITS ? m->audits - MODEL_AUDITS : 0;

    for (uint64_t gone = first; gone < m->audits; gone++) {
        if (s->there[gone % MODEL_AUDITS] || audit_is_over(w, gone))
            continue;
        for (uint64_t old = first; old < gone; old++)
            CHECK(!s->there[old % MODEL_AUDITS] || audit_is_over(w, old) ||
                      m->audit_at_ms[old % MODEL_AUDITS] > m->audit_at_ms[gone % MODEL_AUDITS],
                  "the audit log has entry %" PRIu64 " and lost the younger %" PRIu64, old, gone);
    }
}

/* An entry that is gone before its time made room for others. When it went, there were as many
 * other entries as there may be. These were younger by number or by moment, or their time was over,
 * and they counted until a merge. */
static void judge_gone(const struct world *w, const struct audit_seen *s)
{
    const struct model *m = s->m;
    uint64_t first = m->audits > MODEL_AUDITS ? m->audits - MODEL_AUDITS : 0;
    uint64_t max = w->options.audit_max, least = max - max / PARTS;

    for (uint64_t gone = first; gone < m->audits; gone++) {
        uint64_t younger = s->others; /* by moment, at best */

        if (s->there[gone % MODEL_AUDITS] || audit_is_over(w, gone))
            continue;
        for (uint64_t n = first; n < m->audits; n++)
            younger += n > gone || audit_is_over(w, n) ||
                       m->audit_at_ms[n % MODEL_AUDITS] > m->audit_at_ms[gone % MODEL_AUDITS];
        CHECK(max && younger >= least,
              "the audit log lost entry %" PRIu64 ", though only %" PRIu64 " are younger", gone,
              younger);
    }
}

static void judge_audits(struct world *w)
{
    struct audit_seen s = { .m = &w->model };
    size_t limit = rng_chance(&w->rng, 50) ? (size_t)rng_between(&w->rng, 1, 20) : 1000;
    struct audit_filter f = { STR("*"), 0, INT64_MAX, limit };
    struct list_cursor cursor = { 0 };
    struct look look = { .partition = w->partition };
    uint64_t disk;
    bool paused = plan_pause(w, true);

    do
        CHECK(look_audits(&look, &f, audit_note, &s, &cursor) == 0, "AUDIT answers an error");
    while (cursor.more);
    look_end(&look);
    plan_pause(w, paused);
    CHECK(engine_audit_count(w->engine, &disk) >= s.count, "AUDIT shows %" PRIu64 " entries",
          s.count);
    judge_order(w, &s);
    judge_gone(w, &s);
}

void step_audit(struct world *w)
{
    char request[24];
    struct model *m = &w->model;
    uint64_t max = w->options.audit_max;

    judge_audits(w);
    for (int64_t n = rng_between(&w->rng, 1, 8); n > 0; n--) {
        uint64_t disk, before = engine_audit_count(w->engine, &disk), after;

        snprintf(request, sizeof(request), "%" PRIu64, m->audits);
        int err = engine_audit(w->engine, &(struct audit_entry){ .tenant = STR("t"),
                                                                 .verb = STR("PAUSE"),
                                                                 .request = str_of(request) });
        trace_note("audit entry %s: %s", request, err ? error_name(err) : "ok");
        CHECK(err == 0, "an entry of the audit log answers %s", error_name(err));
        after = engine_audit_count(w->engine, &disk);
        CHECK(!max || after <= max || disk > 0 || before >= after + TRIMMED,
              "the audit log has %" PRIu64 " entries in memory", after);
        m->audit_at_ms[m->audits++ % MODEL_AUDITS] = engine_now(w->engine);
        m->changes++;
    }
    world_answer(w, "the audited request");
}
