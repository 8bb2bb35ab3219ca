/* SPDX-License-Identifier: MIT */
/*
 * The host of a partition: the one place where an engine, its journal and its threads are driven.
 * The host stands on its user's loop and knows no protocol, no client and no log file. The server
 * is its user, and so are tests.
 *
 *     loop's thread   the user's requests ─> engine ─> records, gathered    host.c
 *     committer       writes one commit after the other                    committer.c
 *     pool            chores and fetches                                   chores.c, errand.c
 *
 * Each turn of the loop is one host_turn. Ready jobs go to waiting workers, and gathered records go
 * to the committer. Jobs move between memory and disk, and chores begin. Alarms are set to the
 * engine's next moments. The user calls host_turn from a prepare handle, after its own requests
 * that had to wait. The loop must turn twice a second even if nothing happens, because a chore that
 * failed begins anew in a later turn.
 *
 * When the journal cannot be written, memory and store differ: the host discards the partition when
 * nothing is under way, and opens it anew.
 *
 * All calls are made, and all callbacks come, on the loop's thread.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <uv.h>

#include "base/hist.h"
#include "base/list.h"
#include "base/time.h"
#include "host/alarm.h"
#include "host/chores.h"
#include "partition/partition.h"

struct committer;

/* The resources for lack of which new jobs are refused. */
enum host_room { HOST_ROOM_DISK, HOST_ROOM_MEMORY };

struct host_ops {
    /* Fills the options of a partition that is about to be opened; a seed is there already. */
    void (*configure)(void *user, struct partition_options *o);
    /* A parked LEASE has work (n > 0); or the time of a parked request is up, or the job has ended
     * that it waits for (n = 0): see engine_wait and engine_await. Jobs are to be read with
     * engine_view during the call only. */
    void (*deliver)(void *user, void *owner, struct job *const *jobs, size_t n);
    /* The turn of a parked LEASE has come. False: its worker is gone, and the user has ended the
     * wait (engine_wait_cancel). The slot may be NULL. */
    bool (*attends)(void *user, void *owner);
    /* Jobs may have become ready: the user leases jobs for workers of its own. */
    void (*lease)(void *user);
    /* The durable lsn has grown: answers that waited for it may leave. */
    void (*settled)(void *user);
    /* The fetch of an errand is done: executes the owner's request again, and nothing else; or
     * answers it with the error. */
    void (*fetched)(void *user, void *owner, int err, const char *detail);
    /* Follows `fetched`, when its fetch has ended: the owner's answer may leave. */
    void (*answered)(void *user, void *owner);
    /* A chore failed, with another error than the last chore of its kind. It begins anew later. */
    void (*chore_failed)(void *user, const char *name, int err, const char *detail);
    /* New jobs are refused from now on for lack of this, or no longer. */
    void (*room_changed)(void *user, enum host_room room, bool lacking);
    /* The loop stood still for `ms`. Leases that would have ended in that time go on. */
    void (*stalled)(void *user, int64_t ms);
    /* The partition is about to be discarded: everything that refers to its engine must go. */
    void (*failed)(void *user, const char *what, int err, const char *detail);
    /* The partition was opened anew, or could not be. After CORRUPT and FENCED the host gives up,
     * after other errors it tries again. */
    void (*reopened)(void *user, int err, const struct partition_report *report);
    /* A piece of the host's own work held the loop for `us`. `what` is a constant. The slot may be
     * NULL. */
    void (*worked)(void *user, const char *what, int64_t us);
};

enum errand_class { ERRAND_PLAIN, ERRAND_HEAVY, ERRAND_GROWING, ERRAND_CLASSES }; /* errand.h */

struct errand_queue {
    struct list waiting; /* the first errand of each group, the next one first */
    unsigned taken;      /* slots of errands that are on their way or back */
};

/* The user may read all members, and adds entries of its own to `uncommitted`. */
struct host {
    uv_loop_t *loop;
    struct store *store;
    const struct host_ops *ops;
    void *user;

    struct partition *partition; /* NULL while it is opened anew */
    struct engine *engine;       /* the partition's */
    uint64_t durable_lsn;
    struct list uncommitted; /* Each entry stands for a request whose answer waits for a commit, or
                                is a mark of the user's. */
    bool failed;             /* The partition is to be discarded. */
    bool draining;           /* See host_drain. */
    bool resting;            /* See host_rest. */
    bool low;                /* New jobs are refused for lack of disk space. */
    bool overfull;           /* New jobs are refused for lack of memory. */

    struct committer *committer;
    int64_t commit_begun_us; /* monotonic: when the commit under way began */
    struct host_chore chores[CHORE_KINDS];
    struct errand_queue errands[ERRAND_CLASSES];
    struct list errands_back; /* errands whose requests are to be executed again */
    struct hist commit_us;
    struct hist fetch_us;

    unsigned deliveries; /* answers to parked requests in this turn */
    struct clocks clocks;
    int64_t seen_us;  /* CLOCK_MONOTONIC: when the host last looked at it; 0: not yet */
    int64_t wake_us;  /* CLOCK_MONOTONIC: when the loop should wake at the latest; 0: it is awake */
    int64_t noted_us; /* CLOCK_MONOTONIC: the end of the last piece of work: see host_ops.worked */
    int64_t credit_us; /* for how long stalls may stop the engine's clock: see heed_stall */
    uint64_t stalls;   /* so far */
    struct alarm wall_alarm;
    struct alarm mono_alarm;
    uv_idle_t busy; /* While it is started the loop does not sleep. */
    uv_timer_t rebuild;
    int64_t rebuilt_ms; /* monotonic: when the partition was last opened anew; 0: never */
};

/* Puts the host on the loop and starts the committer. For sync_interval_ms see committer_new. IO:
 * there are no alarms. NOMEM: there is no committer. host_stop and host_fini must follow even
 * after an error. */
int host_init(struct host *h, uv_loop_t *loop, struct store *store, int64_t sync_interval_ms,
              const struct host_ops *ops, void *user);
/* Opens the partition. Blocks; answers as partition_open. */
int host_open(struct host *h, struct partition_report *ret);
/* Ends the committer. The user then closes all handles of the loop and runs it until it ends. */
void host_stop(struct host *h);
/* After the loop has ended: writes the gathered records and closes the partition. Does nothing if
 * host_init was never called. */
void host_fini(struct host *h);

/* The user calls it in every turn of the loop. */
void host_turn(struct host *h);
/* Makes sure that the loop does not sleep before its next turn. */
void host_wake(struct host *h);
/* Tells the engine the time. The user calls it before it executes requests. */
void host_advance(struct host *h);
/* Whether requests may be executed: the disk keeps up with the records, and the engine's own work
 * has had its share. Otherwise they wait, and a later turn of the loop tries again. */
bool host_may_execute(const struct host *h);

/* Whether there is a partition that is not about to be discarded. */
static inline bool host_is_up(const struct host *h)
{
    return h->partition && !h->failed;
}

/* Whether a commit waits for space on the disk. */
bool host_is_full(const struct host *h);

/* Begins no more work of its own; commits go on. */
void host_drain(struct host *h);
/* Begins nothing more at all. */
void host_rest(struct host *h);
/* Whether the host is up and nothing is gathered or under way. */
bool host_is_idle(const struct host *h);

#endif
