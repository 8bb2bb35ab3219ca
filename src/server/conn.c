/* SPDX-License-Identifier: MIT */
#include "server/conn.h"

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
#define STRANGER_BYTES ((size_t)65536) /* of an argument, while no token has been shown */

struct conn {
    struct client client;
    uv_poll_t poll;
    int fd; /* -1: handed over */
    int events;
    struct session session;
    struct errand *errand; /* for the first request in `in`, which is to be executed again */
    struct buf in;         /* a request that is not whole yet, or what waits to be executed */
    size_t in_need;        /* bytes it needs at least */
    struct replies out;
    int64_t stuck_ms;  /* monotonic: since when it takes no replies; 0: it does */
    int64_t half_ms;   /* monotonic: since when a request is not whole; 0: there is none */
    int64_t active_ms; /* monotonic: last request or reply */
    bool fresh;        /* nothing was taken of its input yet: it may speak HTTP, */
    int peeked;        /* and so many bytes of it did not tell */
    bool eof;
    bool closed;
};

static void on_poll(uv_poll_t *handle, int status, int events);
static void end_wait(struct conn *c);

static struct conn *of(struct client *c)
{
    return container_of(c, struct conn, client);
}

static bool has_output(const struct client *c)
{
    return replies_unsent(&container_of(c, const struct conn, client)->out) > 0;
}

/* Whether this client's next request may be executed, as far as it depends on this client. */
static bool is_free(const struct conn *c)
{
    return !c->session.parked && !c->errand && !c->session.quit &&
           replies_unsent(&c->out) < OUTPUT_PAUSE;
}

static bool wants_input(const struct conn *c)
{
    return !c->eof && is_free(c) && list_empty(&c->client.resume) && !c->client.server->stopping;
}

