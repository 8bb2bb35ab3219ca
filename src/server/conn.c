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
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "front/http_route.h"
#include "host/errand.h"
#include "server/conn_data.h"

#define BUFFER_KEEP  ((size_t)4096) /* bytes of input that an idle connection keeps room for */
#define SLACK_BYTES  (1u << 20)     /* bytes of a request beyond its payload */
#define COMMANDS_MAX 1024           /* requests of one connection in one turn */
#define TURN_US      1000           /* the time of one connection in one turn */
#define QUICK_MAX    16             /* quick requests between two looks at the clock */
#define QUICK_BYTES  1024           /* a longer request of a quick verb is not quick */
#define SLOW_BYTES   (64u << 10)    /* bytes that a client has to take within client_timeout */
#define TRIM_MS      1000           /* the time after which an idle connection gives back buffers */

static void on_poll(uv_poll_t *handle, int status, int events);

static struct conn *conn_of(struct client *c)
{
    return container_of(c, struct conn, client);
}

static bool conn_has_output(const struct client *c)
{
    return replies_unsent(&container_of(c, const struct conn, client)->out) > 0;
}

/* Whether the client has small buffers. */
static bool is_small(struct conn *c)
{
    return client_is_stranger(&c->client) || client_is_crowded(&c->client);
}

/* Whether the client itself allows its next request: it waits for nothing, and fewer than
 * unsent_max bytes of its replies are unsent. */
static bool is_free_with(const struct conn *c, size_t unsent_max)
{
    const struct session *s = &c->client.session;

    return !s->parked && !s->woken && !c->client.errand && !s->quit &&
           replies_unsent(&c->out) < unsent_max;
}

static bool is_free(struct conn *c)
{
    return is_free_with(c, OUTPUT_PAUSE) && (is_free_with(c, ACCOUNT_SMALL) || !is_small(c));
}

void conn_watch(struct conn *c)
{
    int events = 0;

    if (c->closed)
        return;
    if (c->client.session.parked)
        events |= UV_DISCONNECT;
    if (!c->eof && is_free(c) && list_empty(&c->client.resume) && !c->client.server->stopping)
        events |= UV_READABLE | UV_DISCONNECT;
    if (replies_are_stuck(&c->out))
        events |= UV_WRITABLE;
    if (!list_empty(&c->going))
        events = 0;
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

void conn_close(struct client *client)
{
    struct conn *c = conn_of(client);

    if (c->closed)
        return;
    c->closed = true;
    client->server->going.closes++;
    list_remove(&c->going);
    client_fini(client);
    buf_fini(&c->in);
    replies_fini(&c->out);
    uv_close((uv_handle_t *)&c->poll, on_closed);
}

/* ---- Output ---- */

/* Bytes that the client's side has taken from the kernel. */
static uint64_t count_taken(const struct conn *c)
{
    int queued = 0;

    if (ioctl(c->fd, SIOCOUTQ, &queued) < 0)
        queued = 0;
    return c->sent - (uint64_t)queued;
}

static void note_sent(struct conn *c, ssize_t bytes)
{
    c->sent += (uint64_t)bytes;
    if (!replies_are_stuck(&c->out)) {
        c->stuck_ms = 0;
    } else if (!c->stuck_ms) {
        c->stuck_ms = time_mono_ms();
        c->stuck_at = count_taken(c);
    }
}

/* Tells the account what the connection holds. */
static void note_held(struct conn *c)
{
    size_t in = c->charge > c->in.cap ? c->charge : c->in.cap;

    client_hold(&c->client, in + c->out.bytes.cap + c->out.marks.cap);
}

/* Gives back buffers that are empty. */
static void trim(struct conn *c)
{
    if (c->in.len == 0)
        buf_reset(&c->in, 0);
    if (c->out.bytes.len == 0)
        buf_reset(&c->out.bytes, 0);
    note_held(c);
}

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
    note_sent(c, sent);
    note_held(c);
    if (client_is_crowded(client))
        trim(c);
    may_go_on = is_free(c) && list_empty(&client->resume);
    if (may_go_on && c->in.len && (c->in.len >= c->half.need || client->session.crowded))
        client_queue(client); /* with a whole request that could not be executed when it came */
    else if (replies_unsent(&c->out) == 0 && (client->session.quit || (c->eof && may_go_on)))
        conn_close(client);
    conn_watch(c);
}

