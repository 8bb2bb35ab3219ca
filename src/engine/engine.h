/* SPDX-License-Identifier: MIT */
/*
 * The engine of one partition: a pure state machine. Time, requests and stored records go in;
 * records, answers and deliveries come out. The engine reads no clock, file, socket or environment,
 * and starts no thread. All calls come from one thread.
 *
 * The engine executes a request in three steps. It checks the request; an error changes nothing. It
 * writes a record of its decision. It applies that record. Replay applies the stored records with
 * these functions, so memory is always what the journal says. A change that follows from time alone
 * has no record: a scheduled job becomes ready, a retention ends. The engine derives such a change
 * again from the recorded moments.
 *
 * Each record has a number, its lsn, which grows by one. The host makes records durable, and then
 * releases the answers that waited for them. An answer may leave once the durable lsn has reached
 * the value that engine_visible_lsn() had when the request had been executed.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "engine/options.h"
#include "engine/types.h"

struct engine;
struct job;
struct waiter;

/* NULL: there is no memory. */
struct engine *engine_new(const struct engine_options *o);
void engine_free(struct engine *e); /* drops parked waiters without a call; accepts NULL */

/* ---- Replay: before engine_start only ---- */

/* Applies the records of one commit, which stands in this segment. CORRUPT: it is malformed. */
int engine_replay(struct engine *e, struct str commit, uint32_t segment);

/* Ends replay. A lease that has less than LEASE_GRACE_MS left gets LEASE_GRACE_MS, once until its
 * worker says something. engine_direct must have been called. `strict` (the last stop was unclean):
 * during the first minute the answer to a LEASE waits for its record, too. */
void engine_start(struct engine *e, int64_t wall_ms, int64_t mono_ms, bool strict);

/* ---- Time ---- */

/* Takes the clocks and fires due jobs and leases, never early. Many due jobs are fired in slices, a
 * slice in each call. */
void engine_advance(struct engine *e, int64_t wall_ms, int64_t mono_ms);

/* When engine_advance is needed next, by wall clock and by monotonic clock; INT64_MAX: never. */
void engine_next_wake(const struct engine *e, int64_t *ret_wall_ms, int64_t *ret_mono_ms);

/* The jobs that a parked LEASE got. */
struct delivery {
    void *owner;
    size_t n;
    struct job *jobs[LEASE_COUNT_MAX]; /* to be read with engine_view before the next call */
};

/* Names the owner of the parked waiter whose turn it is. False: no waiter can be served. Until then
 * the host ends that wait or calls engine_dispatch, after requests and after engine_advance. */
bool engine_dispatch_next(struct engine *e, void **ret_owner);
/* Gives ready jobs to that waiter, whose wait ends by that. False: there is no waiter, or this one
 * gets nothing in this round. */
bool engine_dispatch(struct engine *e, struct delivery *ret);

/* Ends the wait of a waiter whose time is up, or whose job has ended. False: there is no such
 * waiter. The host calls it until it answers false, after requests and after engine_advance. */
bool engine_timeout(struct engine *e, void **ret_owner);

int64_t engine_now(const struct engine *e); /* the wall time of the last advance */

/* ---- Records ---- */

/* Directs further records to `out`, to stand in segment `segment`, and writes the head of a commit
 * there. `begins` makes this the first commit of its segment; `previous` is the number of elements
 * in the segment before. */
void engine_direct(struct engine *e, struct buf *out, uint32_t segment, bool begins,
                   uint64_t previous);
/* Writes a record that segments before this one no longer count. Each segment that begins later
 * says so again. NOMEM. */
int engine_set_oldest(struct engine *e, uint32_t segment);
/* Gives a data directory that has no secret the secret of the options; see struct cold_names. An
 * older directory with jobs aside on disk gets none. The host calls it before engine_start. NOMEM.
 */
int engine_name_secretly(struct engine *e);
/* Writes the secret, if there is one, behind the first record of a segment. */
void engine_put_secret(const struct engine *e, struct buf *out);
const struct cold_names *engine_naming(const struct engine *e);
/* The segment that the journal begins with, by its records; 0: no record says. */
uint32_t engine_oldest(const struct engine *e);
/* The greatest epoch of any commit that was replayed; 0: none was. */
uint64_t engine_last_epoch(const struct engine *e);
uint64_t engine_lsn(const struct engine *e); /* of the last record written */
/* How many records have changed what readers see. Moves between memory and disk do not. */
uint64_t engine_changes(const struct engine *e);
uint64_t engine_visible_lsn(const struct engine *e); /* see above */
/* As engine_visible_lsn, for the answer to a LEASE. It shows only jobs that were ready, so work is
 * given out without waiting for the ends of other work. */
