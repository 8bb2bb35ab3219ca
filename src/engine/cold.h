/* SPDX-License-Identifier: MIT */
/*
 * Cold jobs, as the engine sees them: which runs there are, what of them still counts, and what
 * moves between them and memory. The engine reads no run: it says what it wants, the partition
 * reads, and the engine decides what the answer is worth by then.
 *
 * The keys of runs begin with a family; numbers in them are big-endian:
 *
 *     D at seq                   scheduled, beyond the frontier
 *     B queue 0 class at seq     due or about to be, but their class has no room in memory
 *     A queue 0 lane at seq      set aside: their ordering key is stuck, see lane.h
 *     P queue 0 ended seq        done and cancelled: as long as there is room
 *     X queue 0 ended seq        dead, or done with a key that is held: until their time is over
 *     L hash                     locator: key -> job, and job -> where it is if not where its id
 * says
 *
 * The value of an entry is the body of a PUT record (record.h); in the locator it is a place.
 */
#ifndef ENGINE_COLD_H
#define ENGINE_COLD_H

#include "base/buf.h"
#include "base/list.h"
#include "base/wire.h"
#include "engine/engine.h"

#define FAMILY_DUE     'D'
#define FAMILY_BACKLOG 'B'
#define FAMILY_ASIDE   'A'
#define FAMILY_PAST    'P'
#define FAMILY_KEPT    'X'
#define FAMILY_LOCATOR 'L'

static inline bool family_is_history(char family)
{
    return family == FAMILY_PAST || family == FAMILY_KEPT;
}

/* A class, by its number in keys and records: the jobs of a queue that have one priority, 1-5,
 * those that have an ordering key, whatever else they have, or those that pass all gates. */
#define CLASS_ORDERED 7
#define CLASS_PASSING 8
/* In records only: those of the ordered class that were set aside. */
#define CLASS_ASIDE 9

static inline bool class_is_valid(unsigned class)
{
    return (class >= 1 && class <= 5) || class == CLASS_ORDERED || class == CLASS_PASSING;
}

#define COLD_KEY_MAX  (1 + QUEUE_MAX_BYTES + 2 + 8 + 16)
#define SPREAD_POINTS 32

/* A run, as the journal knows it. */
struct run_desc {
    uint32_t file;   /* names its log; never used again */
    uint32_t number; /* its age: that of the youngest entry in it, */
    uint32_t oldest; /* and of the oldest */
    char family;
    bool split;       /* holds jobs of one stretch of time; else of all times */
    bool broken;      /* something in it could not be read: its log is kept for `belfry repair` */
    uint64_t entries; /* graves included */
    uint64_t graves;
    uint64_t bytes;
    uint64_t elements;
    uint64_t root_at;
    int64_t gone_ms;  /* nothing in it matters from then on; INT64_MAX: that is not known by time */
    struct str first; /* keys */
    struct str last;
    /* Due times at SPREAD_POINTS equal parts of its entries: for forecasts. */
    unsigned spread_count;
    int64_t spread[SPREAD_POINTS];
};

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

/* ---- Keys ---- */

struct cold_key {
    size_t len;
    char bytes[COLD_KEY_MAX];
};

/* A place in the order of jobs that wait. */
struct cold_point {
    int64_t at_ms;
    uint64_t seq;
};

static inline bool point_after(struct cold_point a, struct cold_point b)
{
    return a.at_ms != b.at_ms ? a.at_ms > b.at_ms : a.seq > b.seq;
}

void cold_key_due(struct cold_key *ret, struct cold_point p);
/* Of families B, P and X. For B `class` is its number, else 0 and left out. */
void cold_key_queue(struct cold_key *ret, char family, struct str queue, unsigned class,
                    struct cold_point p);
/* Of A. */
void cold_key_lane(struct cold_key *ret, struct str queue, uint64_t lane, struct cold_point p);
/* The lane that such a key names. */
uint64_t cold_key_lane_of(struct str key);
void cold_key_of_seq(struct cold_key *ret, uint64_t seq); /* locator */
/* Locator: a key, of its queue and of its ordering key, if there is one. */
void cold_key_of_key(struct cold_key *ret, struct str queue, struct str order, struct str key);
/* A job's key and ordering key, of its options as an image has them; empty if it has none. */
void cold_keys_of(struct str opts, struct str *ret_key, struct str *ret_order);
/* The last 16 bytes of a key of D, B, A, P or X. False if it is too short. */
bool cold_key_point(struct str key, struct cold_point *ret);
/* The class in a key of B; 0 if it is of another family, or too short. */
unsigned cold_key_class(struct str key);
uint64_t cold_key_hash(struct str locator_key); /* for filters */

static inline struct str cold_key_str(const struct cold_key *k)
{
    return (struct str){ k->bytes, k->len };
}

/* A locator's value: where a job is, and until when that can be so: a moment, or for B the number
 * of the backlog run. */
void cold_place_put(struct buf *out, struct str place, int64_t until);
bool cold_place_get(struct str value, struct str *ret_place, int64_t *ret_until);

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

/* What a run's jobs count as. The numbers are on disk. Backlog: COLD_BACKLOG + priority - 1, and
 * one for each of the classes from 7 on. */
enum cold_slot {
    COLD_DUE,
    COLD_BACKLOG,
    COLD_DONE = COLD_BACKLOG + 5,
    COLD_CANCELLED,
    COLD_DEAD,
    COLD_EXPIRED,
    COLD_WAITING, /* in D, at the end of time */
    COLD_BACKLOG_7,
    COLD_BACKLOG_8,
    COLD_ASIDE,
    COLD_SLOTS
};

enum cold_slot cold_slot_of(char family, unsigned state, unsigned class);
/* The same for one of D that may be waiting for others. */
enum cold_slot cold_slot_at(enum cold_slot slot, int64_t at_ms);
enum job_state cold_state(enum cold_slot slot);

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

void run_desc_put(struct buf *out, const struct run_desc *d);
bool run_desc_get(struct wire_reader *r, struct run_desc *ret); /* keys are borrowed */

struct tally_entry {
    struct str queue;
    enum cold_slot slot;
    int64_t n;
    struct cold_point first; /* of a backlog: of the jobs */
    uint64_t lane;           /* COLD_ASIDE: whose they are */
};

void tally_put(struct buf *out, const struct tally_entry *t);

bool tally_get(struct wire_reader *r, struct tally_entry *ret); /* false if malformed */

static inline bool slot_is_backlog(enum cold_slot slot)
{
    return (slot >= COLD_BACKLOG && slot < COLD_DONE) || slot == COLD_BACKLOG_7 ||
           slot == COLD_BACKLOG_8 || slot == COLD_ASIDE;
}

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
