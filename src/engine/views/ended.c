/* SPDX-License-Identifier: MIT */
/* How a job ended, and by what. All of it follows from the job's records: the state, the moment,
 * the error, the attempts, and the engine's own words about a parent. */
#include <stdio.h>

#include "base/time.h"
#include "base/utf8.h"
#include "engine/place/job.h"
#include "engine/views/look.h"
#include "engine/work/work.h"
#include "record/attempts.h"

#define QUOTE_MAX 120 /* bytes of an error in a sentence; `error` has all of it */

/* ": " and an error as one line of text. An error that is no text is left out. */
static void error_quote(struct str error, char ret[QUOTE_MAX + 8])
{
    bool whole = error.len <= QUOTE_MAX;
    size_t n = 0;

    ret[0] = '\0';
    if (error.len == 0 || !utf8_valid(error))
        return;
    if (!whole)
        error.len = utf8_span((struct str){ error.ptr, QUOTE_MAX });
    ret[n++] = ':';
    ret[n++] = ' ';
    for (size_t i = 0; i < error.len; i++)
        ret[n++] = (unsigned char)error.ptr[i] < ' ' ? ' ' : error.ptr[i];
    snprintf(ret + n, 5, "%s", whole ? "" : "...");
}

void explain_attempt(const struct job *j, char ret[WHY_MAX])
{
    static const char *const did[] = {
        [ATTEMPT_DONE] = "ended",           [ATTEMPT_FAILED] = "failed",
        [ATTEMPT_STALLED] = "stalled",      [ATTEMPT_RELEASED] = "was given back",
        [ATTEMPT_AGAIN] = "asked for more",
    };
    char at[TIME_TEXT], error[QUOTE_MAX + 8];
    struct attempt a;

    if (!attempts_last(blob_str(j->trail ? j->trail->history : NULL), &a) ||
        a.outcome >= sizeof(did) / sizeof(*did)) {
        snprintf(ret, WHY_MAX, "its last attempt was without success");
        return;
    }
    time_format_moment(a.end_ms, at);
    error_quote(a.outcome == ATTEMPT_RELEASED ? (struct str){ 0 } : a.error, error);
    snprintf(ret, WHY_MAX, "attempt %u %s at %s%s", a.number, did[a.outcome], at, error);
}

/* No job that a worker ever had waits for another: so a worker cannot have written the error. */
static bool was_lost(const struct engine *e, const struct job *j, struct job_id *ret)
{
    return j->trail->token == 0 && after_lost_parent(e, blob_str(j->trail->error), ret);
}

static void explain_cancelled(const struct engine *e, const struct job *j, const char *at,
                              struct explanation *x)
{
    char id[ID_TEXT], attempt[WHY_MAX];

    if (was_lost(e, j, &x->parent)) {
        id_format(x->parent, id);
        snprintf(x->why, WHY_MAX,
                 "it was cancelled at %s because job %.*s, for which it waited, was not done", at,
                 ID_TEXT, id);
    } else if (j->trail->history) {
        explain_attempt(j, attempt);
        snprintf(x->why, WHY_MAX, "a request cancelled it, and it ended at %s; %.200s", at,
                 attempt);
    } else {
        snprintf(x->why, WHY_MAX, "a request cancelled it at %s; no worker ever had it", at);
    }
}

void explain_ended(const struct engine *e, const struct job *j, struct explanation *x)
{
    const struct trail *t = j->trail;
    char at[TIME_TEXT], error[QUOTE_MAX + 8];

    /* A job that is over on disk has no record of that yet. */
    x->ended_ms = t && state_is_ended(j->state) ? t->ended_ms : job_expires_ms(j);
    time_format_moment(x->ended_ms, at);
    switch (x->state) {
    case JOB_DONE:
        snprintf(x->why, WHY_MAX, "it has run and is done since %s, by attempt %u", at, j->attempt);
        break;
    case JOB_DEAD:
        error_quote(x->error, error);
        snprintf(x->why, WHY_MAX,
                 "it failed for the last time at %s, after %u attempt%s%s; REDRIVE puts it back",
                 at, j->attempt, j->attempt == 1 ? "" : "s", error);
        break;
    case JOB_EXPIRED:
        snprintf(x->why, WHY_MAX,
                 "it was not started in the time that EXPIRE gave it, which ended at %s", at);
        break;
    default: explain_cancelled(e, j, at, x);
    }
}
