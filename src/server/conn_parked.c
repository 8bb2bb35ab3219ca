/* SPDX-License-Identifier: MIT */
/* Requests of a connection that waited: for jobs, or for the end of a job. */
#include "base/time.h"
#include "host/errand.h"
#include "server/conn_data.h"

void conn_go_on(struct conn *c, int err, const char *detail)
{
    struct server *s = c->client.server;
    struct session *session = &c->client.session;
    struct session_target target = client_target(s, client_is_crowded(&c->client));
    uint64_t lsn;

    if (err) {
        session_forget(session);
        conn_fail(c, err, detail);
        return;
    }
    lsn = session_wake(session, &target, &c->client, &c->out.bytes);
    if (session->no_room) {
        client_queue(&c->client);
    } else if (session->cold) {
        c->client.errand = errand_begin(&s->host, &c->client, c->client.holding.account);
        if (!c->client.errand)
            conn_go_on(c, BELFRY_NOMEM, "");
    } else if (!session->parked) {
        conn_note_reply(c, lsn);
    }
}

void conn_deliver(struct client *client, struct job *const *jobs, size_t n)
{
    struct conn *c = container_of(client, struct conn, client);
    struct engine *e = client->server->host.engine;

    c->active_ms = time_mono_ms();
    if (session_awaits(&client->session)) {
        client->session.parked = NULL;
        client->session.woken = true;
        conn_go_on(c, 0, "");
    } else {
        session_serve(&client->session, e, jobs, n, &c->out.bytes);
        conn_note_reply(c, engine_offered_lsn(e));
    }
    client->ops->flush(client);
}
