/* SPDX-License-Identifier: MIT */
/* Cold jobs, as the engine sees them: which runs there are, which of their entries count, and how
 * jobs move between them and memory. The engine reads no run. It says what it wants, and the
 * partition reads. Jobs may have moved by then, so the engine decides what the answer is worth. */
#ifndef ENGINE_COLD_H
#define ENGINE_COLD_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/engine.h"
#include "record/coldkey.h"

/* A run in memory. A thread that reads it pins it. */
struct cold_run {
    struct list link;
    struct run_desc d;
    uint32_t segment; /* the segment of the record that says it exists */
    unsigned pins;
    bool gone;            /* the run no longer counts: it is removed when no pin is left */
    bool busy;            /* the run is being merged */
    int64_t going_ms;     /* busy: the merge leaves out history whose retention ends by then */
    struct buf taken;     /* busy: tallies of jobs that left such history during the merge, and must
                             not be uncounted again */
    struct str cuts;      /* busy: the tenant whose history is cut */
    struct buf cut_taken; /* busy with a cut: end and tally of each job of the tenant that left the
                             run meanwhile; see engine_cut_made */
    bool unreadable;      /* not even the index of the run can be read */
    uint64_t lsn;         /* gone: the record that said so */
    void *opened;         /* the opened run, which belongs to the partition */
    char *keys;           /* the bytes of d.first and d.last */
};

/* ---- Jobs that a request needs ---- */

enum want_kind {
    WANT_JOBS,   /* jobs by id or by key */
    WANT_PAGE,   /* entries of one family behind a key */
    WANT_CENSUS, /* a round of a census */
    WANT_SORTED, /* a round of a sorted page */
};

#define ASK_NAME_BYTES 18 /* of a locator's key of a key */

/* One of the jobs that a request needs. */
struct cold_ask {
    bool by_key;
    bool whole;   /* All of the job is needed. Otherwise its head may come; see cold_item.cut. */
    bool has_old; /* Some runs may know the key by `old_name`. */
    struct job_id id;
    char name[ASK_NAME_BYTES];     /* by_key: as the locator has it */
    char old_name[ASK_NAME_BYTES]; /* as the locator had it before there was a secret */
    size_t first;                  /* answer: its items, in cold_answer.items */
    size_t n;
};

/* The order of asks in an answer. Asks for the same job by the same name are equal. */
int ask_compare(const void *a, const void *b);

struct cold_want {
    enum want_kind kind;
    bool grows; /* The request brings the job, or jobs that are needed whole, to memory. */
    struct cold_ask *asks; /* WANT_JOBS: borrowed from the engine until its next request */
    size_t ask_count;
    size_t after_len;  /* WANT_PAGE: entries behind this key */
    size_t prefix_len; /* WANT_PAGE: the first bytes of the key, which all entries share */
    char after[COLD_KEY_MAX];
    size_t limit;   /* entries to look at */
    int64_t now_ms; /* history that is kept until then, not longer, is left out */
    uint32_t since; /* only entries that were fed after the run of this number */
};

struct cold_item {
    uint32_t number; /* of the run that has the item */
    bool cut;        /* The body is the head of a job: its state, moments, key and ordering key. */
    size_t key_len;
    char key[COLD_KEY_MAX];
    struct str body; /* of a PUT record */
};

struct census; /* see census.h */
struct sorted; /* see sorted.h */

struct cold_answer {
    const struct cold_want *want;
    uint64_t moves; /* engine_moves when the lookup began */
    struct cold_item *items;
    size_t n;
    bool more;       /* WANT_PAGE: there are entries behind the last one */
    size_t last_len; /* WANT_PAGE: the key of the last entry that was looked at */
    char last[COLD_KEY_MAX];
    struct census *census; /* WANT_CENSUS; the request may take it */
    struct sorted *sorted; /* WANT_SORTED; likewise */
};

/* A number that changes whenever jobs go from memory to disk, or a run of history is dropped. A
 * lookup that began with another number may be out of date. */
uint64_t engine_moves(const struct engine *e);
/* A number that changes whenever runs do. */
uint64_t engine_run_changes(const struct engine *e);

/* The jobs that the last request needs, which answered COLD. The host has them looked up, gives the
 * answer, and executes the request again, both in one turn. In the answer of WANT_JOBS, the asks
 * are sorted, and each is there once. */
const struct cold_want *engine_want(const struct engine *e);
/* Borrows the answer until engine_answer(e, NULL). COLD: jobs moved meanwhile, and the host must
 * look them up again. */
int engine_answer(struct engine *e, struct cold_answer *a);

/* ---- Runs ---- */

/* The runs that count, youngest last; and those that no longer count but are not removed yet. */
struct list *engine_runs(struct engine *e);
struct list *engine_gone_runs(struct engine *e);
void engine_run_forget(struct engine *e, struct cold_run *r); /* its log has been removed */
/* Reserves numbers for the logs of up to n new runs, and returns the first. */
uint32_t engine_reserve_files(struct engine *e, uint32_t n);
/* Jobs in DUE runs count if they are behind this. */
struct cold_point engine_frontier(const struct engine *e);
/* Jobs of a class in the backlog run of this number count if they are behind the floor. */
struct cold_point engine_floor(const struct engine *e, struct str queue, unsigned class,
                               uint32_t number);
