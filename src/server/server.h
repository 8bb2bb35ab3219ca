/* SPDX-License-Identifier: MIT */
/*
 * The server: one loop with one engine. The loop's thread does network, engine and encoding; the
 * committer's thread writes the journal; chores and fetches run in the loop's thread pool.
 *
 * Each turn of the loop: read what clients sent and execute it, give ready jobs to those who wait,
 * move jobs between memory and disk, hand the gathered records to the committer if it is free, send
 * replies whose records are durable, set the timers to the next moment that matters.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <uv.h>

#include "base/list.h"
#include "base/time.h"
#include "front/session.h"
#include "server/committer.h"
#include "server/log.h"
#include "server/option.h"
#include "server/peer.h"

#define READ_BYTES   (64u << 10)
#define OUTPUT_PAUSE (1u << 20) /* unsent replies beyond which a client is not read from */
#define GATHER_PAUSE (8u << 20) /* gathered records beyond which nobody is */

/* A lane of chores. */
struct server_lane {
    struct server *server;
    uv_work_t work;
    struct chore *chore; /* under way; NULL: none */
    int result;
    char detail[256];
    int told;         /* the error that the log was last told of; 0: none */
    int64_t after_ms; /* monotonic: after an error, not before */
};

struct server {
    uv_loop_t loop;
    struct options options;
    struct log log;
    struct store *store;
    struct partition *partition; /* NULL while it is being rebuilt */
    struct engine *engine;
    struct committer *committer;
    uint64_t durable_lsn;
    struct verb_host host;
    struct guard guard;
    uint64_t token_generation; /* as last seen */

    int listen_fd;
    int spare_fd; /* given up to accept and refuse when there are no more descriptors */
    uv_poll_t listener;
    uv_prepare_t turn;
    uv_idle_t busy; /* started: the loop does not sleep */
    uv_poll_t wall_timer;
    uv_poll_t mono_timer;
    int wall_fd;
    int mono_fd;
    struct clocks clocks;
    int64_t wall_armed; /* what they are set to */
    int64_t mono_armed;
    uv_timer_t sweep;
    uv_timer_t drain;
    uv_timer_t rebuild;
    uv_signal_t signals[3];
    struct server_lane lanes[LANES];
    struct list errands_waiting;
    unsigned errands;        /* on their way */
    int64_t errands_tell_ms; /* monotonic: the log is told of errors, but not before */
    struct hist fetch_us;
    struct hist commit_us;
    int64_t commit_begun_us; /* the one under way, monotonic */
    int64_t opened_ms;       /* monotonic: when the journal was last rebuilt */
    int64_t drain_until_ms;  /* monotonic */
    bool failed; /* the journal could not be written: to be rebuilt when nothing is under way */
    bool stopping;
    bool drained;  /* nothing more is begun */
    int port;      /* as bound */
    bool low;      /* of space, as last told in the log */
    bool overfull; /* of memory, likewise */

    struct list clients; /* all */
    struct list holding; /* with replies that wait for a commit */
    struct list resume;  /* with input to be looked at in the next turn */
    struct list held;    /* whose next request adds jobs, while there is no room */
    uint64_t client_count;
    uint64_t tls_client_count; /* of these, by TLS */
    struct peers peers;        /* the same by address, and the links of TLS */
    uint64_t next_conn;
    uint64_t commands;
    int64_t started_mono_ms;
    char *read_buf;
    struct resp_request *request;
    struct http *http;
    struct tls *tls; /* NULL: off */
    struct events *events;
    struct pusher *pusher;
};

/* Opens everything. Writes what went wrong to the log. */
int server_init(struct server *s);
/* Until SIGTERM or SIGINT; the process's exit code. */
int server_run(struct server *s);
void server_fini(struct server *s);

/* Whether requests may be executed: the disk keeps up with records and with what memory has no room
 * for. Else they wait; a turn of the loop sees when that is over. */
bool server_may_execute(const struct server *s);
/* Takes the clocks; before requests are executed. */
void server_advance(struct server *s);
/* Makes sure that the loop does not sleep before its next turn. */
void server_wake(struct server *s);

#endif
