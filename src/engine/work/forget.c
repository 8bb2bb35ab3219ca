/* SPDX-License-Identifier: MIT */
/* Ended jobs that are forgotten before their time. */
#include "engine/work/forget.h"

#include "engine/log/emit.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/jobopts.h"
#include "engine/work/finish.h"
#include "engine/work/seek.h"
#include "record/record.h"

int emit_forget(struct engine *e, const struct job *j)
{
    return emit_end(e, &(struct end_record){ .seq = j->seq,
                                             .state = (unsigned)j->state,
                                             .ended_ms = j->trail->ended_ms,
                                             .keep_ms = j->trail->ended_ms,
                                             .outcome = OUTCOME_NONE });
}

int engine_delete(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_seek(e, id, false, &err);
    enum job_state state;

    if (!j)
        return err;
    state = job_state_now(e, j);
    if (!state_is_ended(state))
        return engine_error(e, BELFRY_STATE, "the job is %s", job_state_name(state));
    j = job_seek(e, id, true, &err);
    if (j && !state_is_ended(j->state)) { /* by time only */
        err = job_expire(e, j);
        j = err ? NULL : job_of(e, id);
    }
    if (!j)
        return err;
    if (j->trail->flags & TRAIL_TELLING)
        return engine_error(e, BELFRY_STATE, "those who wait for it are being told of its end");
    return emit_forget(e, j);
}