static void watch(struct conn *c)
{
    int events = 0;

    if (c->closed)
        return;
    if (c->session.parked)
        events |= UV_DISCONNECT;
    if (wants_input(c))
        events |= UV_READABLE;
    if (replies_are_stuck(&c->out))
        events |= UV_WRITABLE;
    if (events != c->events) {
        if (events)
            uv_poll_start(&c->poll, events, on_poll);
        else
            uv_poll_stop(&c->poll);
        c->events = events;
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;

    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

static void conn_close(struct conn *c)
{
    struct server *s = c->client.server;

    if (c->closed)
        return;
    c->closed = true;
    if (c->session.parked && s->host.engine)
        engine_wait_cancel(s->host.engine, c->session.parked);
    c->session.parked = NULL;
    errand_drop(c->errand);
    c->errand = NULL;
    client_fini(&c->client);
    buf_fini(&c->in);
    replies_fini(&c->out);
    uv_close((uv_handle_t *)&c->poll, on_closed);
}

static void close_client(struct client *client)
{
    conn_close(of(client));
}

/* Tells the log why, and closes. */
static void cut_off(struct conn *c, const char *why)
{
    char number[LOG_NUMBER];

    log_line(&c->client.server->log, LOG_LEVEL_WARN, "client cut off", "client",
             log_number((int64_t)c->session.id, number), "why", why, NULL);
    conn_close(c);
}

/* ---- Output ---- */

/* Notes that everything in out now waits for lsn. */
static bool hold(struct conn *c, uint64_t lsn)
{
    struct server *s = c->client.server;

    if (!replies_hold(&c->out, lsn, s->host.durable_lsn))
        return false;
    if (replies_are_held(&c->out) && list_empty(&c->client.holding))
        list_append(&s->host.holding, &c->client.holding);
    return true;
}

static void release(struct conn *c)
{
    replies_release(&c->out, c->client.server->host.durable_lsn);
    if (!replies_are_held(&c->out))
        list_remove(&c->client.holding);
}

/* Input that could not be executed when it came is looked at again in another turn, as soon as this
 * client's replies and the server's commits allow. */
static void queue_input(struct conn *c)
{
    bool whole = c->in.len && c->in.len >= c->in_need;

    if (whole && is_free(c) && list_empty(&c->client.resume)) {
        if (c->session.no_room) { /* the server looks at it when there is room */
            list_append(&c->client.server->held, &c->client.resume);
        } else {
            list_append(&c->client.server->resume, &c->client.resume);
            host_wake(&c->client.server->host);
        }
    }
}

static void conn_flush(struct client *client)
{
    struct conn *c = of(client);
    ssize_t sent;

    if (c->closed)
        return;
    release(c);
    sent = replies_send(&c->out, c->fd);
    if (sent < 0) {
        conn_close(c);
        return;
    }
    if (sent > 0)
        c->stuck_ms = 0;
    if (replies_are_stuck(&c->out) && !c->stuck_ms)
        c->stuck_ms = time_mono_us() / 1000;
    queue_input(c);
    if (replies_unsent(&c->out) == 0 &&
        (c->session.quit || (c->eof && is_free(c) && list_empty(&c->client.resume)))) {
        conn_close(c);
        return;
    }
    watch(c);
}

/* After replies were added to out: lsn is what they wait for. */
static void replied(struct conn *c, uint64_t lsn)
{
    if (c->out.bytes.failed || !hold(c, lsn)) {
        cut_off(c, "out of memory");
        return;
    }
    if (replies_unsent(&c->out) >
        (size_t)(c->client.server->options.output_limit + c->client.server->options.max_payload) +
            LEASE_BYTES_MAX) /* one answer is never too much */
        cut_off(c, "its unread replies are over output_limit");
}

/* ---- Input ---- */

static void protocol_error(struct conn *c, const char *why)
{
    resp_error(&c->out.bytes, "PROTOCOL", str_of(why));
    c->session.quit = true;
    replied(c, 0);
}

static void reply_error(struct conn *c, int err, const char *detail)
{
    session_fail(&c->session, err, detail, &c->out.bytes);
    replied(c, 0);
}

static void execute(struct conn *c, const struct resp_request *r)
{
    struct server *s = c->client.server;
    struct session_target target = client_target(s);
    uint64_t lsn = session_execute(&c->session, &target, r->args, r->n, &c->client, &c->out.bytes);

    if (c->session.cold) {
        c->errand = errand_begin(&s->host, &c->client);
        if (!c->errand)
            reply_error(c, BELFRY_NOMEM, "");
    } else if (!c->session.parked && !c->session.no_room) { /* else there is no reply yet */
        replied(c, lsn);
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
        execute(c, r);
    c->client.server->commands += !c->session.no_room;
}

/* Nobody is known, and somebody has to be; or that cannot be said now. */
static bool is_stranger(struct conn *c)
{
    const struct server *s = c->client.server;

    return !s->host.engine ||
           identity_check(&c->session.who, s->host.engine, c->session.remote) < 0;
}

/* How large an argument may be. */
static size_t max_bulk(struct conn *c)
{
    const struct server *s = c->client.server;

    if (is_stranger(c))
        return STRANGER_BYTES;
    return 2 * (size_t)s->options.max_payload + READ_BYTES;
}

/* Executes requests from input; returns how many bytes were used. One that is to be executed again
 * is not used yet. */
static size_t process(struct conn *c, struct str input)
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
        status = resp_read_request(s->request, rest, max_bulk(c), &n);
        if (status == RESP_MORE) {
            c->in_need = s->request->skip > rest.len ? s->request->skip : rest.len + 1;
            break;
        }
        if (status == RESP_BAD) {
            protocol_error(c, s->request->why);
            break;
        }
        if (s->request->n)
            take_request(c, s->request);
        if (c->errand || c->session.no_room)
            break;
        used += n;
    }
    return used;
}

/* What is kept of a request that is not whole is limited as a whole. */
static void check_input(struct conn *c)
{
    size_t limit = 2 * (size_t)c->client.server->options.max_payload + READ_BYTES + SLACK_BYTES;

    if (is_stranger(c))
        limit = 2 * STRANGER_BYTES;
    if (c->in.failed)
        cut_off(c, "out of memory");
    else if (c->in.len == 0)
        buf_reset(&c->in, BUFFER_KEEP);
    else if (c->in.len > limit && c->in_need > c->in.len)
        protocol_error(c, "request is larger than the limit");
}

static void note_half(struct conn *c, bool progress)
{
    if (c->closed)
        return;
    if (progress || c->in.len >= c->in_need)
        c->half_ms = 0;
    if (!c->half_ms && c->in.len < c->in_need)
        c->half_ms = time_mono_us() / 1000;
}

static void take_input(struct conn *c, struct str fresh)
{
    size_t used = 0;

    if (c->in.len == 0) { /* the usual case: whole requests, executed where they were read */
        used = process(c, fresh);
        if (!c->closed)
            buf_append(&c->in, fresh.ptr + used, fresh.len - used);
    } else {
        buf_str(&c->in, fresh);
        if (c->in.len >= c->in_need && !c->in.failed)
            used = process(c, buf_view(&c->in));
        if (used > 0 && !c->closed)
            buf_consume(&c->in, used);
    }
    if (!c->closed)
        check_input(c);
    note_half(c, used > 0);
}

static void conn_fetched(struct client *client, int err, const char *detail)
{
    struct conn *c = of(client);
    struct resp_request *r = c->client.server->request;
    size_t used = 0;

    c->errand = NULL;
    c->active_ms = time_mono_us() / 1000;
    if (resp_read_request(r, buf_view(&c->in), SIZE_MAX, &used) != RESP_OK)
        protocol_error(c, r->why ? r->why : "out of memory"); /* it was whole before */
    else if (err)
        reply_error(c, err, detail);
    else
        execute(c, r);
    if (err)
        c->session.cold = false;
    if (c->closed || c->errand)
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
        conn_close(c);
        return;
    }
    if (n == 0) {
        c->eof = true;
        return;
    }
    c->active_ms = time_mono_us() / 1000;
    host_advance(&s->host);
    take_input(c, (struct str){ s->read_buf, (size_t)n });
}

