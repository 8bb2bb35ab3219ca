/* SPDX-License-Identifier: MIT */
/*
 * What users are promised, as naively as possible: plain arrays that are searched from end to end,
 * no code of the engine. A request to the model answers what the engine must answer. Where the
 * engine may choose, the model leaves a gap: ids, tokens, the jitter of a retry, which of several
 * equal jobs. The judge checks that the engine's choice is allowed, and fills the gap with it.
 *
 * A model can be copied, so the simulator keeps one for every commit that a crash may go back to.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "engine/types.h"
#include "engine/recurrence.h"
#include "sim/model_log.h"
#include "sim/backoffs.h"
#include "sim/tenants.h"

#define MODEL_KEYS        6          /* keys are 1 .. MODEL_KEYS; 0: none */
#define MODEL_ORDERS      3          /* ordering keys are 1 .. MODEL_ORDERS; 0: none */
#define MODEL_AFTERS      4          /* jobs that one waits for, at most */
#define MODEL_ATTEMPTS    12         /* that a job remembers, at most */
#define MODEL_RECURRENCES 4          /* the tenant of each is fixed: see recurrence_tenant */
#define MODEL_WORKERS     4          /* names of workers are 1 .. MODEL_WORKERS - 1; 0: none */
#define ERROR_OF_ENGINE   UINT32_MAX /* a text that the engine chose */

struct model_attempt {
    uint32_t number;
    unsigned outcome;
    int64_t start_ms;
    int64_t end_ms;
    int64_t late_ms;
    uint32_t worker;
    uint32_t error;
};

/* A job that another waits for. */
struct model_parent {
    struct job_id id;
    bool ended; /* the parent has ended, and the engine has not told the job yet */
    bool done;
};

struct model_job {
    struct job_id id;
    unsigned queue;
    uint32_t key; /* with its ordering key: see KEYS_OF_ORDER */
    uint32_t order;
    uint32_t payload;
    int priority;
    int64_t attempts;
    unsigned backoff; /* of the job itself; 0: the queue's */
    int64_t lease_ms; /* of the job itself; -1: the queue's */
    int64_t retain_ms;
    int64_t expire_ms; /* 0: never */
    int64_t key_hold_ms;
    uint32_t labels; /* see labels.h */
    bool notify;
    bool passing;
    struct model_parent after[MODEL_AFTERS];
    size_t after_count;
    enum after_fail after_fail;
    unsigned recurrence; /* 1 + the number of the one that made it; 0: none */
    int64_t nominal_ms;
    unsigned listeners; /* who wait for it, or did */
    bool telling;       /* it has ended, and the engine may not have told them yet */
    bool lapsed;        /* the hold of its key was over while it told them */

    enum job_state state;
    int64_t created_ms;
    int64_t due_ms;
    int64_t at_ms;
    bool at_open; /* the engine chooses at_ms, from at_low to at_high */
    int64_t at_low;
    int64_t at_high;
    uint32_t attempt;
    uint32_t stalls;
    int64_t deferred_ms; /* it waits until then because of quiet hours; -1: it does not */
    uint32_t deferrals;
    bool holding;     /* leased or deferred at its present due time: it keeps its ordering key */
    bool passed_over; /* a REDRIVE of its queue that is under way met it while its key was taken */
    bool retried;     /* at_ms is that of another try, after an attempt without success */
    bool ahead;       /* ready, but the clock was set back since */
    uint64_t fact;    /* model.changes when it last changed, but for leases */
    unsigned dues;    /* how often its due time changed */
    uint64_t moved;   /* model.steps when it last changed its state or place */
    uint64_t placed;  /* model.steps when it last changed, but for what time does */
    int64_t calm_ms;  /* model.calm_ms at the step `placed` */
    uint64_t calm_step; /* model.calm_step at the step `placed` */

