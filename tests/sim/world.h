/* SPDX-License-Identifier: MIT */
/*
 * The simulated world: a partition on a store that fails, its clocks, the answers that wait for
 * durability, the parked workers, and the model that knows better. One step does one thing: a
 * request, a bit of time, a part of the commit cycle, a crash.
 *
 * Most worlds are cold: their memory is so small that jobs go to disk and come back all the time.
 * The model knows nothing of that; a few of its promises are looser there (see judge.h).
 *
 *     model      what the engine must be like now
 *     taken      what it was like when the commit under way was taken
 *     safe[]     what it was like at each commit that a crash may go back to; the last one is the
 *                last that settled
 *
 * Which of them it must be after a crash follows from where the journal ends in the store.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "partition/partition.h"
#include "record/series.h"
#include "sim/cover.h"
#include "sim/judge.h"
#include "sim/look.h"
#include "sim/model.h"
#include "sim/request.h"
#include "sim/rng.h"
#include "sim/text.h"
#include "sim/trace.h"
#include "support/fault.h"
#include "store/memory.h"

#define WAITS_MAX  12
#define TOKENS_MAX 64
#define SAFE_MAX   8
#define YEAR_2026  INT64_C(1767225600000)

/* An answer that a client has not got yet. */
struct answer {
    const char *verb;
    uint64_t lsn;     /* leaves when this is durable */
    uint64_t changes; /* the facts of the model that the answer may have seen */
    uint64_t leases;  /* the leases of the model that it may have seen and waits for; else 0 */
    uint64_t told;    /* leases that the answer may tell of */
    uint64_t rated;   /* of these, by the model: a rate counted so many */
};

struct wait {
    struct world *world;
    bool live;
    struct waiter *waiter;
    unsigned queues; /* bits: queues that the worker named */
    unsigned kinds;  /* bits: queues of all tenants that the worker named */
    unsigned reach;  /* bits: all queues that the worker asks */
    bool held;       /* there was work that was held back */
    size_t count;
    int64_t for_ms;
    uint32_t worker;
    int64_t deadline_ms; /* monotonic */
};

/* A lease that a worker had once. */
struct token {
    struct job_id id;
    uint64_t token;
};

/* A job that LIST must show if its due time stays. */
struct there {
    struct job_id id;
    unsigned dues; /* see struct model_job */
};

/* A LIST that goes on over many steps. */
struct lister {
    bool on;
    bool waits;         /* its next page does, for the disk */
    uint64_t started;   /* model.steps */
    uint64_t movements; /* world.movements then */
    struct list_cursor cursor;
    size_t limit;        /* of each page */
    struct there *there; /* when it began */
    size_t there_count;
    struct job_id *seen;
    size_t count;
    size_t cap;
};

/* A fault that is to happen: at the `after`th offer of a point, or of any if it is -1. */
struct trap {
    bool armed;
    int point;
    uint64_t after;
    enum fault_action action;
    const char *during; /* only in this; NULL: in anything */
};

/* The faults that are to happen, one soon after the other if there are two. */
struct plan {
    struct trap trap;
    struct trap next; /* the second fault, which is armed when the first has happened */
    bool second;      /* the second fault has happened */
    bool fired;       /* a fault has happened since this was last cleared */
    bool in_doubt;    /* the fault was an append whose outcome is not known */
    bool killing;     /* the process is being killed: it cannot mark a clean end */
    bool disk_full;   /* every append answers FULL */
    bool paused;      /* no faults happen now, because the simulator looks */
    const char *doing;
};

/* A chore that is under way in a lane. */
struct errand {
    struct chore *chore; /* NULL: none */
    bool ran;
    int result;
    bool faulted;
};

/* What happened between memory and disk, as counted by the partition; and the last records of it.
 */
struct traffic {
    uint64_t fed;
    uint64_t loaded;
    uint64_t merged;
    uint64_t reclaimed;
    uint64_t cold;    /* jobs on disk */
    uint64_t fed_lsn; /* 0: a segment was removed since, or a run */
    uint64_t loaded_lsn;
    uint64_t merged_lsn;
    uint64_t told_lsn; /* the last record that told a listener of an end */
    uint64_t made_lsn; /* the last record of a job that a recurrence made */
};

/* Where the journal ends: its last log that has elements, and how many that has. */
struct tail {
    char log[64];
    uint64_t elements;
};