uint64_t engine_offered_lsn(const struct engine *e);

/* Copies forward the jobs of a commit of segment `segment` whose newest images stand there. */
int engine_copy_forward(struct engine *e, struct str commit, uint32_t segment);
/* Copies forward everything but jobs that stands in segments up to `segment`, a slice in each call.
 * 1: there is more. The host calls it until it answers 0 before it drops the segment. */
int engine_copy_rest(struct engine *e, uint32_t segment);
/* Jobs whose image stands in this segment. With none, it is dropped without being read. */
uint64_t engine_segment_jobs(const struct engine *e, uint32_t segment);
/* About the size of a journal that has only what lives. */
uint64_t engine_live_bytes(const struct engine *e);

/* ---- Requests. Errors leave everything unchanged; engine_detail() then says more. A request that
 * names a job or key may answer COLD: it needs a job on disk, see cold.h. ---- */

const char *engine_detail(const struct engine *e); /* "": there is nothing to add */

/* Requests that follow see and change only the jobs of this tenant. `*`, as at first: all jobs. */
void engine_scope(struct engine *e, struct str tenant);

/* While it is set, requests that would add jobs answer FULL, and bulks that need room wait. */
void engine_refuse_new(struct engine *e, bool refuse);

/* INVALID, TOOLARGE, KEYEXISTS (ret->id is the job that has the key), NOTFOUND (of AFTER), PAST,
 * LIMIT, FULL, NOMEM. */
int engine_schedule(struct engine *e, const struct job_spec *spec, struct schedule_result *ret);

/* Schedules all jobs or none, in one commit. Together they may be as large as one job. *ret_at is
 * the first that is refused; n: all of them. Errors as above, and TOOLARGE as below; after NOMEM
 * see engine_torn. */
int engine_schedule_all(struct engine *e, const struct job_spec *specs, size_t n,
                        struct schedule_result *ret, size_t *ret_at);
/* Asks for all jobs on disk that the items of a batch may meet, which are scheduled one by one.
 * After COLD the caller asks again. TOOLARGE: they cannot come to memory together. NOMEM. */
int engine_schedule_ask(struct engine *e, const struct job_spec *specs, size_t n);
/* Schedules an item of the batch of the last engine_schedule_ask, in the same turn. Errors as
 * engine_schedule, but never COLD, whatever the items before it did. */
int engine_schedule_asked(struct engine *e, const struct job_spec *spec,
                          struct schedule_result *ret);
/* Memory ran out in the middle of a commit that must be whole. The host must discard the engine
 * with all records since the last commit, and make it again from the journal. */
bool engine_torn(const struct engine *e);
/* Marks the engine torn; see engine_torn. */
void engine_tear(struct engine *e);

/* Leases up to r->count ready jobs and returns how many. ret_jobs has room for r->count. */
int engine_lease(struct engine *e, const struct lease_request *r, struct job **ret_jobs);

/* Whether a request that got nothing would soon get due jobs that are on disk. It looks at no queue
 * of all tenants (`*@queue`). */
bool engine_owes(struct engine *e, const struct lease_request *r);

/* Parks a lease request until there is work or wait_ms have passed. Then engine_dispatch or
 * engine_timeout names `owner`. LIMIT, NOMEM. */
int engine_wait(struct engine *e, const struct lease_request *r, int64_t wait_ms, void *owner,
                struct waiter **ret);
void engine_wait_cancel(struct engine *e, struct waiter *w);

/* Requests of a worker about its job. NOTFOUND, STALE; NOMEM. */
int engine_complete(struct engine *e, struct job_id id, uint64_t token, struct str result,
                    int64_t again_ms /* -1: no */);
int engine_fail(struct engine *e, struct job_id id, uint64_t token, struct str error,
                int64_t retry_ms /* -1: by back-off */, bool final, struct fail_result *ret);
int engine_extend(struct engine *e, struct job_id id, uint64_t token, const struct extend_spec *x,
                  struct extend_result *ret);
int engine_release(struct engine *e, struct job_id id, uint64_t token, int64_t in_ms);