    uint64_t token;
    int64_t start_ms;
    int64_t late_ms;
    int64_t length_ms;   /* of the lease */
    bool graced;         /* a start gave it more */
    int64_t until_ms;    /* wall */
    int64_t end_mono_ms; /* when it really ends */
    uint32_t worker;
    int64_t progress;
    uint32_t note;
    bool cancelling;
    bool replacing;
    uint32_t next_payload;
    int64_t next_due_ms;

    int64_t ended_ms;
    int64_t keep_ms;
    int64_t hold_ms; /* key taken until then; 0: not */
    bool held;
    uint32_t result;
    uint32_t error;
    struct model_attempt history[MODEL_ATTEMPTS];
    struct model_log log;
    size_t history_count;
    size_t history_first;      /* attempts before those that were left out, if any were */
    uint32_t history_left_out; /* attempts that are no longer in `history` */
};

/* An occurrence that has not ended, or has and may be put back. */
struct model_occurrence {
    struct job_id id;
    bool ended; /* it has ended, and the engine has not told the recurrence yet */
    enum job_state state;
    int64_t ended_ms;
    enum ledger_outcome told; /* what the recurrence knows */
};

/* A request for a recurrence. */
struct model_recur {
    bool daily;        /* by clocks in Berlin: see model_rule.c */
    int64_t period_ms; /* a number of days if it is daily */
    int64_t count;     /* 0: for ever */
    int64_t start_ms;  /* -1: now, or as it was */
    enum catchup catchup;
    enum overlap overlap;
    unsigned queue;
    uint32_t payload;
    int priority;
    int64_t attempts;
    int64_t retain_ms;
    int64_t expire_ms;
    uint32_t labels;
};

#define MODEL_OCCURRENCES 160
#define MODEL_LEDGER      100

/* The outcome of a nominal time, or of several in a row that were skipped for one reason. */
struct model_entry {
    enum ledger_outcome outcome;
    int64_t nominal_ms;
    int64_t upto_ms;
    uint64_t count;
    bool by_hand;
    uint64_t seq; /* 0: no job was made */
    int64_t ended_ms;
};

struct model_recurrence {
    bool exists;
    struct model_recur said;
    bool paused;
    uint64_t revision;
    int64_t last_ms;
    int64_t next_ms;
    int64_t skip_ms; /* up to here they are skipped, for this reason */
    enum ledger_outcome skip_why;
    struct {
        int64_t first_ms;
        int64_t last_ms;
        uint64_t n;
    } queue[QUEUE_RANGES]; /* nominal times that wait for their turn, in stretches without a gap */
    size_t stretches;
    uint64_t totals[LEDGER_OUTCOME_COUNT];
    struct model_entry ledger[MODEL_LEDGER];
    size_t entry_count;
    struct model_occurrence occurrences[MODEL_OCCURRENCES];
    size_t occurrence_count;
};

struct model_queue {
    bool exists;
    bool paused;
    int64_t lease_ms;
    int64_t attempts;
    unsigned backoff;
    int64_t retain_ms;
    int64_t retain_dead_ms;
    int64_t key_hold_ms;
    int64_t past_grace_ms;
    int64_t max_running;
    struct rate rate;
    struct counters counters; /* since the engine was made */
    bool passed_over;         /* REDRIVE has met taken keys; jobs with such keys come last */
};

/* What a bulk is about, and how far it is: what the engine said last, and what was seen to change.
 */
struct model_bulk {
    bool on;
    struct job_id id;
    unsigned action; /* enum bulk_action */
    bool dry;
    unsigned tenant;
    int queue; /* -1: all of the tenant */
    unsigned states;
    uint32_t order; /* 0: any */
    int64_t from_ms;
    int64_t to_ms;
    int64_t due_ms;
    uint64_t token;     /* leases behind this one came after it */
    uint64_t started;   /* model.steps when the bulk was asked for */
    uint64_t facts;     /* model.changes when the bulk was asked for */
    uint64_t picks;     /* model.leases when the bulk was asked for */
    uint64_t movements; /* world.movements when the bulk was asked for */
    int64_t asked_ms;   /* the time when the bulk was asked for */
    uint64_t said[5];   /* looked, matched, changed, skipped, walks */
    uint64_t changed;
    uint64_t unsure; /* may have been deleted or forgotten */
};

