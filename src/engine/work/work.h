/* SPDX-License-Identifier: MIT */
/* Requests about jobs, and what follows from them. */
#ifndef ENGINE_WORK_H
#define ENGINE_WORK_H

#include "engine/engine_data.h"
#include "record/image.h"
#include "record/opts.h"

/* ---- intake.c: requests about jobs that no worker has ---- */

/* Checks all of a spec that can be checked without looking at other jobs. */
int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
/* Writes the options of a job of this spec, but for those about AFTER. */
void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born);
/* FULL while new jobs are refused. */
int refuse_full(struct engine *e);
/* KEYEXISTS, with the id of the job that has the key. */
int key_exists(struct engine *e, const struct job *holder);
/* The moment at which a job becomes ready that is due then. */
int64_t moment_of(const struct engine *e, bool ordered, int64_t due);
/* Another job that has the key of a dead job, which may also hold the key itself: redrive.c. NULL
 * with NOTFOUND, COLD or NOMEM. A rival on disk comes to memory, so that the engine need not ask
 * for it twice: a fetch answers about one job only. */
struct job *job_rival(struct engine *e, const struct job *j, int *ret_err);
/* The job of an id, if its state is among `states` (bits); see job_seek. STATE. */
struct job *job_claim(struct engine *e, struct job_id id, unsigned states, bool take, int *ret_err);

/* ---- limit.c: the limits of tenants that new jobs meet ---- */

/* The tenant of a queue that may not exist yet; NULL: the tenant does not exist either. */
struct tenant *tenant_of(const struct engine *e, const struct queue *q, struct str full);
/* The bytes that a new job of this image takes. The bytes that a replacement adds to its job. */
int64_t image_needs(const struct job_image *image);
int64_t replace_needs(const struct job *j, struct str payload);
/* LIMIT if the leased jobs of the tenant have their share, and the replacement of this job would
 * take more memory. */
int leased_refuses(struct engine *e, const struct job *j, struct str payload);
/* LIMIT if `needs` more bytes would go beyond the limit of bytes that are kept of the tenant. The
 * tenant may be NULL. */
int tenant_refuses_bytes(struct engine *e, const struct tenant *t, int64_t needs);
/* LIMIT if the tenant, which may be NULL, has as many pending jobs as it may. */
int tenant_refuses_job(struct engine *e, const struct tenant *t);
/* LIMIT if the tenant has as many pending jobs as it may, or if this queue would be one too many.
 * The queue may be NULL. */
int tenant_refuses(struct engine *e, const struct queue *q, struct str full);
/* LIMIT if the tenant has as many used queues as it may, or its share of memory for queues. A queue
 * that is used already is never refused. */
int tenant_refuses_queue(struct engine *e, const struct queue *q, struct str full);
/* LIMIT if queues and waiting requests of the tenant have their share of memory. One function is for
 * a request that is to wait, the other for a job that would be the first of its class in a queue. */
int tenant_refuses_waiter(struct engine *e, const struct tenant *t);
int tenant_refuses_class(struct engine *e, const struct queue *q, const struct job_spec *s);
/* LIMIT if workers of the tenant wait at as many unused queues as they may, or if the tenant has
 * its share of memory for queues. */
int tenant_refuses_wait(struct engine *e, struct str full);

/* ---- after.c: jobs that wait for others ---- */

/* Whether a job may wait for those that its spec names, which come to memory. *ret_waits: how many
 * have not ended. *ret_lost: a job that ended otherwise than done, if that matters; else its seq is
 * 0. */
int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost);
/* Asks for the jobs that a job would wait for; see asks_begin. */
void after_ask(struct engine *e, const struct job_spec *s);
/* Whether the specs before the i-th leave room for its listeners, if all are scheduled together.
 * LIMIT. */
int after_room(struct engine *e, const struct job_spec *specs, size_t i);
/* The specs were refused, or are scheduled by now: after_room no longer reserves room for them. */
void after_promise_nothing(const struct engine *e, const struct job_spec *specs, size_t n);
/* Writes the options that name the jobs of AFTER which have not ended. */
void after_put(struct engine *e, struct buf *out, const struct job_spec *s);
/* Enters a job as a listener of all jobs that it waits for. */
int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener);
/* Cancels a job because one that it waited for ended otherwise than done. */
int after_lost(struct engine *e, struct job *j, struct job_id parent);
/* The parent that the error of such a job names. False: the error is another one. */
bool after_lost_parent(const struct engine *e, struct str error, struct job_id *ret);
/* Whether a job waits for that parent. */
bool after_waits(const struct job *j, const struct job *parent);
/* Tells a job that one which it waited for has ended. */
int after_told(struct engine *e, struct job *j, const struct job *ended);