/* An enum cancel_outcome; STATE (the job has ended), NOMEM. */
int engine_cancel(struct engine *e, struct job_id id);
/* NOTFOUND, STATE (the job is leased or has ended). */
int engine_reschedule(struct engine *e, struct job_id id, int64_t due_ms);
/* Puts a dead job back and resets its attempts. NOTFOUND, STATE, KEYEXISTS, FULL. */
int engine_redrive(struct engine *e, struct job_id id);
/* Puts back up to `limit` dead jobs of a queue, oldest first, and returns how many. Jobs whose key
 * is taken stay dead. FULL. */
int engine_redrive_queue(struct engine *e, struct str name, size_t limit);

/* Forgets a job that has ended. NOTFOUND, STATE. */
int engine_delete(struct engine *e, struct job_id id);
/* Forgets a job, which is cancelled first if it has not ended. STATE: a worker has the job, or jobs
 * that wait for it are being told of its end. NOTFOUND. */
int engine_discard(struct engine *e, struct job_id id);

/* ---- The engine's own work ---- */

/* Does a slice of this work: it tells listeners of ended jobs, fires recurrences, and runs bulks.
 * 1: there may be more. 2: there may be more, but other work comes first. 0: there is nothing to do
 * now. COLD, as a request; NOMEM. */
int engine_task(struct engine *e);
/* Whether engine_task would find something to do. */
bool engine_task_waits(const struct engine *e);
/* While it is set, bulks wait: they bring jobs to memory and write to the journal. */
void engine_press(struct engine *e, bool pressed);
/* The item that the last engine_task() asked for is unreadable; the task skips it. */
void engine_task_skip(struct engine *e);

/* ---- Queues ---- */

/* Sets settings, and makes the queue if there is none. Settings that change nothing have no
 * record. INVALID. */
int engine_queue_set(struct engine *e, struct str name, const struct queue_settings *s,
                     unsigned fields /* bits 1 << enum queue_field */);
/* NOTFOUND. */
int engine_queue_get(const struct engine *e, struct str name, struct queue_view *ret);
/* Calls fn for up to `limit` queues of a tenant (`*`: of all) behind the name `after`, by name. It
 * stops when fn returns other than 0. NOMEM. */
int engine_queues(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct queue_view *v), void *arg);
/* Forgets a queue without jobs, and its settings. NOTFOUND, STATE. */
int engine_queue_delete(struct engine *e, struct str name);

/* ---- Tenants ---- */

/* Forgets a tenant that is not used, and its settings. NOTFOUND, STATE. */
int engine_tenant_delete(struct engine *e, struct str name);
/* Settings that change nothing have no record. INVALID. The caller checks quiet hours and zone. */
int engine_tenant_set(struct engine *e, struct str name, const struct tenant_settings *s,
                      unsigned fields /* bits 1 << enum tenant_field */);
/* NOTFOUND. */
int engine_tenant_get(const struct engine *e, struct str name, struct tenant_view *ret);
/* As engine_queues. */
int engine_tenants(const struct engine *e, struct str after, size_t limit,
                   int (*fn)(void *arg, const struct tenant_view *v), void *arg);

/* ---- Looking ---- */

void engine_view(const struct engine *e, const struct job *job, struct job_view *ret);
/* NOTFOUND, COLD. */
int engine_get(struct engine *e, struct job_id id, struct job_view *ret);
/* NOTFOUND, COLD. */
int engine_explain(struct engine *e, struct job_id id, struct explanation *ret);
/* The job that has this key, also if the key is held. `order`: the ordering key of the key; empty:
 * none. NOTFOUND, COLD. */
int engine_find_key(struct engine *e, struct str queue, struct str order, struct str key,
                    struct job_id *ret);

/* One page of jobs that match, by (due, id) within the stripe of the table or the run that it comes
 * from. A job that does not change meanwhile is in exactly one page. A job that moves between
 * memory and disk may be in several. The work is bounded, so a page may be short or empty although
 * there are more. The function answers 0 to go on. A positive answer ends the page behind this job,
 * and engine_list returns it; a negative one is an error. INVALID: the cursor is bad. NOMEM, COLD.
 */
int engine_list(struct engine *e, const struct list_filter *f,
                int (*fn)(void *arg, const struct job_view *v), void *arg,
                struct list_cursor *cursor);

void engine_stats(const struct engine *e, struct engine_stats *ret);
/* All figures are 0 if there is no such tenant. */
void engine_tenant_stats(const struct engine *e, struct str tenant, struct tenant_stats *ret);

#endif