#define MODEL_AUDITS 128
#define MODEL_BULKS  3

struct model {
    struct model_bulk bulks[MODEL_BULKS];
    struct model_job *jobs;
    size_t count;
    size_t cap;
    struct model_recurrence recurrences[MODEL_RECURRENCES];
    struct model_queue queues[MODEL_QUEUES];
    struct tenant_settings tenants[MODEL_TENANTS];
    struct model_takes queue_rated[MODEL_QUEUES];
    struct model_takes tenant_rated[MODEL_TENANTS];
    uint64_t rated;                     /* leases that a rate counted */
    int64_t reopened_ms[MODEL_TENANTS]; /* since the engine was made: the last end of maintenance */
    uint64_t max_running;               /* of the server; 0: any number */
    size_t attempts_kept;               /* attempts that a job remembers, from now on */
    int64_t slow_start_ms;
    int64_t start_mono_ms;
    uint64_t served; /* LEASEs that got jobs, since the engine was made */
    /* By turns: what one has given while it and another had something to give. */
    uint64_t given[MODEL_QUEUES][MODEL_QUEUES];
    bool short_turn[MODEL_QUEUES]; /* its turn under way may be shorter than its weight */
    unsigned scope;                /* of the request that is executed */
    int64_t now_ms;
    int64_t mono_ms;
    bool refusing;
    bool touched;           /* the last start wrote something about leases */
    size_t whole;           /* in the middle of a batch: 1 and the graves when it began; 0: not */
    bool replaying;         /* nothing expires yet: that is when the engine looks at the time */
    bool cold;              /* jobs may be on disk */
    unsigned bulked;        /* tenants, as bits, of which a bulk was asked for */
    unsigned bytes_bite;    /* tenants, as bits, whose history may have to give way: max_bytes */
    bool forgetful;         /* done and cancelled jobs may be forgotten before their time */
    uint64_t history_bytes; /* `forgetful` is for queues with more history; 0: there is room */
    bool set_back;          /* the clock was set back at some time */
    int64_t latest_ms;      /* the latest time that the clock ever showed */
    int64_t calm_ms; /* when everything was calm last, since the order could be told: INT64_MIN */
    uint64_t calm_step;
    uint64_t steps;                    /* of the simulation, set by it */
    uint64_t changes;                  /* facts so far, leases not counted */
    uint64_t leases;                   /* leases so far */
    uint64_t seq_max;                  /* the largest sequence number so far */
    uint64_t audits;                   /* entries of the audit log that were made */
    int64_t audit_at_ms[MODEL_AUDITS]; /* moments of the last of them, by their numbers */
    /* Forgotten jobs. A clock that is set back, and a restart, may show them once more. A copy of
     * the model shares it. */
    struct model_graveyard *graveyard;
};

struct model_grave {
    struct model_job job;
    uint64_t changes; /* of the model when it was forgotten */
    uint64_t bulk;    /* that deleted it, or 0 */
    uint64_t step;    /* model.steps and */
    int64_t life_ms;  /* model.start_mono_ms when it was forgotten */
};

struct model_graveyard {
    struct model_grave *graves;
    size_t count;
    size_t cap;
};

struct model_spec {
    unsigned queue;
    uint32_t payload;
    int64_t due_ms;
    uint32_t key;
    uint32_t order;
    enum if_exists if_exists;
    int priority;
    int64_t attempts;
    unsigned backoff;
    int64_t lease_ms;
    int64_t retain_ms;
    int64_t expire_ms;
    int64_t key_hold_ms;
    uint32_t labels;
    bool notify;
    bool passing;
    struct job_id after[MODEL_AFTERS];
    size_t after_count;
    enum after_fail after_fail;
};

extern const struct model_queue model_queue_usual;
extern const struct tenant_settings model_tenant_usual;

