/* SPDX-License-Identifier: MIT */
/* The handlers that the table names, and functions that they share. */
#ifndef VERBS_HANDLERS_H
#define VERBS_HANDLERS_H

#include "engine/recurrence.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

/* Where rows have arguments that handlers take by their index, for speed. */
enum { SUBJECT }; /* the first one names the thing that the verb is about */
enum { SCHEDULE_IN = 2, SCHEDULE_ANSWER = 22, SCHEDULE_WAIT };
enum { LEASE_QUEUES, LEASE_COUNT, LEASE_WAIT };
enum { HELD_ID, HELD_TOKEN, HELD_OPTIONS };
enum { COMPLETE_RESULT = HELD_OPTIONS, COMPLETE_AGAIN };
enum { FAIL_ERROR = HELD_OPTIONS, FAIL_RETRY, FAIL_FINAL };
enum { RELEASE_IN = HELD_OPTIONS };
enum { LOG_TEXT = HELD_OPTIONS };
enum { JOB_ID, JOB_KEY, JOB_QUEUE, JOB_ORDER };

verb_fn run_schedule, run_lease, run_complete, run_fail, run_extend, run_release, run_cancel,
    run_delete, run_queuedelete, run_tenantdelete, run_reschedule, run_get, run_list, run_forecast,
    run_stats, run_queues, run_queue, run_pause, run_redrive, run_tenant, run_tenants, run_preview,
    run_explain, run_batch, run_recur, run_recurrence, run_recurrences, run_recurpause,
    run_recurrun, run_recurdelete, run_metrics, run_bulk, run_bulks, run_bulkstop, run_audit,
    run_tokencreate, run_tokens, run_tokenrevoke, run_workers, run_series, run_overview, run_edit,
    run_clone, run_occurrences, run_log, run_errors, run_count;

/* Fields of replies. Each table stands beside its handler; see shapes.c. */
extern const struct shape_field scheduled_fields[], summary_fields[], job_fields[],
    attempt_fields[], line_fields[], page_fields[], lease_fields[], fail_fields[], extend_fields[],
    explanation_fields[], cause_fields[], queue_fields[], tenant_fields[], stats_fields[],
    tenant_stats_fields[], step_fields[], occurrence_fields[], recurrence_fields[],
    recurrence_summary_fields[], recurrence_page_fields[], ledger_fields[], bulk_fields[],
    audit_fields[], audit_page_fields[], token_fields[], new_token_fields[], worker_fields[],
    series_fields[], series_page_fields[], glance_fields[], overview_fields[], time_fields[],
    times_fields[], error_fields[], error_page_fields[], count_fields[];
extern const struct shape_field label_fields[];   /* of struct job_view: tags and meta */
extern const struct shape_field counter_fields[]; /* of struct counters */

/* Figures of the whole server, for STATS and METRICS. A metric whose name ends in _total is a
 * counter, any other a gauge. */
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

/* ---- Workers: worker.c ---- */

struct worker;

/* Notes that a worker, whose name may be empty, asks for jobs of these queues. */
void verb_sees_ask(struct verb_call *c, struct str worker, struct str queues);
/* Notes a word about a leased job, before the engine hears it. NULL: there is no such lease, or
 * workers are not noted. */
struct worker *verb_sees_holder(struct verb_call *c, struct job_id id, uint64_t token);

/* ---- Waiting for the end of a job: look.c ---- */

/* Has the call wait for the end of the job, as long as the argument says, and then show it, with
 * its log if that is asked for. See verb_await. */
void await_begin(struct verb_call *c, struct job_id id, const struct arg_value *wait, bool log);

/* ---- Replies ---- */

/* Writes an error whose text says everything. */
void verb_refuse(struct verb_call *c, int err, const char *text);
/* Writes the engine's error, if err is one and no error was written before. Whether err is one. */
bool verb_failed(struct verb_call *c, int err);
/* As verb_failed, but NOTFOUND is answered with null. */
bool verb_missing(struct verb_call *c, int err);
/* Writes OK, or the engine's error. */
void verb_ok(struct verb_call *c, int err);
void reply_id(struct reply *r, struct job_id id);
/* Options of a job that all verbs show alike: labels.c. */
void reply_tags(struct reply *r, const struct job_labels *labels);
void reply_meta(struct reply *r, const struct job_labels *labels);
void reply_gates(struct reply *r, bool passing);
/* Writes the answer of SCHEDULE: a map, or the id. */
void reply_scheduled(struct reply *r, bool map, const struct schedule_result *result);
/* Notes for the audit log the id of a new thing, and a word about it. */
void verb_outcome(struct verb_call *c, struct job_id id, const char *word);

