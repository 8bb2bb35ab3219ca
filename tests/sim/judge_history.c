/* SPDX-License-Identifier: MIT */
/* Ended jobs that were forgotten before their time, to save space: only where a queue's history is
 * larger than its budget, and the oldest first. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/bulk.h"
#include "sim/judge.h"
#include "sim/labels.h"
#include "sim/look.h"
#include "sim/model_job.h"
#include "sim/text.h"

/* More than a job takes besides its texts, a label, a job that waits for it, and an attempt. */
#define JOB_BYTES      420
#define LABEL_BYTES    8
#define LISTENER_BYTES 24
#define ATTEMPT_BYTES  56
#define ERROR_KEPT     256

static size_t text_size(enum text_kind kind, uint32_t number)
{
    char text[TEXT_MAX];

    return number == ERROR_OF_ENGINE ? ERROR_KEPT : text_make(kind, number, text).len;
}

static size_t labels_size(uint32_t number)
{
    static struct labels l;
    size_t n = 0;

    labels_make(number, &l);
    for (size_t i = 0; i < l.tag_count; i++)
        n += LABEL_BYTES + l.tags[i].len;
    for (size_t i = 0; i < l.meta_count; i++)
        n += LABEL_BYTES + l.meta[i].name.len + l.meta[i].value.len;
    return n;
}

uint64_t judge_most_bytes(const struct model_job *job)
{
    uint64_t n = JOB_BYTES + text_size(TEXT_PAYLOAD, job->payload) +
                 text_size(TEXT_RESULT, job->result) + text_size(TEXT_ERROR, job->error) +
                 text_size(TEXT_NOTE, job->note) + labels_size(job->labels) +
                 LISTENER_BYTES * (job->listeners + MODEL_AFTERS);

    n += model_log_bytes(&job->log);
    if (job->replacing)
        n += text_size(TEXT_PAYLOAD, job->next_payload);

    for (size_t i = 0; i < job->history_count; i++) {
        size_t error = text_size(TEXT_ERROR, job->history[i].error);
        n += ATTEMPT_BYTES + (error < ERROR_KEPT ? error : ERROR_KEPT);
    }
    return n;
}

static bool is_history(const struct model_job *job, unsigned queue)
{
    return job->queue == queue && model_ended(job) && job->state != JOB_DEAD;
}

/* Of a queue; what was forgotten just now was there before, and what another process forgot is
 * there again when the next one begins. */
static uint64_t history_bytes(const struct model *m, unsigned queue)
{
    const struct model_graveyard *g = m->graveyard;
    uint64_t n = 0;

    for (size_t i = 0; i < m->count; i++)
        if (is_history(&m->jobs[i], queue))
            n += judge_most_bytes(&m->jobs[i]);
    for (size_t i = 0; i < g->count; i++)
        if (is_history(&g->graves[i].job, queue) &&
            (g->graves[i].step == m->steps || g->graves[i].life_ms != m->start_mono_ms))
            n += judge_most_bytes(&g->graves[i].job);
    return n;
}

/* It joins the history when it ends, not later. */
static bool is_plain(const struct model_job *job)
{
    return job->hold_ms == 0 && job->listeners == 0;
}

static const struct model_job *older(struct partition *p, const struct model *m,
                                     const struct model_job *job)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *other = &m->jobs[i];
        if (is_history(other, job->queue) && is_plain(other) && other->ended_ms < job->ended_ms &&
            look_has(p, other->id))
            return other;
    }
    return NULL;
}

static bool is_deleting(const struct model *m)
{
    for (size_t i = 0; i < MODEL_BULKS; i++)
        if (m->bulks[i].on && m->bulks[i].action == BULK_DELETE)
            return true;
    return false;
}

bool judge_trimmed(struct partition *p, const struct model *m, const struct model_job *job,
                   char ret[JUDGE_TEXT])
{
    const struct model_job *other;

    if (m->cold || is_deleting(m))
        return true;
    if (history_bytes(m, job->queue) <= m->history_bytes &&
        !(m->bytes_bite >> tenants_of(job->queue) & 1)) {
        snprintf(ret, JUDGE_TEXT,
                 "job %" PRIu64
                 " is forgotten before its time, and history takes less than %" PRIu64
                 " of %" PRIu64 " bytes",
                 job->id.seq, history_bytes(m, job->queue), m->history_bytes);
        return false;
    }
    other = is_plain(job) && !m->set_back ? older(p, m, job) : NULL;
    if (other)
        snprintf(ret, JUDGE_TEXT,
                 "job %" PRIu64 " is forgotten before its time, and job %" PRIu64
                 " of its queue is older",
                 job->id.seq, other->id.seq);
    return !other;
}