void model_init(struct model *m, struct model_graveyard *graveyard);
void model_fini(struct model *m);
void model_copy(struct model *to, const struct model *from);
void model_graveyard_fini(struct model_graveyard *g);

struct model_job *model_find(const struct model *m, struct job_id id);
/* The job that has this key, held keys included. */
struct model_job *model_find_key(const struct model *m, unsigned queue, uint32_t key);
/* When it expires if it is not started by then; -1: never, or it was started. */
int64_t model_expires(const struct model_job *job);
/* It was not started in time, but the engine has not come to it: it is on disk. */
bool model_is_over(const struct model *m, const struct model_job *job);
/* It has ended, and nothing of it has to be kept any more. */
bool model_is_past(const struct model *m, const struct model_job *job);
/* What users see. */
enum job_state model_shown(const struct model *m, const struct model_job *job);
/* Counts jobs of a queue in a state. */
uint64_t model_count(const struct model *m, unsigned queue, enum job_state state);
int64_t model_rank(const struct model_job *job);

/* The next moment at which something happens by itself, INT64_MAX if nothing does. */
void model_next(const struct model *m, int64_t *ret_wall_ms, int64_t *ret_mono_ms);

/* ---- Time ---- */

/* True if the clock was set back by that. */
bool model_advance(struct model *m, int64_t wall_ms, int64_t mono_ms);
/* What a restart at this moment makes of it. */
void model_restart(struct model *m, int64_t wall_ms, int64_t mono_ms);
/* And then what the start writes down: who got more time, and leases that ended meanwhile. */
void model_begin(struct model *m);
/* The dead jobs of this queue, and those that have their keys, may have been brought to memory:
 * that costs those on disk their place. */
void model_disturb(struct model *m, unsigned queue);
/* After gaps were filled: what is due by now. */
void model_fire(struct model *m);
/* All that is due is loaded, or in a backlog. */
void model_calm(struct model *m);
/* Whether an ended job holds its key whatever became of the clock. A hold that was over once may be
 * gone: the server ends it when it looks at the job, which may be on disk, or after it has told
 * other jobs. */
bool model_surely_holds(const struct model *m, const struct model_job *job);
/* Whether an ended job may be gone though its time is not over. */
bool model_may_forget(const struct model *m, const struct model_job *job);
/* A job that was forgotten but may show itself on disk, because its time is not over by a clock
 * that was set back. NULL: there is none. */
const struct model_job *model_ghost(const struct model *m, struct job_id id);
/* Whether this job, on disk, may hold its key once more by a clock that was set back; and the
 * engine says that it does. */
bool model_may_hold(const struct model *m, unsigned queue, uint32_t key, struct job_id id);
void model_hold_again(struct model *m, unsigned queue, uint32_t key, struct job_id id);
/* The engine says that a key is free, which was held by a job that it was free to forget. */
void model_unhold(struct model *m, unsigned queue, uint32_t key);

/* ---- Ordering keys: model_order.c ---- */

/* A job that this job must wait for, because both have one ordering key; NULL: there is none. */
const struct model_job *model_ahead(const struct model *m, const struct model_job *job);
/* Whether the job is ready and waits for no other job. */
bool model_can_go(const struct model *m, const struct model_job *job);
/* The clock was set back. */
void model_rewind(struct model *m);
/* ---- Jobs that wait for others: model_after.c ---- */

/* Whether a job may wait for those that it names: 0, INVALID or NOTFOUND. */
int model_after_check(const struct model *m, const struct model_spec *spec);
/* The last job of the model waits for these, or is cancelled for want of one. */
void model_after_begin(struct model *m, const struct model_spec *spec);
/* A job has ended: those who wait for it may be told. */
void model_after_ended(struct model *m, const struct model_job *job);
/* The job was put back before its listeners were told. */
void model_after_revived(struct model *m, struct model_job *job);
/* The engine has told the job of all parents that are not in `left`. False, with nothing changed:
 * it may not be told of one of them. */
bool model_after_told(struct model *m, struct model_job *job, const struct job_id *left, size_t n);
/* As model_after_told, for a job that was cancelled because a parent was not done. `left` NULL: the
 * job is gone. */
