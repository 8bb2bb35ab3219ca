/* SPDX-License-Identifier: MIT */
/*
 * The yard of a drill of the store: the real file store on a platter, the shelf that says what it
 * must have, and what is going to happen to them. Functions that answer bool answer false when
 * something is wrong, which yard.why then says.
 */
#ifndef POWER_YARD_H
#define POWER_YARD_H

#include "power/drill.h"
#include "power/turns.h"

#define YARD_HANDS     2
#define YARD_SHARES    3 /* drills that share the crash points among them */
#define YARD_QUEUE     4
#define YARD_LOG_BYTES 16384
#define YARD_DIR       PLATTER_ROOT "/var/lib/data"

/* A disk after a loss of power, to be judged when the store is not being called. */
struct state {
    uint64_t number;
    struct platter *platter;
    struct shelf shelf;
    enum loss loss;
    bool aimed;
    char where[64];
};

/* A thread that does one thing while the driver goes on. */
struct hand {
    struct yard *yard;
    struct turns_thread *thread; /* NULL: none */
    struct shelf_log *log;
    enum deed deed;
};

struct yard {
    const struct drill_options *o;
    struct rng rng;
    struct rng visit_rng; /* for disks that are looked at beside */
    struct platter *platter;
    struct store *store; /* NULL: closed */
    struct shelf shelf;
    struct party *party;
    struct hand hands[YARD_HANDS];
    char why[512]; /* "": nothing is wrong */

    /* Faults: so many calls may fail, each with this chance of a hundred. */
    uint64_t window;
    unsigned chance;
    unsigned fired; /* in this window */
    bool shorts;    /* reads and writes are cut short at times */

    /* The end of the process: at the next call in so many; 0: none is planned. */
    uint64_t crash_in;
    bool opened;  /* a store was, on this disk or one before it */
    bool crashes; /* there are some at all */
    bool hit[CALL_COUNT * DEED_COUNT];
    bool ended;   /* it has */
    enum end end; /* since the shelf was last judged */
    struct platter *next;
    struct shelf at_end;

    uint64_t states_left;
    uint64_t state_number;
    struct state queue[YARD_QUEUE];
    unsigned queued;
};

#define yard_fail(y, ...) drill_fail((y)->why, sizeof((y)->why), __VA_ARGS__)

/* What this thread does, for the table of crash points. A thread that never says makes spares. */
extern _Thread_local enum deed yard_doing;
/* A call of this thread has failed since this was cleared. */
extern _Thread_local bool yard_faulted;

/* ---- watch.c ---- */
calls_watch_fn yard_watch;

/* ---- deeds.c ---- */
bool deed_append(struct yard *y, struct shelf_log *l, bool durable);
bool deed_sync(struct yard *y, struct shelf_log *l);
bool deed_remove(struct yard *y, struct shelf_log *l);
bool deed_read(struct yard *y, struct shelf_log *l);
bool deed_cas(struct yard *y, struct shelf_record *m);
bool deed_get(struct yard *y, struct shelf_record *m);
bool deed_list(struct yard *y);
/* Uses all spares up on a disk that is full. */
bool deed_fill(struct yard *y);
void hand_start(struct yard *y, struct shelf_log *l, enum deed deed);
void hands_join(struct yard *y);

/* ---- states.c ---- */
/* Judges what is in the queue. */
bool states_judge(struct yard *y);
/* Flips a bit of a copy of the disk, and judges that. */
bool states_rot(struct yard *y);

#endif
