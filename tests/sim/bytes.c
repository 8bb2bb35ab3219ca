/* SPDX-License-Identifier: MIT */
/* The limit of the bytes that are kept of a tenant: requests that add jobs meet it. The model does
 * not know what a job takes to the byte, but the judge compares the sums with all jobs. So the
 * engine's sums before and after a request say whether its answer is right. */
#include <inttypes.h>
#include <string.h>

#include "sim/judge.h"
#include "sim/schedule.h"

/* ENDED_BYTES is more than the end of a job adds to its bytes. WAIT_BYTES is more than a job that
 * waits adds to each job that it waits for. */
#define ENDED_BYTES 400
#define WAIT_BYTES  24

uint64_t bytes_kept(struct world *w, unsigned tenant)
{
    char text[TEXT_MAX];
    struct tenant_stats s;

    engine_tenant_stats(w->engine, text_make(TEXT_TENANT, tenant, text), &s);
    return s.kept_bytes;
}

void bytes_note(struct world *w)
{
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        w->kept_before[t] = bytes_kept(w, t);
}

static uint64_t most_of(const struct model_spec *s)
{
    struct model_job job = { .payload = s->payload, .labels = s->labels };

    return judge_most_bytes(&job);
}

/* Bytes that items may add besides their own. */
static uint64_t slack_of(const struct model_spec *s)
{
    return (s->after_count > 0 || s->expire_ms > 0 ? ENDED_BYTES : 0) + s->after_count * WAIT_BYTES;
}

/* The replacement of a leased job was refused, because leased jobs take much memory. */
static bool leased_judge(struct world *w, const struct model_spec *s, int err)
{
    bool leased = false;

    if (err != BELFRY_LIMIT || !strstr(engine_detail(w->engine), "leased"))
        return false;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];

        leased = leased || (job->state == JOB_LEASED && job->queue == s->queue && job->key > 0);
    }
    CHECK(leased && s->if_exists == IFEXISTS_REPLACE, "a job that is not leased counts as leased");
    cover_event(EVENT_LIMIT_LEASED);
    return true;
}

bool bytes_judge(struct world *w, const struct model_spec *specs, size_t n, int err)
{
    bool refused = err == BELFRY_LIMIT && strstr(engine_detail(w->engine), "max_bytes");

    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        uint64_t most = (uint64_t)w->model.tenants[t].max_bytes, before = w->kept_before[t];
        uint64_t adds = 0, slack = 0, kept = bytes_kept(w, t);

        for (size_t i = 0; i < n; i++) {
            if (tenants_of(specs[i].queue) != t)
                continue;
            adds += most_of(&specs[i]);
            slack += slack_of(&specs[i]);
        }
        if (refused && tenants_of(specs[n - 1].queue) == t)
            CHECK(most > 0 && before + adds > most,
                  "max_bytes of tenant %u is %" PRIu64 ", %" PRIu64
                  " are kept, and at most %" PRIu64 " more are refused",
                  t, most, before, adds);
        CHECK(!err || kept <= before || w->cold,
              "tenant %u has %" PRIu64 " bytes, and had %" PRIu64 " before a request was refused",
              t, kept, before);
        CHECK(err || most == 0 || kept <= before || kept <= most + slack,
              "max_bytes of tenant %u is %" PRIu64 ", and %" PRIu64 " are kept after %" PRIu64, t,
              most, kept, before);
    }
    if (refused)
        cover_event(EVENT_LIMIT_BYTES);
    return refused || leased_judge(w, &specs[n - 1], err);
}