void conn_note_reply(struct conn *c, uint64_t lsn)
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

void conn_drop_words(struct conn *c)
{
    if (recv(c->fd, c->client.server->read_buf, READ_BYTES, 0) < 0) {
        /* There are none, or the connection is broken. */
    }
}

static void protocol_error(struct conn *c, const char *why)
{
    conn_drop_words(c);
    resp_error(&c->out.bytes, "PROTOCOL", str_of(why));
    c->client.session.quit = true;
    conn_note_reply(c, 0);
}

void conn_fail(struct conn *c, int err, const char *detail)
{
    session_fail(&c->client.session, err, detail, &c->out.bytes);
    conn_note_reply(c, 0);
}

static void execute_request(struct conn *c, const struct resp_request *r, bool crowded)
{
    struct server *s = c->client.server;
    struct session *session = &c->client.session;
    struct session_target target = client_target(s, crowded);
    uint64_t lsn = session_execute(session, &target, r->args, r->n, &c->client, &c->out.bytes);

    if (session->cold) {
        c->client.errand = errand_begin(&s->host, &c->client, c->client.holding.account);
        if (!c->client.errand)
            conn_fail(c, BELFRY_NOMEM, "");
    } else if (!session->parked && !session->no_room) { /* else there is no reply yet */
        conn_note_reply(c, lsn);
    }
}

/* A request that has not been executed before. It may have found no room. */
static void take_request(struct conn *c, const struct resp_request *r, bool crowded)
{
    c->client.session.no_room = c->client.session.crowded = false;
    if (http_guess_words(r->args, r->n))
        protocol_error(c,
                       "this is neither RESP nor HTTP as it is spoken here: expected a method in "
                       "upper case, a blank and a path");
    else if (account_counts(&c->client.holding) && !account_spend(&c->client, r->args[0]))
        conn_fail(c, BELFRY_RATE, c->client.server->accounts.why);
    else
        execute_request(c, r, crowded);
    if (c->client.session.no_room)
        account_give_back(&c->client);
    c->client.server->commands += !c->client.session.no_room;
}

/* The largest argument that the client may send. */
static size_t max_argument(struct conn *c)
{
    size_t payload = (size_t)c->client.server->options.max_payload;

    return client_is_stranger(&c->client) ? ACCOUNT_SMALL : 2 * payload + READ_BYTES;
}

/* The most bytes that are kept of a request that is not whole. */
static size_t max_request(struct conn *c)
{
    size_t payload = (size_t)c->client.server->options.max_payload;

    if (client_is_stranger(&c->client))
        return 2 * ACCOUNT_SMALL;
    return 2 * payload + READ_BYTES + SLACK_BYTES;
}

/* Notes that the first request of the input is not whole. `len` bytes of it have come. */
static void note_half(struct conn *c, const struct resp_place *place, size_t len)
{
    c->half = *place;
    if (c->half.need <= len)
        c->half.need = len + 1;
}

/* Whether the first request of `in` may be executed: it was not half before, or it is whole now. */
static bool is_whole(struct conn *c)
{
    struct resp_place place = c->half;

    if (!place.need || resp_look_on(&place, buf_view(&c->in), max_argument(c)))
        return true;
    note_half(c, &place, c->in.len);
    return false;
}

static const char *verb_name(const struct session *session)
{
    return session->verb ? session->verb : "PING, HELLO or the like";
}

/* Looks at the clock after the n-th request of a turn, unless the request was quick. A look has a
 * small cost, so up to QUICK_MAX quick requests share one. */
static void look_at_clock(struct conn *c, size_t n, size_t bytes)
{
    const struct session *session = &c->client.session;
    int64_t now_us;

    if (session->quick && bytes <= QUICK_BYTES && n % QUICK_MAX)
        return;
    now_us = time_mono_us();
    slow_note(c->client.server, verb_name(session), SLOW_REQUEST, now_us - c->looked_us,
              session->id);
    c->looked_us = now_us;
}

/* The limits of a client for a while. */
struct allowance {
    size_t unsent;   /* bytes of replies that may be unsent */
    size_t argument; /* bytes of one argument */
    bool crowded;
};

