/* SPDX-License-Identifier: MIT */
/*
 * The server: one loop with one host (host.h), which drives the engine, its journal and its
 * threads. The loop's thread does network, engine and encoding.
 *
 * In each turn of the loop the server reads and executes requests, and has the host do its turn. It
 * sends replies when the host says that their records are durable.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <uv.h>

#include "base/list.h"
#include "base/time.h"
#include "front/resp.h"
#include "front/login.h"
#include "front/session.h"
#include "host/host.h"
#include "server/account.h"
#include "server/events.h"
#include "server/log.h"
#include "server/option.h"
#include "server/peer.h"
#include "server/slow.h"
#include "server/stranger.h"

#define READ_BYTES   (64u << 10)
#define OUTPUT_PAUSE (1u << 20) /* unsent replies beyond which a client is not read from */

struct MHD_Daemon;

/* For http.c. */
struct http {
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_idle_t soon; /* Active while libmicrohttpd has work: its next turn is in the loop's next. */
    struct list held;   /* Clients whose answers wait for the next turn. */
    struct buf openapi; /* The page, made when a client first asks for it. */
    struct logins logins;
};

struct server {
    uv_loop_t loop;
    struct options options;
    struct log log;
    struct store *store;
    struct host host;
    struct verb_host verb_host; /* the server as verbs see it */
    struct hash_key hash_key;   /* of tables by names; drawn at the start */
    struct guard guard;
    struct rations rations;    /* of the audit log */
    uint64_t token_generation; /* The engine's, when clients_check_tokens last looked. */

    int listen_fd;
    int spare_fd; /* given up to accept and refuse a client when there are no more descriptors */
    uv_poll_t listener;
    uv_prepare_t turn;
    uv_timer_t sweep;
    uv_timer_t drain;
    uv_signal_t signals[3];
    struct {
        int64_t fetch_ms;  /* monotonic: the log is told of failed fetches no earlier */
        int64_t stall_ms;  /* monotonic: the log is told of stalls no earlier */
        int64_t leased_ms; /* monotonic: the log is told of leased memory no earlier */
        uint64_t leased;   /* holds of leased_view that the log was told of */
    } tell;
    int64_t drain_until_ms; /* monotonic */
    bool stopping;
    int port; /* as bound */

    struct {
        unsigned closes;   /* connections that were closed in this turn: see conns_let_go */
        struct list conns; /* connections whose clients have gone, and that end in a later turn */
    } going;
    int64_t late_us;     /* monotonic: see server_is_late; 0: no request has come in this turn */
    struct list clients; /* all clients */
    struct list settled; /* In host.uncommitted: the clients before it are to be flushed. */
    struct list resume;  /* clients with input to be looked at in the next turn */
    /* Clients whose next request adds jobs: [0] waits for another turn, [1] for room of its tenant.
     */
    struct list no_room[2];
    struct peers peers; /* clients and links of TLS by address */
    struct strangers strangers;
    struct accounts accounts;
    uint64_t next_conn;
    uint64_t commands;
    struct slow slow;
    int64_t started_mono_ms;
    char read_buf[READ_BYTES];
    struct resp_request request;
    struct http http;
    struct tls *tls; /* NULL: off */
    struct events events;
    struct pusher *pusher;
};

/* Takes over a socket as a connection of RESP, with which every connection begins; closes it if
 * there is no memory. */
void conn_open(struct server *s, int fd, const struct peer *peer);
/* The server calls it at the end of a turn. Some connections whose end was put off may end in the
 * next turn. */
void conns_let_go(struct server *s);

/* The options of the server for a store, and for a partition, of which seed, secret and receiver of
 * events stay as they are. */
void hosting_store_options(const struct options *o, struct store_options *ret);
void hosting_partition_options(const struct options *o, struct partition_options *ret);
/* Opens the data directory. Errors of this call and the next three are in the log. */
int hosting_store(struct server *s);
/* Starts the host on the server's loop. */
int hosting_start(struct server *s);
/* Opens the partition. */
int hosting_open(struct server *s);
/* Starts the pool of threads for chores and fetches. */
int hosting_pool(struct server *s);

/* Raises the limit on open files as far as it goes, and lowers max_connections to leave the journal
 * its descriptors. */
void listen_fit(struct server *s);
/* Binds, listens, tells the log and the port file. IO with a log line. */
int listen_open(struct server *s);
void listen_pause(struct server *s);
void listen_resume(struct server *s);
void listen_close(struct server *s);

/* Sends "READY=1", "STOPPING=1", or several states with line breaks between, to the service
 * manager. */
void notify_send(const char *state);
/* Tells that the server reads its configuration again. READY=1 must follow. */
void notify_reloading(void);

/* Fills in the server as verbs see it. */
void verbhost_init(struct server *s);
/* Enters into the audit log how many changes it had no room for. The server calls it now and then,
 * and with INT64_MAX at its end. */
void verbhost_sweep(struct server *s, int64_t mono_ms);

/* Whether requests that come now must wait in `resume`, because other requests have had much time
 * since the last turn began. */
bool server_is_late(struct server *s, int64_t now_us);

/* Opens everything. Errors are in the log. */
int server_init(struct server *s);
/* Serves until SIGTERM or SIGINT. Answers the exit code of the process. */
int server_run(struct server *s);
void server_fini(struct server *s);

#endif
