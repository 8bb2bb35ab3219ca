/* SPDX-License-Identifier: MIT */
/*
 * Cold jobs, as the engine sees them: which runs there are, what of them still counts, and what
 * moves between them and memory. The engine reads no run: it says what it wants, the partition
 * reads, and the engine decides what the answer is worth by then.
 */
#ifndef ENGINE_COLD_H
#define ENGINE_COLD_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/engine.h"
#include "record/coldkey.h"

/* A run in memory. Pinned while somebody off the engine's thread reads it. */
struct cold_run {
    struct list link;
    struct run_desc d;
    uint32_t segment; /* where the journal says that it exists */
    unsigned pins;
    bool gone;        /* no longer counts: to be removed when no pin is left */
    bool busy;        /* being merged: */
    int64_t going_ms; /* history that is kept until then, not longer, is left out and uncounted, */
    struct buf taken; /* but for this, which was taken out meanwhile: tallies */
    bool unreadable;  /* not even its index can be read */
    uint64_t lsn;     /* gone: of the record that said so */
    void *opened;     /* the partition's */
    char *keys;       /* what d.first and d.last point to */
};

/* ---- What a request needs ---- */

enum want_kind {
    WANT_ID,
    WANT_KEY,
    WANT_PAGE, /* entries of one family behind a key */
};

struct cold_want {
    enum want_kind kind;
    struct job_id id;
    size_t queue_len;
    size_t key_len;
    size_t order_len;
    char queue[QUEUE_MAX_BYTES];
    char key[KEY_MAX_BYTES];
    char order[KEY_MAX_BYTES];
    size_t after_len;  /* page: entries behind this key, */
    size_t prefix_len; /* as long as this much of it is the same; */
    char after[COLD_KEY_MAX];
    size_t limit;   /* entries to look at */
    int64_t now_ms; /* of history only what is kept longer than this */
    uint32_t since; /* only what was fed after the run of this number */
};

struct cold_item {
    uint32_t number; /* of the run it comes from */
    size_t key_len;
    char key[COLD_KEY_MAX];
    struct str body; /* of a PUT record */
};

struct cold_answer {
    const struct cold_want *want;
    uint64_t moves; /* engine_moves when the lookup began */
    struct cold_item *items;
    size_t n;
    bool more;       /* page: there are entries behind the last that was looked at, */
    size_t last_len; /* which is this */
    char last[COLD_KEY_MAX];
};

/* Changes whenever jobs go from memory to disk. */
uint64_t engine_moves(const struct engine *e);
/* Changes whenever runs do. */
uint64_t engine_run_changes(const struct engine *e);

/* After a request answered COLD: what it needs. Then its host has that looked up, gives the
 * answer, and executes the request again in the same turn. */
const struct cold_want *engine_want(const struct engine *e);
/* Borrowed until engine_answer(e, NULL). COLD: jobs moved meanwhile, look it up again. */
int engine_answer(struct engine *e, struct cold_answer *a);

/* ---- Runs ---- */

/* All that count, youngest last; and those that no longer do but are not removed yet. */
struct list *engine_runs(struct engine *e);
struct list *engine_gone_runs(struct engine *e);
void engine_run_forget(struct engine *e, struct cold_run *r); /* its log has been removed */
/* Numbers for the logs of up to n new runs; the first is returned. */
uint32_t engine_reserve_files(struct engine *e, uint32_t n);
/* Jobs in DUE runs count if they are behind this. */
struct cold_point engine_frontier(const struct engine *e);
/* Jobs of a class in the backlog run of this number count if they are behind the floor. */
struct cold_point engine_floor(const struct engine *e, struct str queue, unsigned class,
                               uint32_t number);
/* The classes that have jobs, or had them, in backlog runs. */
int engine_classes_on_disk(const struct engine *e,
                           int (*fn)(void *arg, struct str queue, unsigned class), void *arg);
int engine_graves(const struct engine *e, int (*fn)(void *arg, struct str key), void *arg);
/* Whether no job on disk waits for its time, or for others. */
bool engine_due_is_empty(const struct engine *e);
/* Whether nothing on disk is left of the backlog. */
bool engine_backlog_is_empty(const struct engine *e);
/* Likewise of what was set aside. */
bool engine_aside_is_empty(const struct engine *e);

/* Jobs of the history went for want of room, by tallies: they are counted as such. */
void engine_history_dropped(struct engine *e, struct str tallies);

/* ---- Feeding: from memory to runs ---- */

/* What a batch is made of, as bytes in the order in which the engine came by them:
 *     flags u8 | seq u64 | length of key u16 | length of body u32 | key | body */
#define FEED_GRAVE  1u /* no body; for the seq, until when there could be something at its place */
#define FEED_LOCATE 2u /* not where its id says, or it has a key */

/* Whether there is enough in memory that belongs on disk. */
bool engine_feed_due(const struct engine *e);
void engine_feed_begin(struct engine *e);
/* About as large as the batch will be. */
size_t engine_feed_bytes(const struct engine *e);
/* Appends up to n jobs to a batch; false: that was all. */
bool engine_feed_slice(struct engine *e, struct buf *out, size_t n);
/* The batch could not be written: everything stays in memory. */
void engine_feed_abort(struct engine *e);

/* What is said of a batch in the journal: the runs it became (run_desc_put), the jobs in it, and
 * how many of each queue and slot (tally_put). */
struct feed_result {
    struct str runs;
    struct str seqs;
    struct str tallies;
};

/* The batch is durable: writes the record that makes it count. NOMEM. */
int engine_fed(struct engine *e, const struct feed_result *r);

/* What was merged, or no longer counts: `drops` are file numbers as varints. NOMEM. */
int engine_merged(struct engine *e, struct str drops, struct str runs, struct str tallies);

/* ---- Loading: from runs to memory ---- */

struct load_want {
    bool backlog;
    struct str queue; /* of the class, if backlog; valid until the engine's next call */
    unsigned class;
    uint64_t lane;           /* CLASS_ASIDE: only of this one, */
    size_t count;            /* and no more than so many */
    struct cold_point after; /* DUE: the frontier; CLASS_ASIDE: likewise what was loaded */
    int64_t upto_ms;         /* DUE: only jobs up to this moment */
    size_t bytes;            /* about so much */
};

struct load_result {
    bool backlog;
    struct str queue;
    unsigned class;
    uint64_t lane;
    uint64_t moves;         /* engine_moves when the reading began */
    uint32_t number;        /* backlog: of the youngest run that was read */
    struct cold_point upto; /* all up to here were looked at */
    bool end;               /* there is nothing behind */
    const struct cold_item *items;
    size_t n;
};

/* False: nothing is to be loaded now. `due_too`: not only from the backlog. */
bool engine_load_next(struct engine *e, bool due_too, struct load_want *ret);
/* NOMEM: nothing happened. */
int engine_loaded(struct engine *e, const struct load_result *r);

/* ---- Work on the engine's thread ---- */

/* Frees what was fed, lets jobs that wait in memory for room go on: a slice. True: there is more.
 */
bool engine_work(struct engine *e);
/* Bytes by the engine's account. */
uint64_t engine_memory(const struct engine *e);

#endif