/* The present limits. They hold while a connection executes quick requests, because nothing changes
 * its account or its token then. */
static struct allowance allowance_of(struct conn *c)
{
    bool crowded = client_is_crowded(&c->client), strange = client_is_stranger(&c->client);

    return (struct allowance){ crowded || strange ? ACCOUNT_SMALL : OUTPUT_PAUSE, max_argument(c),
                               crowded };
}

/* Executes requests from input; returns how many bytes were used. A request that is to be executed
 * again is not used yet. */
static size_t execute_input(struct conn *c, struct str input)
{
    struct server *s = c->client.server;
    struct allowance may = allowance_of(c);
    size_t used = 0, commands = 0;

    c->half = (struct resp_place){ 0 };
    while (used < input.len && !c->closed && is_free_with(c, may.unsent) &&
           host_may_execute(&s->host)) {
        struct str rest = { input.ptr + used, input.len - used };
        size_t n = 0;
        enum resp_status status;

        if (commands++ == COMMANDS_MAX || c->looked_us >= c->until_us)
            break;
        status = resp_read_request(&s->request, rest, may.argument, &n);
        if (status == RESP_MORE) {
            note_half(c, &s->request.place, rest.len);
            break;
        }
        if (status == RESP_BAD) {
            protocol_error(c, s->request.why);
            break;
        }
        if (s->request.n)
            take_request(c, &s->request, may.crowded);
        if (!c->closed)
            look_at_clock(c, commands, n);
        if (c->client.errand || c->client.session.no_room)
            break;
        used += n;
        if (!c->closed && !c->client.session.quick)
            may = allowance_of(c);
    }
    return used;
}

static void check_input(struct conn *c)
{
    if (c->in.failed)
        client_cut_off(&c->client, "out of memory");
    else if (c->in.len == 0)
        buf_reset(&c->in, BUFFER_KEEP);
    else if (c->half.need > c->in.len && c->in.len > max_request(c))
        protocol_error(c, "request is larger than the limit");
}

/* The server reads a large argument only when there is memory for all of it. If another large
 * argument follows, the request may have to wait again. */
static void charge_half(struct conn *c)
{
    size_t need = c->half.need;
    bool more = need > c->charge + ACCOUNT_SMALL;

    if (need <= c->in.len || need <= ACCOUNT_SMALL) {
        c->charge = 0;
        return;
    }
    if (more && client_is_crowded(&c->client)) {
        c->client.session.crowded = true;
        return;
    }
    c->client.session.crowded = false;
    if (more)
        c->charge = need > c->in.len + 1 ? need : max_request(c);
    if (need > c->in.cap)
        buf_reserve(&c->in, need - c->in.len); /* exactly the bytes that are missing */
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
        if (!c->in.failed && is_whole(c))
            used = execute_input(c, buf_view(&c->in));
        if (used > 0 && !c->closed)
            buf_consume(&c->in, used);
    }
    if (!c->closed)
        check_input(c);
    if (!c->closed)
        charge_half(c);
    if (used > 0 || c->in.len >= c->half.need)
        c->half_ms = 0;
    if (!c->half_ms && c->in.len < c->half.need)
        c->half_ms = time_mono_ms();
}

static void conn_fetched(struct client *client, int err, const char *detail)
{
    struct conn *c = conn_of(client);
    struct resp_request *r = &client->server->request;
    int64_t begun_us = time_mono_us();
    size_t used = 0;

    client->errand = NULL;
    c->active_ms = begun_us / 1000;
    if (client->session.woken) {
        conn_go_on(c, err, detail);
        return;
    }
    if (resp_read_request(r, buf_view(&c->in), SIZE_MAX, &used) != RESP_OK)
        protocol_error(c, r->why ? r->why : "out of memory"); /* it was whole before */
    else if (err)
        conn_fail(c, err, detail);
    else
        execute_request(c, r, client_is_crowded(client));
    slow_note(client->server, verb_name(&client->session), SLOW_FETCHED, time_mono_us() - begun_us,
              client->session.id);
    if (err)
        session_forget(&client->session);
    if (c->closed || client->errand)
        return;
    buf_consume(&c->in, used);
    check_input(c);
}