bool model_after_cancelled(struct model *m, struct model_job *job, const struct job_id *left,
                           size_t n);
/* The engine has no listener left to tell. */
void model_all_told(struct model *m);

/* ---- Recurrences: model_recur.c ---- */

unsigned recurrence_tenant(unsigned recurrence);
/* How many of its occurrences have not ended, as far as it was told. */
size_t recurrence_open(const struct model_recurrence *r);
uint64_t recurrence_queued(const struct model_recurrence *r);
/* 0, INVALID, NOTFOUND, LIMIT or FULL. */
int model_recur(struct model *m, unsigned recurrence, const struct model_recur *s);
int model_recur_pause(struct model *m, unsigned recurrence, bool paused);
int model_recur_delete(struct model *m, unsigned recurrence);
/* If it answers 0 an occurrence of this id is made. */
int model_recur_run(struct model *m, unsigned recurrence, struct job_id id);
/* An occurrence has ended, or was put back. */
void model_recur_ended(struct model *m, const struct model_job *job, bool ended);
/* What the engine did of itself, as RECURRENCE shows it; false with a sentence if it may not. */
bool model_recur_follow(struct model *m, unsigned recurrence, const struct recurrence *is,
                        char ret[200]);
/* The ledger shows what the model says; false with a sentence if not. */
bool model_ledger_is(const struct model_recurrence *r, const struct recurrence *is, char ret[200]);
/* The moment at which clocks in Berlin show a time first, or the next that they show. */
int64_t model_rule_moment(int64_t local_ms);
/* Whether something is to be done about one now. */
bool model_recur_is_due(const struct model *m, unsigned recurrence);
/* When there will be; INT64_MAX: never, or it should have been done already. */
int64_t model_recur_next(const struct model *m, unsigned recurrence);

/* ---- Who may give: model_tenant.c ---- */

/* How many jobs a lease of these queues (bits) can get at least; those that would
 * take an ordering key only of tenants (bits) that are `fresh`. */
size_t model_deliverable(const struct model *m, unsigned queues, unsigned fresh);
/* Whether these queues have ready jobs, held back or not. */
bool model_has_ready(const struct model *m, unsigned queues);
/* What keeps a queue from giving for certain, HOLD_NONE if it may: a job that passes all gates, or
 * another. */
enum hold model_hold(const struct model *m, unsigned queue, bool passing);
/* Whether nothing keeps it from giving those that pass no gates for certain. */
bool model_gives(const struct model *m, unsigned queue);
/* When one of these queues can give at the latest that has a job and is held back by nothing but a
 * rate; monotonic. INT64_MAX: none is. */
int64_t model_rate_moment(const struct model *m, unsigned queues);
/* When one of these queues can give that has a job and is held back by nothing but slow start;
 * monotonic. INT64_MAX: none is. */
int64_t model_start_moment(const struct model *m, unsigned queues);
/* Jobs of a tenant that have not ended, and those of them that are leased. */
uint64_t model_pending(const struct model *m, unsigned tenant);
uint64_t model_running(const struct model *m, unsigned tenant);
/* This queue gives a job; `turn`: because it is its turn. Returns a queue that gets less than its
 * share by that, or -1. */
int model_pass(struct model *m, unsigned queue, bool turn);
/* Something changed: queues that give nothing now have lost their place. */
void model_turns(struct model *m);
void model_lose_turn(struct model *m, unsigned queue);
/* Calls `change` with the clocks for what each rate has counted. */
void model_rates(struct model *m, void (*change)(struct model_takes *x, int64_t, int64_t));
bool model_is_shut(const struct model *m, unsigned tenant); /* by maintenance */
/* The end of its last maintenance; 0: it is shut, or was not since the engine was made. */
int64_t model_reopened(const struct model *m, unsigned tenant);
void model_rate_set(struct rate *r, const struct rate *to, bool rate, bool burst);
void model_tenant_set(struct model *m, unsigned tenant, const struct tenant_settings *s,
                      unsigned fields);