struct class_floors {
    struct str queue;
    unsigned class;
    const struct floor *floors;
    size_t n;
};

/* The classes that have jobs, or had them, in backlog runs, in the order of their keys: those of so
 * many queues behind the name `after`, which then is the name of the last one. False: there are no
 * more queues. */
bool engine_classes_on_disk(const struct engine *e, struct str *after, size_t queues,
                            void (*fn)(void *arg, const struct class_floors *f), void *arg);
int engine_graves(const struct engine *e, int (*fn)(void *arg, struct str key), void *arg);
/* Whether no job on disk waits for its time, or for other jobs. */
bool engine_due_is_empty(const struct engine *e);
/* Whether no job of the backlog is left on disk. */
bool engine_backlog_is_empty(const struct engine *e);
/* Whether no job that was set aside is left on disk. */
bool engine_aside_is_empty(const struct engine *e);

/* Counts jobs of the history that went for want of room, by tallies. */
void engine_history_dropped(struct engine *e, struct str tallies);

/* A part of a run's history that gives way to new jobs of its tenant. */
struct cut {
    struct cold_run *run;
    size_t tenant_len;
    char tenant[NAME_MAX_BYTES];
    int64_t bytes;   /* how many bytes should go */
    int64_t upto_ms; /* jobs that ended up to this moment go; the partition computes it */
};

/* Chooses the next cut. False: no tenant needs one now. */
bool engine_cut(struct engine *e, struct cut *ret);
/* The host calls it before engine_merged, when a merge has left out the jobs of a cut. Jobs that
 * left the run during the merge are then not uncounted twice. `all`: the run has no more history of
 * the tenant. */
void engine_cut_made(struct engine *e, const struct cut *c, bool all);

/* ---- Feeding: from memory to runs ---- */

/* What a batch is made of, as bytes in the order in which the engine came by them:
 *     flags u8 | seq u64 | length of key u16 | length of body u32 | key | body */
#define FEED_GRAVE  1u /* no body; its seq is the moment until which a job could be at its key */
#define FEED_LOCATE 2u /* the job is not where its id says, or it has a key */

/* Whether memory has enough jobs that belong on disk. */
bool engine_feed_due(const struct engine *e);
void engine_feed_begin(struct engine *e);
/* About the size of the batch. */
size_t engine_feed_bytes(const struct engine *e);
/* Appends up to n jobs to a batch. False: those were all. */
bool engine_feed_slice(struct engine *e, struct buf *out, size_t n);
/* The batch could not be written: its jobs stay in memory. */
void engine_feed_abort(struct engine *e);

/* A batch in the journal: the runs it became (run_desc_put), its jobs, and how many of each queue
 * and slot there are (tally_put). */
struct feed_result {
    struct str runs;
    struct str seqs;
    struct str tallies;
};

/* The batch is durable: writes the record that makes it count. NOMEM. */
int engine_fed(struct engine *e, const struct feed_result *r);

/* Runs were merged, or no longer count. `drops` are file numbers as varints. NOMEM. */
int engine_merged(struct engine *e, struct str drops, struct str runs, struct str tallies);

/* ---- Loading: from runs to memory ---- */

struct load_want {
    bool backlog;
    struct str queue; /* of the class, if backlog; valid until the engine's next call */
    unsigned class;
    uint64_t lane;           /* CLASS_ASIDE: only jobs of this lane */
    size_t count;            /* CLASS_ASIDE: no more jobs than this */
    struct cold_point after; /* by due time: the frontier; CLASS_ASIDE: jobs up to it are loaded */
    int64_t upto_ms;         /* by due time: only jobs up to this moment */
    size_t bytes;            /* about so many bytes */
};

struct load_result {
    bool backlog;
    struct str queue;
    unsigned class;
    uint64_t lane;
    uint64_t moves;         /* engine_moves when the reading began */
    uint32_t number;        /* of the backlog: the youngest run that was read */
    struct cold_point upto; /* all jobs up to here were looked at */
    bool end;               /* there are no jobs behind */
    const struct cold_item *items;
    size_t n;
};

/* What to load next; false: nothing now. `due_too`: also by due time, not only from the backlog. It
 * is false while a batch is about to begin. */
bool engine_load_next(struct engine *e, bool due_too, struct load_want *ret);
/* Brings loaded jobs to memory. NOMEM: none of them. */
int engine_loaded(struct engine *e, const struct load_result *r);

/* ---- Work on the engine's thread ---- */

/* Does a slice: frees jobs that were fed, lets jobs that wait in memory for room go on. True: there
 * is more. */
bool engine_work(struct engine *e);
/* Bytes by the engine's own count. */
uint64_t engine_memory(const struct engine *e);

/* Bytes of the tenant's jobs in memory. */
uint64_t engine_tenant_memory(const struct engine *e, struct str tenant);

#endif