/* ---- The first bytes ---- */

/* The socket is somebody else's from here on. */
static void hand_over(struct conn *c, void (*adopt)(struct server *s, int fd, const struct peer *))
{
    struct server *s = c->client.server;
    struct peer peer = c->client.peer;
    int fd = c->fd;

    c->fd = -1;
    conn_close(c);
    adopt(s, fd, &peer);
}

/* In the words of the protocol that it speaks. */
static void refuse_plain(struct conn *c, bool http)
{
    if (recv(c->fd, c->client.server->read_buf, READ_BYTES, 0) < 0) {
        /* What it said is dropped, lest closing lose the answer. */
    }
    buf_text(&c->out.bytes, http ? TLS_PLAIN_HTTP : TLS_PLAIN_RESP);
    c->session.quit = true;
    replied(c, 0);
}

/* How many bytes must have come before the loop tells of them. */
static void set_least(struct conn *c, int bytes)
{
    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* What follows from the first bytes. True: it speaks RESP. */
static bool choose(struct conn *c, struct str first, bool http)
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

/* Looks at the first bytes without taking them. True: it speaks RESP. */
static bool sniff(struct conn *c)
{
    char first[HTTP_GUESS_BYTES];
    ssize_t n = recv(c->fd, first, sizeof(first), MSG_PEEK);
    struct str seen = { first, n > 0 ? (size_t)n : 0 };
    enum http_guess guess = seen.len ? http_guess(seen) : HTTP_GUESS_NO;

    if (guess == HTTP_GUESS_MORE && n > c->peeked) { /* else no more will come */
        c->peeked = (int)n;
        set_least(c, c->peeked + 1);
        if (!c->half_ms)
            c->half_ms = time_mono_us() / 1000;
        return false;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (c->peeked)
        set_least(c, 1);
    c->fresh = false;
    c->half_ms = 0;
    return choose(c, seen, guess == HTTP_GUESS_YES);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct conn *c = handle->data;

    if (status < 0) {
        conn_close(c);
        return;
    }
    if (events & UV_DISCONNECT && c->session.parked) {
        /* Nobody is there to be served; but what was asked before and behind may still be read. */
        c->eof = true;
        end_wait(c);
        return;
    }
    if (events & UV_READABLE && (!c->fresh || sniff(c)))
        read_input(c);
    conn_flush(&c->client);
}

static void conn_resume(struct client *client)
{
    struct conn *c = of(client);

    list_remove(&c->client.resume);
    host_advance(&c->client.server->host);
    take_input(c, (struct str){ 0 });
    conn_flush(client);
}

static void conn_deliver(struct client *client, struct job *const *jobs, size_t n)
{
    struct conn *c = of(client);
    struct engine *e = c->client.server->host.engine;

    session_serve(&c->session, e, jobs, n, &c->out.bytes);
    c->active_ms = time_mono_us() / 1000;
    replied(c, engine_offered_lsn(e));
    conn_flush(client);
}

static void end_wait(struct conn *c)
{
    engine_wait_cancel(c->client.server->host.engine, c->session.parked);
    conn_deliver(&c->client, NULL, 0);
}

static void conn_drain(struct client *client)
{
    struct conn *c = of(client);

    if (c->session.parked)
        end_wait(c);
    else
        watch(c);
}

static void conn_sweep(struct client *client, int64_t mono_ms)
{
    struct conn *c = of(client);
    const struct options *o = &c->client.server->options;

    if (c->stuck_ms && mono_ms - c->stuck_ms > o->client_timeout_ms)
        cut_off(c, "it does not read its replies");
    else if (c->half_ms && mono_ms - c->half_ms > o->client_timeout_ms)
        cut_off(c, "it stopped within a request");
    else if (o->idle_timeout_ms && !c->session.parked && !c->errand &&
             mono_ms - c->active_ms > o->idle_timeout_ms)
        conn_close(c);
}

static const struct client_ops conn_ops = {
    .flush = conn_flush,
    .resume = conn_resume,
    .fetched = conn_fetched,
    .deliver = conn_deliver,
    .drain = conn_drain,
    .has_output = has_output,
    .sweep = conn_sweep,
    .close = close_client,
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
    c->active_ms = time_mono_us() / 1000;
    session_init(&c->session, ++s->next_conn);
    client_init(&c->client, s, &conn_ops, &c->session, peer);
    peer_text(peer, c->session.address, sizeof(c->session.address));
    c->session.remote = !peer_is_loopback(peer);
    watch(c);
}
