/* SPDX-License-Identifier: MIT */
/* The handlers that the table names, and where each row has the arguments that its handler takes
 * itself. */
#ifndef VERBS_HANDLERS_H
#define VERBS_HANDLERS_H

#include "verbs/shape.h"
#include "verbs/verb.h"

enum { SCHEDULE_QUEUE, SCHEDULE_PAYLOAD, SCHEDULE_IN, SCHEDULE_AT };
enum { BATCH_MODE, BATCH_ITEMS };
enum { LEASE_QUEUES, LEASE_COUNT, LEASE_WAIT };
enum { HELD_ID, HELD_TOKEN, HELD_OPTIONS };
enum { COMPLETE_RESULT = HELD_OPTIONS, COMPLETE_AGAIN };
enum { FAIL_ERROR = HELD_OPTIONS, FAIL_RETRY, FAIL_FINAL };
enum { RELEASE_IN = HELD_OPTIONS };
enum { JOB_ID, JOB_KEY, JOB_QUEUE, JOB_ORDER };
enum { RESCHEDULE_ID, RESCHEDULE_IN, RESCHEDULE_AT };
enum { LIST_QUEUE, LIST_STATE, LIST_FROM, LIST_TO, LIST_LIMIT, LIST_CURSOR };
enum { QUEUE_NAME };
enum { TENANT_NAME };
enum { TENANTS_AFTER, TENANTS_LIMIT };
enum { TOKENCREATE_NAME, TOKENCREATE_ROLE, TOKENCREATE_TENANT, TOKENCREATE_EXPIRE };
enum { TOKENREVOKE_NAME };
enum { TOKENS_AFTER, TOKENS_LIMIT };
enum { FORECAST_FROM, FORECAST_TO, FORECAST_STEP, FORECAST_TENANT };
enum {
    PREVIEW_RRULE,
    PREVIEW_CRON,
    PREVIEW_EVERY,
    PREVIEW_TZ,
    PREVIEW_START,
    PREVIEW_FROM,
    PREVIEW_COUNT
};
/* RRULE, CRON and EVERY stand one behind the other, in the order of enum recur_kind. */
enum {
    RECUR_NAME,
    RECUR_ARG_QUEUE,
    RECUR_PAYLOAD,
    RECUR_ARG_RRULE,
    RECUR_ARG_CRON,
    RECUR_ARG_EVERY,
    RECUR_TZ,
    RECUR_START,
    RECUR_EXDATE,
    RECUR_RDATE,
    RECUR_CATCHUP,
    RECUR_OVERLAP
};
enum { RECURRENCES_LIMIT, RECURRENCES_CURSOR };
enum { BULKS_ID };
enum { BULKSTOP_ID };
enum { AUDIT_FROM, AUDIT_TO, AUDIT_LIMIT, AUDIT_CURSOR };
enum { QUEUES_AFTER, QUEUES_LIMIT };
enum { REDRIVE_ID, REDRIVE_QUEUE, REDRIVE_LIMIT };

verb_fn run_schedule, run_lease, run_complete, run_fail, run_extend, run_release, run_cancel,
    run_reschedule, run_get, run_list, run_forecast, run_stats, run_queues, run_queue, run_pause,
    run_resume, run_redrive, run_tenant, run_tenants, run_preview, run_explain, run_batch,
    run_recur, run_recurrence, run_recurrences, run_recurpause, run_recurresume, run_recurrun,
    run_recurdelete, run_metrics, run_bulk, run_bulks, run_bulkstop, run_audit, run_tokencreate,
    run_tokens, run_tokenrevoke;

/* Fields of replies, each table with its handler: see shapes.c. */
extern const struct shape_field summary_fields[], job_fields[], attempt_fields[], page_fields[],
    lease_fields[], fail_fields[], extend_fields[], explanation_fields[], queue_fields[],
    tenant_fields[], stats_fields[], tenant_stats_fields[], step_fields[], occurrence_fields[],
    recurrence_fields[], recurrence_summary_fields[], recurrence_page_fields[], ledger_fields[],
    bulk_fields[], audit_fields[], audit_page_fields[], token_fields[], new_token_fields[];
extern const struct shape_field label_fields[];   /* of struct job_view: tags and meta */
extern const struct shape_field counter_fields[]; /* of struct counters */

/* Figures of the whole server, for STATS and METRICS, and those that only METRICS shows. A metric
 * whose name ends in _total is a counter, any other a gauge. */
struct figures {
    struct engine_stats s;
    struct partition_stats p;
    struct verb_host_stats h;
    uint64_t tokens;
};

void figures_look(struct engine *e, struct partition *p, const struct verb_host *host,
                  struct figures *ret);
extern const struct shape_field server_metrics[], storage_metrics[]; /* of struct figures */
extern const struct shape_field push_metrics[];                      /* of struct push_stats */

/* Shared by handlers. */

/* An error whose text is all that there is to say. */
void verb_refuse(struct verb_call *c, int err, const char *text);
/* The caller may see nothing but what is his tenant's. */
bool verb_is_confined(const struct verb_call *c);

/* The zone that an argument names, UTC if it is not set; it lives until the next call. 0, or an
 * error after its reply. */
struct zone;
int zone_given(struct verb_call *c, const struct arg_value *tz, const struct zone **ret);

/* A job as SCHEDULE's arguments say, and what they need room for. */
struct item {
    struct job_spec spec;
    char name[QUEUE_MAX_BYTES];
    struct str tags[TAGS_MAX + 1];
    struct meta meta[METAS_MAX + 1];
    struct job_id after[AFTER_MAX + 1];
};

/* The argument that the verb's row has under this name. */
const struct arg_value *arg_of(const struct verb_call *c, const char *name);
/* What is given, or else: this number; an empty slice. */
static inline int64_t arg_number(const struct arg_value *v, int64_t otherwise)
{
    return v->set ? v->number : otherwise;
}

static inline struct str arg_str(const struct arg_value *v)
{
    return v->set ? v->str : (struct str){ 0 };
}

/* Stores what is given in the members that the verb's row says. Returns the bits of settings. */
unsigned args_store(const struct verb_call *c, void *ret);
/* The job that the arguments say, but for its due time. False after an error reply. */
bool item_of(struct verb_call *c, struct item *ret);
/* The same with its due time, for SCHEDULE's row. */
bool schedule_of(struct verb_call *c, struct item *ret);
/* Which of RRULE, CRON and EVERY is given, the first of them at `first`: its index, or INVALID
 * after an error reply. */
int rule_given(struct verb_call *c, int first);
/* IN and AT as one moment; -1 if neither is given. INVALID after an error reply. */
int due_of(struct verb_call *c, const struct arg_value *in, const struct arg_value *at,
           int64_t *ret);
/* What the audit log says of it: the id of what was made, and a word. */
void verb_outcome(struct verb_call *c, struct job_id id, const char *word);
void reply_id(struct reply *r, struct job_id id);
/* The full name of a tenant's queue: in buf, or the queue's own. */
void full_name(struct str tenant, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret);
/* The call is about one tenant, not all of them. False after an error reply. */
bool one_tenant(struct verb_call *c);
/* The full name of a queue of the call's tenant. False after an error reply: that is all of them.
 */
bool queue_named(struct verb_call *c, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret);
void verb_ok(struct verb_call *c, int err); /* OK, or the engine's error */
/* The job that an id, or KEY and QUEUE, name: 0, NOTFOUND, COLD, or INVALID after an error reply.
 */
int job_named(struct verb_call *c, struct job_id *ret);

#endif