/* The job that a request of model.scope finds by this id. */
struct model_job *model_seek(const struct model *m, struct job_id id);
bool model_in_scope(const struct model *m, const struct model_job *job);

/* ---- Gates and slow start: model_gate.c ---- */

/* Quiet hours as text, a part of a period that is made to fit into a day; and what they mean: until
 * when it is quiet, -1 if it is not. */
void gate_quiet(char ret[QUIET_MAX_BYTES + 1], int64_t period_ms, int64_t length_ms,
                int64_t from_ms);
int64_t gate_quiet_until(struct str quiet, int64_t now_ms);
/* Until when quiet hours keep a job; -1: they do not. */
int64_t model_quiet_until(const struct model *m, const struct model_job *job);
/* Whether a ready job may be given, but for limits. */
bool model_may_give(const struct model *m, const struct model_job *job);
/* The engine deferred a job. False if it was not to. */
bool model_defer(struct model *m, struct model_job *job, int64_t at_ms);
/* What the server may run now; 0: any number. */
uint64_t model_limit(const struct model *m);
/* When it may run more than these; monotonic. */
int64_t model_slow_moment(const struct model *m, uint64_t running);

/* ---- Requests: the answer the engine must give, the model changed accordingly ---- */

/* *ret_id is the job kept, replaced, or in the way. A job created is the last of m->jobs; its id is
 * a gap. */
int model_schedule(struct model *m, const struct model_spec *spec, struct job_id *ret_id,
                   enum schedule_outcome *ret_outcome);
/* A ready job becomes leased. */
void model_lease(struct model *m, struct model_job *job, int64_t for_ms, uint32_t worker,
                 uint64_t token);
int model_complete(struct model *m, struct job_id id, uint64_t token, uint32_t result,
                   int64_t again_ms);
int model_fail(struct model *m, struct job_id id, uint64_t token, uint32_t error, int64_t retry_ms,
               bool final, enum job_state *ret_state);
int model_line(struct model *m, struct job_id id, uint64_t token, uint32_t text);
int model_extend(struct model *m, struct job_id id, uint64_t token, int64_t for_ms,
                 int64_t progress, bool has_note, uint32_t note);
int model_release(struct model *m, struct job_id id, uint64_t token, int64_t in_ms);
int model_cancel(struct model *m, struct job_id id);
/* 0, NOTFOUND or STATE. */
int model_delete(struct model *m, struct job_id id);
/* What an edit names: bits. */
enum {
    NAMES_PAYLOAD = 1,
    NAMES_DUE = 2,
    NAMES_PRIORITY = 4,
    NAMES_ATTEMPTS = 8,
    NAMES_BACKOFF = 16,
    NAMES_LEASE = 32,
    NAMES_RETAIN = 64,
    NAMES_EXPIRE = 128,
    NAMES_HOLD = 256,
    NAMES_LABELS = 512,
    NAMES_NOTIFY = 1024,
    NAMES_GATES = 2048,
    NAMES_ALL = 4095
};

/* The values of a job, without its due time and the jobs that it waits for. */
struct model_spec model_spec_of(const struct model_job *job);
/* Takes what is named from a spec. */
void model_spec_name(struct model_spec *s, const struct model_spec *from, unsigned names);
/* Gives a job these values; due_ms -1: its due time stays. */
int model_edit(struct model *m, struct job_id id, const struct model_spec *s, bool redrive);
int model_reschedule(struct model *m, struct job_id id, int64_t due_ms);
int model_redrive(struct model *m, struct job_id id);
/* Another job that has the key of a dead job; or NULL. */
struct model_job *model_rival(const struct model *m, const struct model_job *job);
/* One of the oldest dead jobs of the queue that may be put back; NULL if there is none. */
struct model_job *model_redrivable(const struct model *m, unsigned queue);
void model_queue_set(struct model *m, unsigned queue, const struct model_queue *s, unsigned fields);

#endif
