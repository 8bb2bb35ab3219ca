/* SPDX-License-Identifier: MIT */
/* Requests that wait for the end of a job: see place/awaited.h. */
#ifndef ENGINE_AWAIT_H
#define ENGINE_AWAIT_H

#include "engine/engine.h"

int64_t engine_now_mono(const struct engine *e); /* the monotonic time of the last advance */

/* Parks a request until the job, which has not ended, ends, or until that moment of the monotonic
 * clock. Then engine_timeout names `owner`, which looks at the job again. It may do so earlier. The
 * wait ends by engine_wait_cancel, too. LIMIT, NOMEM. */
int engine_await(struct engine *e, const struct job_view *v, int64_t until_ms, void *owner,
                 struct waiter **ret);

#endif
