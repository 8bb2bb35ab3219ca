/* SPDX-License-Identifier: MIT */
#include "server/http/http.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "host/errand.h"
#include "server/acked.h"
#include "server/http/http_client.h"

#define SLOW_BYTES      ((size_t)256 << 10) /* bytes that a client must take in client_timeout */
#define ANSWER_SPARE    ((size_t)4096)      /* memory beside max_headers, for headers of answers */
#define HELD_TURN       64                  /* held answers that go on in one turn */
#define NO_MORE_CLIENTS 2000000u            /* listen.c looks at max_connections */

static void http_close(struct client *client);
static void on_soon(uv_idle_t *soon);

static struct http_client *http_of(struct client *c)
{
    return container_of(c, struct http_client, client);
}

/* ---- Waiting ---- */

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle);
}

static void unwatch(struct http_client *c)
{
    if (c->watch)
        uv_close((uv_handle_t *)c->watch, on_watch_closed);
    c->watch = NULL;
}

static void on_gone(uv_poll_t *watch, int status, int events)
{
    struct http_client *c = watch->data;

    if (status >= 0 && !(events & UV_DISCONNECT))
        return;
    if (c->stream)
        http_close(&c->client);
    else
        client_end_wait(&c->client);
}

void http_watch(struct http_client *c)
{
    c->watch = calloc(1, sizeof(*c->watch));
    if (!c->watch || uv_poll_init_socket(&c->client.server->loop, c->watch, c->fd) != 0) {
        free(c->watch);
        c->watch = NULL;
        return;
    }
    c->watch->data = c;
    uv_poll_start(c->watch, UV_DISCONNECT, on_gone);
}

void http_note_held(struct http_client *c)
{
    size_t body = c->charge > c->body.cap ? c->charge : c->body.cap;

    client_hold(&c->client, body + c->uri.cap + c->answer.body.cap + c->call.text.cap +
                                c->call.cap * sizeof(struct str));
}

/* libmicrohttpd has one turn for all connections that are woken now. */
void http_wake(struct http_client *c)
{
    struct http *h = &c->client.server->http;

    if (!c->suspended)
        return;
    c->suspended = false;
    list_remove(&c->held);
    MHD_resume_connection(c->connection);
    uv_idle_start(&h->soon, on_soon);
}

void http_hold(struct http_client *c)
{
    c->waited = true;
    list_append(&c->client.server->http.held, &c->held);
}

static void http_flush(struct client *client)
{
    struct http_client *c = http_of(client);

    if (c->closed || !http_is_ready(c))
        return;
    list_remove(&client->uncommitted);
    http_wake(c);
}

void http_note_answer(struct http_client *c, uint64_t lsn)
{
    c->answered = true;
    c->lsn = lsn;
    http_note_held(c);
    if (!http_is_ready(c))
        client_await_commit(&c->client);
}

static void note_error(struct http_client *c, int err, const char *detail)
{
    http_fail(err, detail, &c->answer);
    http_note_answer(c, 0);
}

/* ---- Executing ---- */

/* A request that waits for the end of a job needs its words no more. */
static void drop_words(struct http_client *c)
{
    bool json = c->call.json;

    http_call_reset(&c->call);
    c->call.json = json;
    buf_reset(&c->body, 0);
    http_note_held(c);
}

static void execute_request(struct http_client *c, enum slow_stage stage)
{
    struct server *s = c->client.server;
    struct session *session = &c->client.session;
    struct session_target target = client_target(c->client.server, client_is_crowded(&c->client));
    int64_t begun_us = time_mono_us();
    uint64_t lsn = http_execute(session, &target, c->match.route, &c->call, &c->client, &c->answer);

    slow_note(s, http_route_verb(c->match.route)->name, stage, time_mono_us() - begun_us,
              session->id);
    if (session->cold) {
        c->client.errand = errand_begin(&s->host, &c->client, c->client.holding.account);
        if (!c->client.errand)
            note_error(c, BELFRY_NOMEM, "");
    } else if (session->no_room) {
        client_queue(&c->client);
    } else if (session->parked) {
        if (session_awaits(session))
            drop_words(c);
        http_watch(c);
    } else {
        http_note_answer(c, lsn);
    }
}

void http_start(struct http_client *c)
{
    struct server *s = c->client.server;

    if (!host_may_execute(&s->host) || server_is_late(s, time_mono_us())) {
        client_queue(&c->client);
        return;
    }
    host_advance(&s->host);
    execute_request(c, SLOW_REQUEST);
}