/* A job as it is by what the engine told of it, see watch.c. */
struct watched {
    struct job_id id;
    enum job_state state; /* never ready */
    int64_t due_ms;
    int64_t at_ms; /* AT_ANY: not known */
};

#define AT_ANY (-2)

struct watch {
    struct watched *jobs;
    size_t count;
    size_t cap;
    uint64_t lsn; /* of the last event */
    uint64_t events;
    bool on;
};

enum write_state { WRITE_NONE, WRITE_TAKEN, WRITE_TRIED, WRITE_DONE };

struct world {
    uint64_t seed;
    struct rng rng;
    unsigned mutant;
    bool cold;               /* its memory is small */
    size_t jobs_max;         /* no more at a time, so that a run stays quick */
    int64_t herd_ms;         /* a moment at which many jobs are due */
    int64_t keys;            /* in use */
    unsigned order_percent;  /* jobs that have an ordering key */
    bool limits;             /* tenants and queues have some */
    bool gates;              /* tenants have quiet hours */
    unsigned after_percent;  /* of new jobs wait for others */
    bool recurs;             /* there are recurrences */
    unsigned expire_percent; /* of new jobs can expire */
    char scope[TEXT_MAX];
    uint64_t lsn; /* before a request was executed */

    int64_t wall_ms;
    int64_t wall_high_ms; /* the latest that it ever was */
    int64_t mono_ms;
    struct store *memory;
    struct store *store; /* `memory` with faults */
    struct partition_options options;
    struct partition *partition;
    struct engine *engine;
    int64_t strict_until_ms; /* leases are waited for; monotonic */

    struct model model;
    struct model taken;
    struct model safe[SAFE_MAX];
    struct tail taken_tail;      /* where it stands, once written */
    struct tail tails[SAFE_MAX]; /* of each in safe */
    size_t safe_count;
    struct model trial;
    struct model found; /* what the journal said when it was opened */
    struct model_graveyard graveyard;

    struct commit *commit;
    enum write_state write;
    bool fresh;      /* nothing was committed since it was opened */
    bool found_full; /* the commit did, at its last try */
    struct errand errands[CHORE_KINDS];
    struct traffic traffic;
    uint64_t movements; /* jobs went from memory to disk or back so many times, at least */
    uint64_t bulked[MODEL_TENANTS];      /* pending jobs before bulks went on, in this turn */
    bool calm;                           /* nothing is left to do between memory and disk */
    uint64_t kept_before[MODEL_TENANTS]; /* bytes_note */
    unsigned pressed_jobs;               /* scheduled though memory is at its budget */
    struct parked parked[PARKED_MAX];
    struct request follow_up; /* execute NULL: none */
    bool again;               /* a request is executed again, after a fetch */
    uint64_t epoch;
    uint64_t hash;  /* of the engine as it was opened */
    bool same_jobs; /* nothing was forgotten or remembered by the restart */
    struct plan plan;

    struct answer *answers;
    size_t answer_count;
    size_t answer_cap;
    struct wait waits[WAITS_MAX];
    struct token tokens[TOKENS_MAX];
    uint64_t token_count;
    uint64_t token_max;
    uint64_t leases_told; /* answers have told of so many */
    unsigned asked;       /* queues, as bits, that workers have asked for since the start */
    uint32_t texts;       /* last number used for a text */
    struct lister lister;
    struct watch watch;

    uint64_t figures[SERIES_COUNT_TOTAL]; /* what figures over time counted before it was opened */

    /* Counted for the summary. */
    uint64_t crashes;
    uint64_t reclaimed;
    uint64_t leases;
    uint64_t lease_facts; /* of the jobs that were leased last, the newest */
    uint64_t memory_max;  /* beyond the budget, when calm */
};

/* ---- figures.c ---- */

/* The engine was opened: notes what the figures over time count until now. */
void figures_begin(struct world *w);
/* The figures over time must be what the engine counted. */
void figures_compare(struct world *w);

/* ---- world.c ---- */

