/* SPDX-License-Identifier: MIT */
/*
 * A client as the server sees it, whatever protocol it speaks: its session, its peer, and the lists
 * that it stands in. It is the first member of a connection's own struct.
 */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include "server/peer.h"
#include "server/server.h"

struct client;

struct client_ops {
    /* The durable lsn has grown, or output was added: sends the output that may leave. */
    void (*flush)(struct client *c);
    /* The client's turn has come after client_queue: looks at its request again. */
    void (*resume)(struct client *c);
    /* The suspended request's fetch is done: executes the request again, or answers the error. The
     * caller then calls flush. */
    void (*fetched)(struct client *c, int err, const char *detail);
    /* The wait of a parked request is over: see host_ops. */
    void (*deliver)(struct client *c, struct job *const *jobs, size_t n);
    /* Whether the client of a parked LEASE may still want jobs. A client that has closed its side,
     * or that is gone, wants none: then the wait is ended with an empty answer. */
    bool (*attends)(struct client *c);
    /* Ends the wait of a parked request by client_end_wait, and takes no more requests. */
    void (*drain)(struct client *c);
    bool (*has_output)(const struct client *c);
    /* Cuts the client off if it has been stuck for too long. */
    void (*sweep)(struct client *c, int64_t mono_ms);
    /* *ret is a number that changes when the client takes or sends bytes. False: the client waits
     * for the server. */
    bool (*progress)(struct client *c, uint64_t *ret);
    void (*close)(struct client *c);
};

struct client {
    struct server *server;
    const struct client_ops *ops;
    struct session session;
    struct errand *errand; /* The fetch that the current request waits for, or NULL. */
    struct peer peer;
    bool counted; /* The address of the peer counts this client. */
    struct list all;
    struct list strange; /* In the list of strangers, while it is noted as such. */
    struct holding holding;
    int64_t strange_ms;      /* monotonic: since when it is a stranger; 0: it is none */
    struct list uncommitted; /* In the host's list while a reply waits for a commit. */
    struct list resume;      /* In `resume` or `no_room` of the server; see client_queue. */
};

void client_init(struct client *c, struct server *s, const struct client_ops *ops,
                 const struct peer *peer);
/* Abandons the request, and takes the client out of all lists and counts. */
void client_fini(struct client *c);

/* Sees to it that flush is called when the next commit is durable. */
void client_await_commit(struct client *c);
/* Has the request executed again in a later turn. A request that lacked room for its jobs waits
 * until there is room. A request that lacked memory for its answer waits until there is some. Any
 * other request waits until the disk keeps up. */
void client_queue(struct client *c);
/* Ends the wait of a parked request: with no job for a LEASE, else with the job so far. */
void client_end_wait(struct client *c);
/* Whether the other side of the socket has closed, or the connection is broken. */
bool socket_is_ended(int fd);
/* Gives up everything that the request waits for. */
void client_abandon(struct client *c);
/* Tells the log why, and closes. */
void client_cut_off(struct client *c, const char *why);

/* The durable lsn has grown: flushes the clients that wait for a commit, some of them at once and
 * the others by clients_flush. */
void clients_settled(struct server *s);
/* Flushes more of the clients that clients_settled left. Every turn of the loop calls it. */
void clients_flush(struct server *s);
/* If tokens have changed since the last turn: ends the waits of clients whose token is no longer
 * good, or which need one now. They ask again. */
void clients_check_tokens(struct server *s);
/* Ends the waits of clients that use this login of a browser. They need a token from now on. */
void clients_end_login(struct server *s, uint64_t number);
void clients_close(struct server *s);

/* The partition and the server as requests see them, of a client that is crowded or not. */
static inline struct session_target client_target(struct server *s, bool crowded)
{
    return (struct session_target){ s->host.partition, &s->verb_host,   &s->guard,
                                    crowded,           account_refuses, &s->rations };
}

#endif