static void begin_turn(struct conn *c, int64_t now_us)
{
    host_advance(&c->client.server->host);
    c->looked_us = c->client.server->host.noted_us;
    c->until_us = now_us + TURN_US;
    if (c->until_us <= c->looked_us)
        c->until_us = c->looked_us + 1; /* there is time for one request */
}

/* Takes bytes that came just now. If the turn of the loop has lasted for long, the bytes wait for
 * the next turn, in which all clients go one after another. */
static void take_fresh(struct conn *c, struct str bytes)
{
    int64_t now_us = time_mono_us();

    c->active_ms = now_us / 1000;
    if (server_is_late(c->client.server, now_us)) {
        buf_str(&c->in, bytes);
        check_input(c);
        if (!c->closed)
            client_queue(&c->client);
        return;
    }
    begin_turn(c, now_us);
    take_input(c, bytes);
}

static void read_input(struct conn *c)
{
    struct server *s = c->client.server;
    size_t most = is_small(c) && !c->charge ? ACCOUNT_SMALL : READ_BYTES;
    ssize_t n = recv(c->fd, s->read_buf, most, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        conn_close(&c->client);
    } else if (n == 0) {
        c->eof = true;
    } else {
        c->client.holding.took += (uint64_t)n;
        take_fresh(c, (struct str){ s->read_buf, (size_t)n });
    }
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct conn *c = handle->data;

    if (events & UV_DISCONNECT && conn_put_off(c))
        return;
    if (status < 0) {
        conn_close(&c->client);
        return;
    }
    if (events & UV_DISCONNECT && c->client.session.parked) {
        /* The client waits for nothing any more, but it may still read answers. */
        c->eof = true;
        client_end_wait(&c->client);
        return;
    }
    if (events & UV_READABLE && (!c->fresh || conn_sniff(c)))
        read_input(c);
    conn_flush(&c->client);
}

static void conn_resume(struct client *client)
{
    list_remove(&client->resume);
    begin_turn(conn_of(client), time_mono_us());
    if (client->session.woken)
        conn_go_on(conn_of(client), 0, "");
    else
        take_input(conn_of(client), (struct str){ 0 });
    client->holding.forced = false;
    conn_flush(client);
}

static bool conn_progress(struct client *client, uint64_t *ret)
{
    struct conn *c = conn_of(client);

    *ret = client->holding.took + count_taken(c);
    return c->stuck_ms || (c->half_ms && list_empty(&client->resume));
}

/* Whether the client has taken too little for too long. A byte now and then is too little. */
static bool reads_too_little(struct conn *c, int64_t mono_ms)
{
    uint64_t taken;

    if (!c->stuck_ms || mono_ms - c->stuck_ms <= c->client.server->options.client_timeout_ms)
        return false;
    taken = count_taken(c);
    if (taken - c->stuck_at < SLOW_BYTES)
        return true;
    c->stuck_ms = mono_ms;
    c->stuck_at = taken;
    return false;
}

static void conn_sweep(struct client *client, int64_t mono_ms)
{
    struct conn *c = conn_of(client);
    const struct options *o = &client->server->options;

    if (mono_ms - c->active_ms > TRIM_MS)
        trim(c);
    if (c->half_ms && !list_empty(&client->resume))
        c->half_ms = mono_ms; /* The server does not read now. */
    if (reads_too_little(c, mono_ms))
        client_cut_off(client, "it does not read its replies");
    else if (c->half_ms && mono_ms - c->half_ms > o->client_timeout_ms)
        client_cut_off(client, "it stopped within a request");
    else if (o->idle_timeout_ms && !client->session.parked && !client->errand &&
             mono_ms - c->active_ms > o->idle_timeout_ms)
        conn_close(client);
}

static void conn_drain(struct client *client)
{
    if (client->session.parked)
        client_end_wait(client);
    else
        conn_watch(conn_of(client));
}

static const struct client_ops conn_ops = {
    .flush = conn_flush,
    .resume = conn_resume,
    .fetched = conn_fetched,
    .deliver = conn_deliver,
    .attends = conn_attends,
    .drain = conn_drain,
    .has_output = conn_has_output,
    .sweep = conn_sweep,
    .progress = conn_progress,
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
    list_init(&c->going);
    c->poll.data = c;
    c->active_ms = time_mono_ms();
    client_init(&c->client, s, &conn_ops, peer);
    conn_watch(c);
}
