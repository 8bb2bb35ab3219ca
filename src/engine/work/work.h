/* SPDX-License-Identifier: MIT */
/* Requests about jobs, and what follows from them. */
#ifndef ENGINE_WORK_H
#define ENGINE_WORK_H

#include "engine/engine_data.h"
#include "record/opts.h"

/* ---- intake.c: requests about jobs that are not running ---- */

/* What can be said of a spec without looking at anything else. */
int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
/* The options that a job of this spec has, but for those about AFTER. */
void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born);
/* LIMIT if the tenant has as many pending jobs as it may. */
int tenant_refuses(struct engine *e, const struct queue *q, struct str full);

/* ---- after.c: jobs that wait for others ---- */

/* Whether a job may wait for those that its spec names, which come to memory. *ret_waits: how many
 * have not ended; *ret_lost: one has, otherwise than done, and that matters; seq 0: none. */
int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost);
/* The same for the i-th of several that are to be scheduled together: whether those before leave
 * room for one more listener. LIMIT. */
int after_room(struct engine *e, const struct job_spec *specs, size_t i);
/* The options that say so, of those that have not ended. */
void after_put(struct engine *e, struct buf *out, const struct job_spec *s);
/* Enters a job as a listener with all that it waits for. */
int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener);
/* A job that it waited for ended otherwise than done. */
int after_lost(struct engine *e, struct job *j, struct job_id parent);
/* Whether it waits for that one. */
bool after_waits(const struct job *j, const struct job *parent);
/* A job that was waited for has ended. */
int after_told(struct engine *e, struct job *j, const struct job *ended);
/* The options without those of this type, or only without the one that names this job; and with
 * nothing in front. */
void opts_without(struct buf *out, const struct job *j, enum job_opt type, uint64_t seq);

/* ---- lease.c: giving out ready jobs ---- */

#define TOKEN_COUNTER 40 /* bits of a token below the epoch */

/* The ready job of lowest rank that its tenant's maintenance lets pass, or NULL; ret_rank is set if
 * there is one. */
struct job *queue_head(const struct engine *e, const struct queue *q, int64_t *ret_rank);
void waiter_timeout(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

/* ---- finish.c: the ways an attempt can end ---- */

/* `pause_ms` -1: by back-off. */
int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final);
int job_expire(struct engine *e, struct job *j);
uint64_t engine_random(struct engine *e);
int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result);

/* Forgets an ended job before its time. */
int emit_forget(struct engine *e, const struct job *j);
/* Cancels a job of the engine's own and forgets it. */
int emit_gone(struct engine *e, const struct job *j);

/* ---- gate.c: quiet hours ---- */

/* -1: it is not quiet; for a job: or it may be given all the same. */
int64_t tenant_quiet_until(const struct engine *e, struct tenant *t);
int64_t job_quiet_until(const struct engine *e, const struct job *j);
/* Has it wait until then, and for a part of the spread. */
int job_defer(struct engine *e, struct job *j, int64_t until_ms);

/* ---- push.c: what may be pushed, and where to ---- */

int push_settings_check(struct engine *e, const struct push_settings *s);
/* Whether a job may, or must, have a URL of its own there. INVALID. */
int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);

/* ---- seek.c: jobs and keys wherever they are, in memory or on disk ---- */

/* The job of an id, wherever it is. One on disk comes to memory if it is to be changed (`take`);
 * else it is shown as it is, until the next call. NULL with NOTFOUND, COLD or NOMEM in *ret_err. */
struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err);
/* Asks for a page of a queue's jobs on disk: those of a family behind a point. */
void want_page_of(struct engine *e, const struct queue *q, char family, struct cold_point after,
                  size_t limit);
/* The answer at hand is the page that is wanted. */
bool want_is_answered(const struct engine *e);
/* Brings an item's job to memory. NOMEM. */
int item_take(struct engine *e, const struct cold_item *item);
/* The job that has a key, wherever it is; see job_seek. One that is only shown may be over
 * (job_is_over). */
struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err);

#endif
