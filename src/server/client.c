/* SPDX-License-Identifier: MIT */
#include "server/client.h"

#include <poll.h>

#include "host/errand.h"

#define FLUSH_US    2000 /* the time for flushing clients in one go */
#define FLUSHES_MAX 500  /* clients that are flushed in one go */

static enum peer_kind kind_of(const struct client *c)
{
    return c->peer.tls ? PEER_TLS : PEER_PLAIN;
}

void client_init(struct client *c, struct server *s, const struct client_ops *ops,
                 const struct peer *peer)
{
    c->server = s;
    c->ops = ops;
    c->peer = *peer;
    c->counted = peers_add(&s->peers, peer, kind_of(c));
    session_init(&c->session, ++s->next_conn);
    peer_text(peer, c->session.address, sizeof(c->session.address));
    c->session.remote = !peer_is_loopback(peer);
    lists_init(&c->uncommitted, &c->resume, &c->strange);
    list_append(&s->clients, &c->all);
    stranger_note(c, peer->since_ms);
    client_hold(c, 0);
}

void client_fini(struct client *c)
{
    client_abandon(c);
    stranger_forget(c);
    client_unhold(c);
    list_remove(&c->all);
    peers_remove(&c->server->peers, &c->peer, kind_of(c), c->counted);
}

void client_await_commit(struct client *c)
{
    if (list_empty(&c->uncommitted))
        list_append(&c->server->host.uncommitted, &c->uncommitted);
}

void clients_settled(struct server *s)
{
    list_move(&s->host.uncommitted, &s->settled);
    clients_flush(s);
}

/* A flush leaves a client in the list if it waits for another commit, too. */
void clients_flush(struct server *s)
{
    int64_t until_us = time_mono_us() + FLUSH_US;

    if (list_empty(&s->settled))
        return;
    for (int n = 0; s->host.uncommitted.next != &s->settled; n++) {
        struct client *c = container_of(s->host.uncommitted.next, struct client, uncommitted);

        if (n == FLUSHES_MAX || time_mono_us() >= until_us) {
            host_wake(&s->host);
            return;
        }
        list_move(&s->host.uncommitted, &c->uncommitted);
        c->ops->flush(c);
    }
    list_remove(&s->settled);
}

void client_queue(struct client *c)
{
    struct server *s = c->server;

    if (c->session.crowded) {
        account_wait(c);
    } else if (c->session.no_room) {
        list_append(&s->no_room, &c->resume);
    } else {
        list_append(&s->resume, &c->resume);
        host_wake(&s->host);
    }
}

void client_end_wait(struct client *c)
{
    c->session.await.until_ms = INT64_MIN; /* It does not wait again. */
    engine_wait_cancel(c->server->host.engine, c->session.parked);
    c->ops->deliver(c, NULL, 0);
}

/* Requests that wait in the socket may stand before its end, so that reading would not show it. */
bool socket_is_ended(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0;
}

void client_abandon(struct client *c)
{
    struct host *h = &c->server->host;

    if (c->session.parked && h->engine)
        engine_wait_cancel(h->engine, c->session.parked);
    session_forget(&c->session);
    errand_drop(c->errand);
    c->errand = NULL;
    list_remove(&c->uncommitted);
    list_remove(&c->resume);
}

void client_cut_off(struct client *c, const char *why)
{
    log_warn(&c->server->log, "client cut off", "client", LOG_INT(c->session.id), "why", why);
    c->ops->close(c);
}

void clients_check_tokens(struct server *s)
{
    uint64_t now = engine_token_generation(s->host.engine);

    if (s->token_generation == now)
        return;
    s->token_generation = now;
    list_each_of_safe (struct client, c, &s->clients, all)
        if (identity_check(&c->session.who, s->host.engine, c->session.remote) < 0)
            c->ops->drain(c);
}

void clients_end_login(struct server *s, uint64_t number)
{
    list_each_of_safe (struct client, c, &s->clients, all) {
        if (c->session.login != number)
            continue;
        c->session.login = 0;
        identity_forget(&c->session.who);
        c->ops->drain(c);
    }
}

void clients_close(struct server *s)
{
    while (!list_empty(&s->clients)) {
        struct client *c = container_of(s->clients.next, struct client, all);

        c->ops->close(c);
    }
}