/* ---- lease.c: giving out ready jobs ---- */

#define TOKEN_COUNTER 40 /* bits of a token below the epoch */

/* Whether parked requests must be served again after the next engine_advance, because
 * PASSED_OVER_MAX jobs were passed over. */
bool lease_round_is_used_up(const struct engine *e);
/* A waiter without its posts, or NULL. `until_ms`: on the monotonic clock. */
struct waiter *waiter_new(struct engine *e, size_t links, int64_t until_ms, void *owner);
/* Takes a waiter whose time is up off its posts; engine_timeout hands it out. Returns how many
 * steps that took: 1 or more. */
int waiter_late(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

/* ---- finish.c: the ways an attempt can end ---- */

/* Ends an attempt without success. `pause_ms` -1: by back-off. */
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

/* The end of quiet hours; -1: it is not quiet. For a job -1 also if quiet hours do not defer it. */
int64_t tenant_quiet_until(const struct engine *e, struct tenant *t);
int64_t job_quiet_until(const struct engine *e, const struct job *j);
/* As these functions, at a moment to come. */
int64_t job_quiet_at(const struct engine *e, const struct job *j, int64_t at_ms);
/* Defers a job until then, and by a random part of the spread. */
int job_defer(struct engine *e, struct job *j, int64_t until_ms);

/* ---- push.c: what may be pushed, and where to ---- */

int push_settings_check(struct engine *e, const struct push_settings *s);
/* Whether a job of this queue may, or must, have a URL of its own. INVALID. */
int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);

/* ---- ask.c: lists of jobs on disk that requests ask for ---- */

/* A request that needs several jobs asks for all of them at once, between asks_begin and asks_end.
 * When asks_end answers 0, job_seek and key_seek find them. While `work.asked` is set, both answer
 * as if there were no others on disk. asks_end: COLD, TOOLARGE, NOMEM. */
void asks_begin(struct engine *e);
int asks_end(struct engine *e);
/* Adds an ask to the list. `answered`: the ask in the answer at hand, or NULL. `cut`: what is there
 * is not enough. */
void ask_note(struct engine *e, const struct cold_ask *ask, const struct cold_ask *answered,
              bool cut);
/* The ask in the answer at hand that is equal, with its items; NULL: it was not asked for. */
const struct cold_ask *ask_answered(const struct engine *e, const struct cold_ask *ask);
/* Asks for one job. COLD, NOMEM. */
int ask_one(struct engine *e, const struct cold_ask *ask, bool grows);
int ask_too_large(struct engine *e); /* TOOLARGE */
/* The request that answers `err` will bring the job to memory, if that is COLD. Returns err. */
int want_grows(struct engine *e, int err);

/* ---- seek.c: jobs and keys wherever they are, in memory or on disk ---- */

/* The job of an id, wherever it is. A job on disk comes to memory if it is to be changed (`take`).
 * Else it is shown until the next call. NULL with NOTFOUND, COLD or NOMEM in *ret_err. */
struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err);
/* Asks, between asks_begin and asks_end, for a job that may become the parent of another. */
void job_ask(struct engine *e, struct job_id id);
/* The state of a job of the scope, of which job_ask was told. On disk, a job that is over or ready
 * may count as scheduled. NOTFOUND. */
int job_asked_state(struct engine *e, struct job_id id);
/* Asks for the job that has a key; `replace`: to change it. Whether there is such a job, as far as
 * is known, which will keep the key. */
bool key_ask(struct engine *e, struct queue *q, struct str order, struct str key, bool replace);
/* Asks for a page of a queue's jobs on disk: those of a family behind a point. */
void want_page_of(struct engine *e, const struct queue *q, char family, struct cold_point after,
                  size_t limit);
/* The answer at hand is the page that is wanted. */
bool want_is_answered(const struct engine *e);
/* Brings an item's job to memory. NOMEM. */
int item_take(struct engine *e, const struct cold_item *item);
/* The job that has a key, wherever it is; see job_seek. A job that is only shown may be over
 * (job_is_over). */
struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err);

#endif