static void http_resume(struct client *client)
{
    list_remove(&client->resume);
    http_start(http_of(client));
    client->holding.forced = false;
    http_flush(client);
}

static void http_fetched(struct client *client, int err, const char *detail)
{
    client->errand = NULL;
    if (err) {
        session_forget(&client->session);
        note_error(http_of(client), err, detail);
    } else {
        execute_request(http_of(client), SLOW_FETCHED);
    }
}

static void http_deliver(struct client *client, struct job *const *jobs, size_t n)
{
    struct http_client *c = http_of(client);
    struct engine *e = client->server->host.engine;

    unwatch(c);
    if (session_awaits(&client->session)) {
        client->session.parked = NULL;
        client->session.woken = true;
        execute_request(c, SLOW_FETCHED);
    } else {
        http_serve(&client->session, e, c->match.route, &c->call, jobs, n, &c->answer);
        http_note_answer(c, engine_offered_lsn(e));
    }
    http_flush(client);
}

static bool http_attends(struct client *client)
{
    if (!socket_is_ended(http_of(client)->fd))
        return true;
    client_end_wait(client);
    return false;
}

static void http_drain(struct client *client)
{
    if (client->session.parked)
        client_end_wait(client);
    if (http_of(client)->stream)
        http_stream_end(http_of(client));
}

static bool http_has_output(const struct client *client)
{
    const struct http_client *c = container_of(client, const struct http_client, client);

    return c->phase >= PHASE_WAITS && !c->stream;
}

/* ---- Ending ---- */

void http_abandon(struct http_client *c)
{
    http_stream_free(c);
    unwatch(c);
    client_abandon(&c->client);
}

/* The connection ends when libmicrohttpd sees that, in its next turn. */
static void http_close(struct client *client)
{
    struct http_client *c = http_of(client);

    http_abandon(c);
    client_fini(client);
    c->closed = true;
    shutdown(c->fd, SHUT_RDWR);
    http_wake(c);
}

static bool http_progress(struct client *client, uint64_t *ret)
{
    struct http_client *c = http_of(client);

    *ret = client->holding.took + socket_acked(c->fd);
    return !c->stream && !c->suspended && c->phase != PHASE_WAITS;
}

/* How long the client has for its answer: one client_timeout for each SLOW_BYTES, and one more. */
static int64_t answer_ms(const struct http_client *c)
{
    int64_t pieces = 1 + (int64_t)(c->answer.body.len / SLOW_BYTES);

    return pieces * c->client.server->options.client_timeout_ms;
}

static int64_t keepalive_ms(const struct options *o)
{
    return o->keepalive_timeout_ms ? o->keepalive_timeout_ms : o->client_timeout_ms;
}

static void http_sweep(struct client *client, int64_t mono_ms)
{
    struct http_client *c = http_of(client);
    const struct options *o = &client->server->options;
    int64_t age = mono_ms - c->since_ms;

    if (c->phase == PHASE_IDLE && c->served && age > keepalive_ms(o))
        http_close(client); /* no request has begun, as far as the server sees */
    else if (c->phase == PHASE_IDLE && o->idle_timeout_ms && age > o->idle_timeout_ms)
        http_close(client);
    else if (c->phase < PHASE_WAITS && !(c->phase == PHASE_IDLE && c->served) &&
             age > o->client_timeout_ms)
        client_cut_off(client, "it stopped within a request");
    else if (c->phase == PHASE_ANSWERED && !c->stream && age > answer_ms(c))
        client_cut_off(client, "it takes its answer too slowly");
}

static const struct client_ops http_ops = {
    .flush = http_flush,
    .resume = http_resume,
    .fetched = http_fetched,
    .deliver = http_deliver,
    .attends = http_attends,
    .drain = http_drain,
    .has_output = http_has_output,
    .sweep = http_sweep,
    .progress = http_progress,
    .close = http_close,
};

/* ---- Calls of libmicrohttpd ---- */

/* Seconds after which libmicrohttpd ends a client that does not take its answer. */
static unsigned timeout_s(const struct server *s)
{
    int64_t ms = s->options.client_timeout_ms, idle = keepalive_ms(&s->options);

    return (unsigned)(((idle > ms ? idle : ms) + 999) / 1000) + 1;
}

