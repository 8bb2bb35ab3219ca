/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks RESP. The server reads input in turns of 64 KiB, so that no connection
 * holds up the others. Replies leave in order, each when its records are durable. While a client
 * does not read its replies, the server does not read from it, and cuts it off after
 * client_timeout. A request that needs an item from disk stays first in the input until the item is
 * there.
 *
 * Every connection begins here. The server looks at the first bytes before it takes them: HTTP goes
 * to http.h. TLS goes to tls.h, and comes back decrypted as a connection that begins anew.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "front/http_route.h"
#include "front/resp.h"
#include "host/errand.h"
#include "server/client.h"
#include "server/http/http.h"
#include "server/replies.h"
#include "server/tls.h"

#define BUFFER_KEEP    ((size_t)4096)  /* of input, while a connection is idle */
#define SLACK_BYTES    (1u << 20)      /* of a request beyond its payload */
#define COMMANDS_MAX   1024            /* executed for one connection in one turn */
#define STRANGER_BYTES ((size_t)65536) /* of an argument, while the client has shown no token */

struct conn {
    struct client client;
    uv_poll_t poll;
    int fd; /* -1: The socket was handed over. */
    int events;
    struct buf in;  /* Input that is not executed yet; it begins with a request. */
    size_t in_need; /* The least number of bytes in `in` with which its first request is whole. */
    struct replies out;
    int64_t stuck_ms;  /* monotonic: since when the client takes no replies; 0: it does */
    int64_t half_ms;   /* monotonic: since when a request is not whole; 0: there is none */
    int64_t active_ms; /* monotonic: the last request or reply */
    bool fresh;        /* No input was taken yet: the client may speak HTTP or TLS. */
    int peeked;        /* So many first bytes did not tell the protocol. */
    bool eof;
    bool closed;
};

static void on_poll(uv_poll_t *handle, int status, int events);

static struct conn *conn_of(struct client *c)
{
    return container_of(c, struct conn, client);
}

static bool conn_has_output(const struct client *c)
{
    return replies_unsent(&container_of(c, const struct conn, client)->out) > 0;
}

/* Whether the client's next request may be executed, as far as that depends on the client. */
static bool is_free(const struct conn *c)
{
    return !c->client.session.parked && !c->client.errand && !c->client.session.quit &&
           replies_unsent(&c->out) < OUTPUT_PAUSE;
}