void world_init(struct world *w, uint64_t seed, unsigned mutant);
/* New jobs are refused from now on, or taken again. */
void world_refuse(struct world *w, bool refuse);
/* Settles everything, checks it once more, closes. */
void world_fini(struct world *w);
/* After every request: holds its answer back, and what the host does then. */
void world_answer(struct world *w, const char *verb);
/* Of a LEASE: it has seen only what made the jobs that it gives out. */
void world_answer_lease(struct world *w);
/* Lets go what is durable, checking that it is. */
void world_release(struct world *w);
/* The engine must be as the model says. */
void world_compare(struct world *w);
/* Fills the model's gaps with what the engine chose. */
void world_adopt(struct world *w);
/* The same for jobs that were met in quiet hours or too late; after everything that gives out jobs.
 */
void world_adopt_met(struct world *w);
/* Whether this job was forgotten, where the engine was free to. To be called before the model is
 * asked about one that a request names. */
void world_adopt_job(struct world *w, struct job_id id);
uint32_t world_text(struct world *w);
uint64_t world_cold_jobs(const struct world *w); /* on disk */

/* ---- deliver.c ---- */

/* These jobs were just leased for a worker: checks and notes it. */
void world_leased(struct world *w, const struct wait *request, struct job *const *jobs, size_t n);
/* Hands ready jobs to parked workers, and checks that none is left waiting for nothing. */
void world_dispatch(struct world *w);
/* Shows the engine the clocks, and ends the waits that are over. */
void world_advance(struct world *w);
/* How many jobs a LEASE must give at least. */
size_t world_owed(const struct world *w, unsigned queues, size_t count);
/* Holds the answer of a LEASE back. */
void world_hold_lease(struct world *w, const char *verb);

/* ---- clock.c ---- */

/* Lets the engine see the clocks. */
void clock_show(struct world *w);
/* By a clock that was set back: what was forgotten by the one before may still be on disk. */
void world_remember(struct world *w);
/* The engine wakes in time for what comes next. */
void clock_check(struct world *w);

/* ---- cycle.c: commits ---- */

/* True if all that was gathered is durable now; false if that needed a restart. */
bool cycle_all(struct world *w);

/* ---- lanes.c: what goes on between memory and disk ---- */

/* Notes what moved since it was last called. */
void lanes_note(struct world *w);
/* A slice on the engine's thread. */
bool lanes_work(struct world *w);
/* Begins what there is to do, and runs some of it. */
void lanes_begin(struct world *w);
/* Brings chores that are under way to their ends. */
void lanes_finish(struct world *w);
/* Does everything there is to do, without faults, and checks that memory is within its budget. */
void lanes_calm(struct world *w);
/* Counts what a crash interrupts. */
void lanes_crash(const struct world *w);

/* ---- told.c: what the engine does of itself ---- */

/* It has, perhaps: follows it, and checks that it was allowed. */
void world_told(struct world *w);
/* Whether there is something left to tell. */
bool told_left(const struct world *w);
/* There must not be, nor a recurrence that is due. */
void told_check(struct world *w);
/* Counts what a crash interrupts. */
void told_crash(const struct world *w);

/* ---- watch.c: what is told of jobs ---- */

engine_event_fn watch_event;
/* What was told is what the model says. */
void watch_compare(struct world *w);
/* The engine has been opened, and the model is as it is: from now on everything is told. */
void watch_begin(struct world *w);

/* ---- drain.c ---- */

/* Lets every job run, and then be forgotten: none may be missing, nothing may be left. */
void world_drain(struct world *w);

/* ---- plan.c: faults ---- */

enum fault_action plan_decide(void *arg, enum fault_point point);
/* Around something that may meet a fault; the second says whether it did. */
void plan_begin(struct world *w, const char *doing);
bool plan_end(struct world *w);
/* None is to happen any more. */
void plan_disarm(struct world *w);
/* Holds faults off, or lets them come again; returns how that was before. */
bool plan_pause(struct world *w, bool pause);

/* ---- restart.c ---- */

struct tail restart_tail(struct world *w);

/* Opens the partition and finds which commit the engine went back to. */
void restart_open(struct world *w);
/* The process is gone, or the power too. */
void restart_crash(struct world *w, bool power);

/* ---- tamper.c ---- */

/* Between two processes: takes something from a copy of the disk, and sees that it is missed. */
void tamper(struct world *w);

/* An id to ask for: mostly of a job in one of these states (bits), at times of none. */
struct job_id world_pick(struct world *w, unsigned states);
/* Whose jobs a request for this one may see: mostly it is among them. */
unsigned world_scope(struct world *w, struct job_id id);

#endif