static struct http_client *client_new(struct server *s, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct http_client *c = info && from ? calloc(1, sizeof(*c)) : NULL;
    struct peer peer;

    if (!c)
        return NULL;
    memcpy(&peer, from->client_addr, sizeof(peer)); /* as http_adopt gave it */
    c->connection = connection;
    c->fd = info->connect_fd;
    c->since_ms = time_mono_ms();
    list_init(&c->held);
    client_init(&c->client, s, &http_ops, &peer);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, timeout_s(s));
    return c;
}

static void client_free(struct http_client *c)
{
    if (!c)
        return;
    list_remove(&c->held);
    if (!c->closed) {
        http_abandon(c);
        client_fini(&c->client);
    }
    buf_fini(&c->uri);
    buf_fini(&c->body);
    http_call_fini(&c->call);
    http_answer_fini(&c->answer);
    free(c);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = client_new(arg, connection);
    } else {
        client_free(*context);
        *context = NULL;
    }
}

/* http_route_find looks at escapes when it has split the path. */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* ---- The loop ---- */

static void on_timer(uv_timer_t *timer);

/* libmicrohttpd wants a turn at once while clients pipeline requests. A timer of 0 ms would not do.
 * libuv fires such a timer again before it looks at any other client, as long as its callback sets
 * it. */
static void arm_timer(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;

    uv_timer_stop(&h->timer);
    if (uv_is_active((uv_handle_t *)&h->soon) || MHD_get_timeout(h->daemon, &ms) != MHD_YES)
        return;
    if (ms == 0)
        uv_idle_start(&h->soon, on_soon);
    else
        uv_timer_start(&h->timer, on_timer, ms, 0);
}

static void run_daemon(struct http *h)
{
    uv_idle_stop(&h->soon);
    for (int i = 0; i < HELD_TURN && !list_empty(&h->held); i++)
        http_wake(container_of(h->held.next, struct http_client, held));
    MHD_run(h->daemon);
    if (list_empty(&h->held))
        arm_timer(h);
    else
        uv_idle_start(&h->soon, on_soon);
}

static void on_timer(uv_timer_t *timer)
{
    run_daemon(container_of(timer, struct http, timer));
}

static void on_soon(uv_idle_t *soon)
{
    run_daemon(container_of(soon, struct http, soon));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run_daemon(container_of(poll, struct http, poll));
}

/* Whether a text is empty, or one or more parts of a path with a slash before each. */
static bool is_prefix(const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

    while (text[0] == '/') {
        size_t n = strspn(text + 1, plain);

        if (n == 0)
            return false;
        text += 1 + n;
    }
    return text[0] == '\0';
}

int http_check(struct server *s)
{
    if (is_prefix(s->options.ui.prefix))
        return 0;
    log_error(&s->log, "ui_prefix is not valid", "value", s->options.ui.prefix, "expected",
              "a path such as /belfry, without a slash at its end");
    return BELFRY_INVALID;
}

int http_open(struct server *s)
{
    struct http *h = &s->http;
    const union MHD_DaemonInfo *info;

    list_init(&h->held);
    if (http_check(s) < 0)
        return BELFRY_INVALID;
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        http_on_request, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, s, MHD_OPTION_URI_LOG_CALLBACK, http_on_uri,
        s, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)s->options.max_headers + ANSWER_SPARE, MHD_OPTION_CONNECTION_LIMIT, NO_MORE_CLIENTS,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout_s(s), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    info = h->daemon ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info || uv_poll_init(&s->loop, &h->poll, info->epoll_fd) != 0) {
        log_error(&s->log, "cannot begin to serve HTTP");
        if (h->daemon)
            MHD_stop_daemon(h->daemon);
        h->daemon = NULL;
        return BELFRY_IO;
    }
    uv_timer_init(&s->loop, &h->timer);
    uv_idle_init(&s->loop, &h->soon);
    uv_poll_start(&h->poll, UV_READABLE, on_readable);
    return 0;
}

void http_adopt(struct server *s, int fd, const struct peer *peer)
{
    /* libmicrohttpd closes the socket itself if it cannot take it. */
    MHD_add_connection(s->http.daemon, fd, &peer->at.any, sizeof(*peer));
    arm_timer(&s->http);
}

void http_stop(struct server *s)
{
    buf_fini(&s->http.openapi);
    logins_fini(&s->http.logins);
    if (!s->http.daemon)
        return;
    uv_poll_stop(&s->http.poll);
    MHD_stop_daemon(s->http.daemon);
}