static void watch_socket(struct conn *c)
{
    int events = 0;

    if (c->closed)
        return;
    if (c->client.session.parked)
        events |= UV_DISCONNECT;
    if (!c->eof && is_free(c) && list_empty(&c->client.resume) && !c->client.server->stopping)
        events |= UV_READABLE;
    if (replies_are_stuck(&c->out))
        events |= UV_WRITABLE;
    if (events == c->events)
        return;
    if (events)
        uv_poll_start(&c->poll, events, on_poll);
    else
        uv_poll_stop(&c->poll);
    c->events = events;
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;

    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

static void conn_close(struct client *client)
{
    struct conn *c = conn_of(client);

    if (c->closed)
        return;
    c->closed = true;
    client_fini(client);
    buf_fini(&c->in);
    replies_fini(&c->out);
    uv_close((uv_handle_t *)&c->poll, on_closed);
}

/* ---- Output ---- */

static void conn_flush(struct client *client)
{
    struct conn *c = conn_of(client);
    bool may_go_on;
    ssize_t sent;

    if (c->closed)
        return;
    replies_release(&c->out, client->server->host.durable_lsn);
    if (!replies_are_held(&c->out))
        list_remove(&client->uncommitted);
    sent = replies_send(&c->out, c->fd);
    if (sent < 0) {
        conn_close(client);
        return;
    }
    if (sent > 0)
        c->stuck_ms = 0;
    if (replies_are_stuck(&c->out) && !c->stuck_ms)
        c->stuck_ms = time_mono_ms();
    may_go_on = is_free(c) && list_empty(&client->resume);
    if (may_go_on && c->in.len && c->in.len >= c->in_need)
        client_queue(client); /* with a whole request that could not be executed when it came */
    else if (replies_unsent(&c->out) == 0 && (client->session.quit || (c->eof && may_go_on)))
        conn_close(client);
    watch_socket(c);
}

/* Replies were added to `out`, which now waits for lsn. */
static void note_reply(struct conn *c, uint64_t lsn)
{
    struct server *s = c->client.server;
    /* One answer is never too much. */
    size_t most = (size_t)(s->options.output_limit + s->options.max_payload) + LEASE_BYTES_MAX;

    if (c->out.bytes.failed || !replies_hold(&c->out, lsn, s->host.durable_lsn)) {
        client_cut_off(&c->client, "out of memory");
        return;
    }
    if (replies_are_held(&c->out))
        client_await_commit(&c->client);
    if (replies_unsent(&c->out) > most)
        client_cut_off(&c->client, "its unread replies are over output_limit");
}

/* ---- Input ---- */

static void protocol_error(struct conn *c, const char *why)
{
    resp_error(&c->out.bytes, "PROTOCOL", str_of(why));
    c->client.session.quit = true;
    note_reply(c, 0);
}

static void reply_error(struct conn *c, int err, const char *detail)
{
    session_fail(&c->client.session, err, detail, &c->out.bytes);
    note_reply(c, 0);
}

static void execute_request(struct conn *c, const struct resp_request *r)
{
    struct server *s = c->client.server;
    struct session *session = &c->client.session;
    struct session_target target = client_target(s);
    uint64_t lsn = session_execute(session, &target, r->args, r->n, &c->client, &c->out.bytes);

    if (session->cold) {
        c->client.errand = errand_begin(&s->host, &c->client);
        if (!c->client.errand)
            reply_error(c, BELFRY_NOMEM, "");
    } else if (!session->parked && !session->no_room) { /* else there is no reply yet */
        note_reply(c, lsn);
    }
}

/* A request that has not been executed before. */
static void take_request(struct conn *c, const struct resp_request *r)
{
    if (http_guess_words(r->args, r->n))
        protocol_error(c,
                       "this is neither RESP nor HTTP as it is spoken here: expected a method in "
                       "upper case, a blank and a path");
    else
        execute_request(c, r);
    c->client.server->commands += !c->client.session.no_room;
}

/* Whether the client still has to show a token, or the server cannot know that now. */
static bool is_stranger(struct conn *c)
{
    struct session *session = &c->client.session;
    const struct engine *e = c->client.server->host.engine;

    return !e || identity_check(&session->who, e, session->remote) < 0;
}

/* The largest argument that the client may send. */
static size_t max_argument(struct conn *c)
{
    size_t payload = (size_t)c->client.server->options.max_payload;

    return is_stranger(c) ? STRANGER_BYTES : 2 * payload + READ_BYTES;
}

/* The most bytes that are kept of a request that is not whole. */
static size_t max_request(struct conn *c)
{
    size_t payload = (size_t)c->client.server->options.max_payload;

    return is_stranger(c) ? 2 * STRANGER_BYTES : 2 * payload + READ_BYTES + SLACK_BYTES;
}

/* Executes requests from input; returns how many bytes were used. A request that is to be executed
 * again is not used yet. */
static size_t execute_input(struct conn *c, struct str input)
{
    struct server *s = c->client.server;
    size_t used = 0, commands = 0;

    c->in_need = 0;
    while (used < input.len && !c->closed && is_free(c) && host_may_execute(&s->host)) {
        struct str rest = { input.ptr + used, input.len - used };
        size_t n = 0;
        enum resp_status status;

        if (commands++ == COMMANDS_MAX)
            break;
        status = resp_read_request(&s->request, rest, max_argument(c), &n);
        if (status == RESP_MORE) {
            c->in_need = s->request.skip > rest.len ? s->request.skip : rest.len + 1;
            break;
        }
        if (status == RESP_BAD) {
            protocol_error(c, s->request.why);
            break;
        }
        if (s->request.n)
            take_request(c, &s->request);
        if (c->client.errand || c->client.session.no_room)
            break;
        used += n;
    }
    return used;
}

static void check_input(struct conn *c)
{
    if (c->in.failed)
        client_cut_off(&c->client, "out of memory");
    else if (c->in.len == 0)
        buf_reset(&c->in, BUFFER_KEEP);
    else if (c->in_need > c->in.len && c->in.len > max_request(c))
        protocol_error(c, "request is larger than the limit");
}

static void take_input(struct conn *c, struct str fresh)
{
    size_t used = 0;

    if (c->in.len == 0) { /* the usual case: whole requests, executed where they were read */
        used = execute_input(c, fresh);
        if (!c->closed)
            buf_append(&c->in, fresh.ptr + used, fresh.len - used);
    } else {
        buf_str(&c->in, fresh);
        if (c->in.len >= c->in_need && !c->in.failed)
            used = execute_input(c, buf_view(&c->in));
        if (used > 0 && !c->closed)
            buf_consume(&c->in, used);
    }
    if (!c->closed)
        check_input(c);
    if (used > 0 || c->in.len >= c->in_need)
        c->half_ms = 0;
    if (!c->half_ms && c->in.len < c->in_need)
        c->half_ms = time_mono_ms();
}

static void conn_fetched(struct client *client, int err, const char *detail)
{
    struct conn *c = conn_of(client);
    struct resp_request *r = &client->server->request;
    size_t used = 0;

    client->errand = NULL;
    c->active_ms = time_mono_ms();
    if (resp_read_request(r, buf_view(&c->in), SIZE_MAX, &used) != RESP_OK)
        protocol_error(c, r->why ? r->why : "out of memory"); /* it was whole before */
    else if (err)
        reply_error(c, err, detail);
    else
        execute_request(c, r);
    if (err)
        client->session.cold = false;
    if (c->closed || client->errand)
        return;
    buf_consume(&c->in, used);
    check_input(c);
}

static void read_input(struct conn *c)
{
    struct server *s = c->client.server;
    ssize_t n = recv(c->fd, s->read_buf, READ_BYTES, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        conn_close(&c->client);
    } else if (n == 0) {
        c->eof = true;
    } else {
        c->active_ms = time_mono_ms();
        host_advance(&s->host);
        take_input(c, (struct str){ s->read_buf, (size_t)n });
    }
}

/* ---- The first bytes ---- */

/* Gives the socket to the connections of another protocol. */
static void hand_over(struct conn *c, void (*adopt)(struct server *s, int fd, const struct peer *))
{
    struct server *s = c->client.server;
    struct peer peer = c->client.peer;
    int fd = c->fd;

    c->fd = -1;
    conn_close(&c->client);
    adopt(s, fd, &peer);
}

/* Answers in the protocol that the client speaks. */
static void refuse_plain(struct conn *c, bool http)
{
    if (recv(c->fd, c->client.server->read_buf, READ_BYTES, 0) < 0) {
        /* Its words are dropped: closing with unread bytes would lose the answer. */
    }
    buf_text(&c->out.bytes, http ? TLS_PLAIN_HTTP : TLS_PLAIN_RESP);
    c->client.session.quit = true;
    note_reply(c, 0);
}

/* How many bytes must have come before the loop tells of them. */
static void set_least(struct conn *c, int bytes)
{
    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* Acts on the first bytes. True: the client speaks RESP. */
static bool choose_protocol(struct conn *c, struct str first, bool http)
{
    const struct server *s = c->client.server;
    const struct peer *peer = &c->client.peer;

    if (first.len && first.ptr[0] == TLS_FIRST_BYTE && !peer->tls && s->tls)
        hand_over(c, tls_adopt);
    else if (first.len && !tls_may_be_plain(&s->options, peer))
        refuse_plain(c, http);
    else if (http)
        hand_over(c, http_adopt);
    else
        return true;
    return false;
}

/* Looks at the first bytes without taking them. True: the client speaks RESP. */
static bool sniff_protocol(struct conn *c)
{
    char first[HTTP_GUESS_BYTES];
    ssize_t n = recv(c->fd, first, sizeof(first), MSG_PEEK);
    struct str seen = { first, n > 0 ? (size_t)n : 0 };
    enum http_guess guess = seen.len ? http_guess(seen) : HTTP_GUESS_NO;

    if (guess == HTTP_GUESS_MORE && n > c->peeked) { /* else no more will come */
        c->peeked = (int)n;
        set_least(c, c->peeked + 1);
        if (!c->half_ms)
            c->half_ms = time_mono_ms();
        return false;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (c->peeked)
        set_least(c, 1);
    c->fresh = false;
    c->half_ms = 0;
    return choose_protocol(c, seen, guess == HTTP_GUESS_YES);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct conn *c = handle->data;

    if (status < 0) {
        conn_close(&c->client);
        return;
    }
    if (events & UV_DISCONNECT && c->client.session.parked) {
        /* The client takes no jobs any more, but it may still read other answers. */
        c->eof = true;
        client_end_wait(&c->client);
        return;
    }
    if (events & UV_READABLE && (!c->fresh || sniff_protocol(c)))
        read_input(c);
    conn_flush(&c->client);
}

static void conn_resume(struct client *client)
{
    list_remove(&client->resume);
    host_advance(&client->server->host);
    take_input(conn_of(client), (struct str){ 0 });
    conn_flush(client);
}

static void conn_deliver(struct client *client, struct job *const *jobs, size_t n)
{
    struct conn *c = conn_of(client);
    struct engine *e = client->server->host.engine;

    session_serve(&client->session, e, jobs, n, &c->out.bytes);
    c->active_ms = time_mono_ms();
    note_reply(c, engine_offered_lsn(e));
    conn_flush(client);
}

static void conn_drain(struct client *client)
{
    if (client->session.parked)
        client_end_wait(client);
    else
        watch_socket(conn_of(client));
}

static void conn_sweep(struct client *client, int64_t mono_ms)
{
    struct conn *c = conn_of(client);
    const struct options *o = &client->server->options;

    if (c->stuck_ms && mono_ms - c->stuck_ms > o->client_timeout_ms)
        client_cut_off(client, "it does not read its replies");
    else if (c->half_ms && mono_ms - c->half_ms > o->client_timeout_ms)
        client_cut_off(client, "it stopped within a request");
    else if (o->idle_timeout_ms && !client->session.parked && !client->errand &&
             mono_ms - c->active_ms > o->idle_timeout_ms)
        conn_close(client);
}

static const struct client_ops conn_ops = {
    .flush = conn_flush,
    .resume = conn_resume,
    .fetched = conn_fetched,
    .deliver = conn_deliver,
    .drain = conn_drain,
    .has_output = conn_has_output,
    .sweep = conn_sweep,
    .close = conn_close,
};

void conn_open(struct server *s, int fd, const struct peer *peer)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c || uv_poll_init_socket(&s->loop, &c->poll, fd) != 0) {
        free(c);
        close(fd);
        return;
    }
    c->fd = fd;
    c->fresh = true;
    c->poll.data = c;
    c->active_ms = time_mono_ms();
    client_init(&c->client, s, &conn_ops, peer);
    watch_socket(c);
}