/* ---- Arguments ---- */

/* Whether the caller may see only things of its own tenant. */
bool verb_is_confined(const struct verb_call *c);

/* The zone that an argument names, UTC if it is not set; it lives until the next call. 0, or an
 * error after its reply. */
struct zone;
int zone_given(struct verb_call *c, struct str tz, const struct zone **ret);

/* Arguments of verbs that show many things, by name. */
struct listing {
    struct str after;
    size_t limit;
};
#define LISTING       \
    {                 \
        STR(""), 1000 \
    }

/* A job as SCHEDULE's arguments describe it, and the memory that the description needs. */
struct item {
    struct job_spec spec; /* first: item_of stores arguments from here on */
    char name[QUEUE_MAX_BYTES];
    bool map; /* the answer is a map, by SCHEDULE's row */
    struct str tags[TAGS_MAX + 1];
    struct meta meta[METAS_MAX + 1];
    struct job_id after[AFTER_MAX + 1];
};

/* Arguments of RECUR, PREVIEW and FORECAST. */
struct recur_item {
    struct item item; /* first: see item_of */
    struct recurrence_spec recur;
};

struct preview {
    struct str tz;
    int64_t start_ms;
    int64_t from_ms;
    size_t count;
    struct str name;  /* of a recurrence that may not exist yet; empty: none in particular */
    struct str queue; /* of its jobs */
};

struct forecast {
    int64_t from_ms;
    int64_t to_ms;
    int64_t step_ms;
    struct str queue; /* without its tenant; empty: all */
};

/* Arguments of OCCURRENCES. */
struct window {
    int64_t from_ms;
    int64_t to_ms;
    size_t limit;
    struct str queue; /* without its tenant; empty: all */
};

/* The states that the argument STATE gives, as bits; 0: any. */
unsigned verb_states(const struct verb_call *c);
/* The argument that the verb's row has under this name. */
const struct arg_value *arg_of(const struct verb_call *c, const char *name);
/* The value that is given, or else `otherwise`, or an empty slice. */
static inline int64_t arg_number(const struct arg_value *v, int64_t otherwise)
{
    return v->set ? v->number : otherwise;
}

static inline struct str arg_str(const struct arg_value *v)
{
    return v->set ? v->str : (struct str){ 0 };
}

/* Stores the given values in the members that the verb's row names. Returns the bits of settings.
 */
unsigned args_store(const struct verb_call *c, void *ret);
/* The job that the arguments describe, without its due time. False after an error reply. */
bool item_of(struct verb_call *c, struct item *ret);
/* Stores the options that may be given several times: each stands for all of its kind. */
void item_labels(struct verb_call *c, struct item *ret);
/* Only an admin may have a job kept for longer than its queue says. False after an error reply. */
bool may_retain(struct verb_call *c, const struct job_spec *spec);
/* The job with its due time, by SCHEDULE's row. False after an error reply. */
bool schedule_of(struct verb_call *c, struct item *ret);
/* The argument that is given of RRULE, CRON and EVERY, which stand in this order in a row. NULL
 * after an error reply. */
const struct arg *rule_given(struct verb_call *c, enum recur_kind *ret_kind, struct str *ret_text);
/* Makes one moment of the arguments IN and AT; -1 if neither is given. `in` is IN, and AT is the
 * argument behind it. Returns false after an error reply. */
bool due_of(struct verb_call *c, const struct arg_value *in, int64_t *ret);
/* The full name of a tenant's queue; it borrows from buf, or is the queue's name itself. */
void full_name(struct str tenant, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret);
/* Whether the call is about one tenant. False after an error reply: it is about all of them. */
bool one_tenant(struct verb_call *c);
/* The full name of a queue of the call's tenant. False after an error reply of one_tenant. */
bool queue_named(struct verb_call *c, struct str queue, char buf[QUEUE_MAX_BYTES], struct str *ret);
/* The job that an id, or KEY and QUEUE, name: 0, NOTFOUND, COLD, or INVALID after an error reply.
 */
int job_named(struct verb_call *c, struct job_id *ret);

#endif
