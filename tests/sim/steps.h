/* SPDX-License-Identifier: MIT */
/* What can happen in one step of a run; run.c has the table. Each draws its own details, and does
 * nothing where it makes no sense. */
#ifndef SIM_STEPS_H
#define SIM_STEPS_H

#include "sim/world.h"

/* figures.c: figures over time */
void step_series(struct world *w);

/* clock.c: time passes, on both clocks or on one */
void step_tick(struct world *w);
void step_wake(struct world *w);
void step_pass(struct world *w);
void step_days(struct world *w);
void step_wall_forward(struct world *w);
void step_miss(struct world *w);
void step_wall_back(struct world *w);

/* cycle.c: commits */
void step_take(struct world *w);
void step_write(struct world *w);
void step_settle(struct world *w);
void step_cycle(struct world *w);
void step_sync(struct world *w);

/* lanes.c and request.c: between memory and disk */
void step_work(struct world *w);
void step_chore(struct world *w);
void step_chores(struct world *w);
void step_calm(struct world *w);
void step_fetch(struct world *w);

/* plan.c and restart.c: faults and ends of the process */
void step_arm(struct world *w);
void step_full(struct world *w);
void step_crash(struct world *w);
void step_power(struct world *w);
void step_hang(struct world *w);
void step_close(struct world *w);

/* producer.c: a producer schedules and controls jobs */
void step_schedule(struct world *w);
void step_herd(struct world *w);
void step_batch(struct world *w);
void step_replace(struct world *w);
void step_rotate(struct world *w);
void step_hand_over(struct world *w);
void step_untie(struct world *w);
void step_cancel(struct world *w);
void step_delete(struct world *w);
void step_cancel_key(struct world *w);
void step_reschedule(struct world *w);
void step_edit(struct world *w);
void step_clone(struct world *w);
void step_redrive(struct world *w);
void step_redrive_queue(struct world *w);
void step_refuse(struct world *w);
void step_invalid(struct world *w);

/* recur.c: a producer makes and changes recurrences */
void step_recur(struct world *w);
void step_recur_pause(struct world *w);
void step_recur_run(struct world *w);
void step_recur_delete(struct world *w);
void step_delete_recurrences(struct world *w); /* all of them */

/* admin.c: an admin changes settings */
void step_queue_set(struct world *w);
void step_pause(struct world *w);
void step_resume(struct world *w, unsigned queue); /* and ends its rate */
void step_tenant_set(struct world *w);
void step_maintenance(struct world *w);
void step_tenant_pause(struct world *w);
void step_queue_delete(struct world *w);
void step_tenant_delete(struct world *w);
void step_open_tenant(struct world *w, unsigned tenant); /* no maintenance, no rate */

/* bulk.c: an admin changes many jobs at once */
void step_audit(struct world *w);
void step_bulk(struct world *w);
void step_bulk_stop(struct world *w);
/* After the engine did some of its own work: what bulks did is done to the model. */
void bulks_adopt(struct world *w);
/* Those, as bits, that may have done this to a job. */
unsigned bulks_about(const struct world *w, const struct model_job *job, unsigned action);

/* worker.c: workers take jobs */
void step_lease(struct world *w);
void step_wait(struct world *w);
void step_unwait(struct world *w);
void step_complete(struct world *w);
void step_fail(struct world *w);
void step_extend(struct world *w);
void step_release(struct world *w);
void step_storm(struct world *w);
void step_hog(struct world *w);
/* A worker asks at all queues, and takes nothing. */
void step_ask_all(struct world *w);
void step_lease_all(struct world *w);
void step_complete_all(struct world *w);

/* viewer.c: a reader looks at jobs and figures */
void step_get(struct world *w);
void step_list(struct world *w);
void step_page(struct world *w);
void step_compare(struct world *w);

/* reports.c: a reader asks why a job has not run, and how many will run */
void step_explain(struct world *w);
/* explained.c: whether EXPLAIN's answer about a job is right, as far as the model can tell. If not,
 * `ret` says why. */
bool explained_right(const struct world *w, const struct model_job *job,
                     const struct explanation *x, char ret[200]);
void step_forecast(struct world *w);

/* bytes.c: the bytes that are kept of a tenant. */
uint64_t bytes_kept(struct world *w, unsigned tenant);

#endif
