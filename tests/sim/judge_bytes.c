/* SPDX-License-Identifier: MIT */
/* The bytes that are kept of tenants. Each job shows its own, which follow from its image: the sums
 * that the engine keeps must be equal to them. Only history whose time is over is counted without
 * being shown, until its run is merged. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/recurrence.h"
#include "sim/judge.h"
#include "sim/look.h"
#include "sim/text.h"

#define LEAST_BYTES 48 /* less than any job has */

bool judge_bytes_of(const struct model_job *job, const struct job_view *v, char ret[JUDGE_TEXT])
{
    uint64_t least = LEAST_BYTES + v->payload.len + v->result.len + v->error.len + v->note.len +
                     v->key.len + v->order.len;

    if (v->kept_bytes >= least && v->kept_bytes <= judge_most_bytes(job))
        return true;
    snprintf(ret, JUDGE_TEXT,
             "job %" PRIu64 " counts for %" PRIu64 " bytes, expected %" PRIu64 " to %" PRIu64,
             v->id.seq, v->kept_bytes, least, judge_most_bytes(job));
    return false;
}

static int add_recurrence(void *arg, const struct recurrence_view *v)
{
    *(uint64_t *)arg += v->kept_bytes;
    return 0;
}

static int recurrences_of(struct partition *p, struct str tenant, uint64_t *ret_bytes)
{
    struct look look = { .partition = p };
    struct list_cursor cursor = { 0 };
    int err;

    do
        err = look_recurrences(&look, tenant, add_recurrence, ret_bytes, &cursor);
    while (err >= 0 && cursor.more);
    look_end(&look);
    return err;
}

/* The most that one forgotten job of a tenant could count for. */
static uint64_t most_forgotten(const struct model *m, unsigned tenant)
{
    uint64_t most = 0;

    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_job *job = &m->graveyard->graves[i].job;
        uint64_t bytes = tenants_of(job->queue) == tenant ? judge_most_bytes(job) : 0;

        most = bytes > most ? bytes : most;
    }
    return most;
}

bool judge_bytes(struct partition *p, const struct model *m, const struct listed *listed,
                 char ret[JUDGE_TEXT])
{
    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        char text[TEXT_MAX];
        struct str name = text_make(TEXT_TENANT, t, text);
        struct tenant_stats s;
        uint64_t expected = listed[t].bytes, hidden = 0;
        int err = recurrences_of(p, name, &expected);

        if (err < 0) {
            snprintf(ret, JUDGE_TEXT, "RECURRENCES answers %s", error_name(err));
            return false;
        }
        engine_tenant_stats(partition_engine(p), name, &s);
        for (int i = 0; i < JOB_STATE_COUNT; i++)
            hidden += s.jobs[i];
        hidden -= listed[t].jobs;
        if (s.kept_bytes >= expected + hidden * LEAST_BYTES &&
            s.kept_bytes <= expected + hidden * (hidden ? most_forgotten(m, t) : 0))
            continue;
        snprintf(ret, JUDGE_TEXT,
                 "%" PRIu64 " bytes of tenant %u are kept, expected %" PRIu64
                 " and those of %" PRIu64 " jobs whose time is over",
                 s.kept_bytes, t, expected, hidden);
        return false;
    }
    return true;
}
