/* SPDX-License-Identifier: MIT */
/*
 * What the server knows of a client, whatever it speaks: lists that it stands in, and what can be
 * asked of it. The first member of a connection's own struct.
 */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include "server/peer.h"
#include "server/server.h"

struct client;

struct client_ops {
    /* The durable lsn has grown, or something was added to its output: sends what may be sent. */
    void (*flush)(struct client *c);
    /* It stood in a list of those that could not go on: looks at its request again. */
    void (*resume)(struct client *c);
    /* What its suspended request needs is there: executes that again. Or it could not be had:
     * answers the error. To be followed by flush. */
    void (*fetched)(struct client *c, int err, const char *detail);
    /* A parked LEASE has jobs, or its time is up: see host_ops. */
    void (*deliver)(struct client *c, struct job *const *jobs, size_t n);
    /* Ends the wait of a parked LEASE with an empty answer, and takes no more requests. */
    void (*drain)(struct client *c);
    bool (*has_output)(const struct client *c);
    /* Cuts it off if it has been stuck for too long. */
    void (*sweep)(struct client *c, int64_t mono_ms);
    void (*close)(struct client *c);
};

struct client {
    struct server *server;
    const struct client_ops *ops;
    struct session *session; /* of its own struct */
    struct peer peer;
    bool counted; /* at its address */
    struct list all;
    struct list holding; /* while a reply waits for a commit */
    struct list resume;  /* while it waits in `resume` or `held` of the server */
};

static inline void client_init(struct client *c, struct server *s, const struct client_ops *ops,
                               struct session *session, const struct peer *peer)
{
    c->server = s;
    c->ops = ops;
    c->session = session;
    c->peer = *peer;
    c->counted = peers_add(&s->peers, peer);
    list_init(&c->holding);
    list_init(&c->resume);
    list_append(&s->clients, &c->all);
    s->client_count++;
    s->tls_client_count += peer->tls;
}

/* It is no longer counted and in no list. */
static inline void client_fini(struct client *c)
{
    list_remove(&c->all);
    list_remove(&c->holding);
    list_remove(&c->resume);
    c->server->client_count--;
    c->server->tls_client_count -= c->peer.tls;
    if (c->counted)
        peers_remove(&c->server->peers, &c->peer);
}

static inline struct client *client_of_all(struct list *node)
{
    return container_of(node, struct client, all);
}

static inline struct client *client_of_holding(struct list *node)
{
    return container_of(node, struct client, holding);
}

static inline struct client *client_of_resume(struct list *node)
{
    return container_of(node, struct client, resume);
}

/* What requests run against. */
static inline struct session_target client_target(struct server *s)
{
    return (struct session_target){ s->host.partition, &s->verb_host, &s->guard };
}

static inline void client_flush(struct client *c)
{
    c->ops->flush(c);
}

static inline void client_resume(struct client *c)
{
    c->ops->resume(c);
}

static inline void client_fetched(struct client *c, int err, const char *detail)
{
    c->ops->fetched(c, err, detail);
}

static inline void client_deliver(struct client *c, struct job *const *jobs, size_t n)
{
    c->ops->deliver(c, jobs, n);
}

static inline void client_drain(struct client *c)
{
    c->ops->drain(c);
}

static inline void client_sweep(struct client *c, int64_t mono_ms)
{
    c->ops->sweep(c, mono_ms);
}

static inline void client_close(struct client *c)
{
    c->ops->close(c);
}

static inline void client_close_all(struct server *s)
{
    while (!list_empty(&s->clients))
        client_close(client_of_all(s->clients.next));
}

static inline bool client_has_output(const struct client *c)
{
    return c->ops->has_output(c);
}

#endif
