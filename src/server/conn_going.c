/* SPDX-License-Identifier: MIT */
/* Many clients may go at once, and the end of a connection takes some microseconds. So at most
 * CLOSES_MAX connections end in a turn. The others are not watched until a later turn. */
#include "server/conn_data.h"
#include "server/server.h"

#define CLOSES_MAX 250 /* connections that end in one turn */

bool conn_put_off(struct conn *c)
{
    struct server *s = c->client.server;

    if (s->going.closes < CLOSES_MAX)
        return false;
    list_append(&s->going.conns, &c->going);
    conn_watch(c);
    host_wake(&s->host);
    return true;
}

/* The loop may not have heard of the end yet. It is looked for here, because a job that is leased
 * to a client that is gone would wait until the lease ends. */
bool conn_attends(struct client *client)
{
    struct conn *c = container_of(client, struct conn, client);

    if (!socket_is_ended(c->fd))
        return true;
    c->eof = true;
    client_end_wait(client);
    return false;
}

void conns_let_go(struct server *s)
{
    s->going.closes = 0;
    for (int n = 0; n < CLOSES_MAX && !list_empty(&s->going.conns); n++) {
        struct conn *c = container_of(s->going.conns.next, struct conn, going);

        list_remove(&c->going);
        conn_watch(c);
    }
    if (!list_empty(&s->going.conns))
        host_wake(&s->host);
}
