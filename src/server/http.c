/* SPDX-License-Identifier: MIT */
#include "server/http.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "front/http_call.h"
#include "front/http_docs.h"
#include "front/http_status.h"
#include "front/openapi.h"
#include "server/client.h"
#include "server/errand.h"

#define MEMORY_BYTES    ((size_t)32768) /* of a connection: its headers have to fit */
#define BUFFER_KEEP     ((size_t)4096)  /* of a connection that is idle */
#define SLACK_BYTES     (1u << 20)      /* of a body beyond its payload */
#define NO_MORE_CLIENTS 2000000u        /* max_connections is looked at when they are accepted */

struct http {
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    bool woken;         /* connections were resumed: it has a turn soon */
    struct buf openapi; /* made when it is first asked for */
};

enum phase {
    PHASE_IDLE,    /* no request, or not all of its headers */
    PHASE_BEGUN,   /* its first line is there */
    PHASE_BODY,    /* its headers are */
    PHASE_WAITS,   /* all of it is; its answer is not, or may not be sent yet */
    PHASE_ANSWERED /* its answer is being sent */
};

/* Tells when a client that waits for work goes away: while a connection is suspended nobody looks.
 */
struct watch {
    uv_poll_t poll;
    struct http_client *client;
};

struct http_client {
    struct client client;
    struct MHD_Connection *connection;
    int fd;
    bool suspended;
    bool closed; /* it is to end: nothing is done for it any more */
    struct session session;
    int64_t since_ms; /* monotonic: when the last answer was out, or it came */

    /* The request. */
    enum phase phase;
    struct buf uri; /* as it stands in the first line */
    struct http_match match;
    struct str query;
    const char
        *key; /* Idempotency-Key, or NULL: belongs to the connection while the request lasts */
    struct buf body;
    size_t dropped; /* bytes of the body that were not kept, as the answer is an error already */
    struct http_call call;
    struct errand *errand;
    struct watch *watch;
    uint64_t lsn;  /* the answer waits for this to be durable */
    bool answered; /* `answer` is there */
    struct http_answer answer;
    bool html;      /* the answer is a page, */
    char nonce[24]; /* whose scripts and styles have this */
};

static void end_wait(struct http_client *c);

static struct http_client *of(struct client *c)
{
    return container_of(c, struct http_client, client);
}

static int64_t now_ms(void)
{
    return time_mono_us() / 1000;
}

/* ---- Waiting ---- */

static void on_watch_closed(uv_handle_t *handle)
{
    free(container_of(handle, struct watch, poll));
}

static void unwatch(struct http_client *c)
{
    if (c->watch) {
        c->watch->client = NULL;
        uv_close((uv_handle_t *)&c->watch->poll, on_watch_closed);
    }
    c->watch = NULL;
}

static void on_gone(uv_poll_t *poll, int status, int events)
{
    struct watch *w = container_of(poll, struct watch, poll);

    if (w->client && (status < 0 || events & UV_DISCONNECT))
        end_wait(w->client);
}

/* Without memory for it the wait lasts as long as was asked for, whoever is there. */
static void watch(struct http_client *c)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w || uv_poll_init_socket(&c->client.server->loop, &w->poll, c->fd) != 0) {
        free(w);
        return;
    }
    w->client = c;
    c->watch = w;
    uv_poll_start(&w->poll, UV_DISCONNECT, on_gone);
}

static void on_timer(uv_timer_t *timer);

/* The answer can be sent, or the connection is to end: libmicrohttpd asks again in its next turn,
 * one for all that are woken now. */
static void wake(struct http_client *c)
{
    struct http *h = c->client.server->http;

    if (!c->suspended)
        return;
    c->suspended = false;
    MHD_resume_connection(c->connection);
    if (!h->woken)
        uv_timer_start(&h->timer, on_timer, 0, 0);
    h->woken = true;
}

static bool is_ready(const struct http_client *c)
{
    return c->answered && c->lsn <= c->client.server->durable_lsn;
}

static void http_flush(struct client *client)
{
    struct http_client *c = of(client);

    if (c->closed || !is_ready(c))
        return;
    list_remove(&client->holding);
    wake(c);
}

/* The answer is there; it waits for lsn. */
static void settle(struct http_client *c, uint64_t lsn)
{
    struct server *s = c->client.server;

    c->answered = true;
    c->lsn = lsn;
    if (!is_ready(c) && list_empty(&c->client.holding))
        list_append(&s->holding, &c->client.holding);
}

/* ---- Executing ---- */

static void execute(struct http_client *c)
{
    struct server *s = c->client.server;
    struct session_target target = { s->partition, &s->host };
    uint64_t lsn =
        http_execute(&c->session, &target, c->match.route, &c->call, &c->client, &c->answer);

    if (c->session.cold) {
        c->errand = errand_begin(s, &c->client);
        if (!c->errand) {
            http_fail(BELFRY_NOMEM, "", &c->answer);
            settle(c, 0);
        }
    } else if (c->session.held) {
        list_append(&s->held, &c->client.resume);
    } else if (c->session.parked) {
        watch(c);
    } else {
        settle(c, lsn);
    }
}

/* When it is its turn. */
static void start(struct http_client *c)
{
    struct server *s = c->client.server;

    if (!server_may_execute(s)) {
        list_append(&s->resume, &c->client.resume);
        server_wake(s);
        return;
    }
    server_advance(s);
    execute(c);
}

static void http_resume(struct client *client)
{
    struct http_client *c = of(client);

    list_remove(&client->resume);
    start(c);
    http_flush(client);
}

static void http_fetched(struct client *client, int err, const char *detail)
{
    struct http_client *c = of(client);

    c->errand = NULL;
    if (err) {
        http_fail(err, detail, &c->answer);
        settle(c, 0);
    } else {
        execute(c);
    }
}

static void http_deliver(struct client *client, struct job *const *jobs, size_t n)
{
    struct http_client *c = of(client);
    struct engine *e = client->server->engine;

    unwatch(c);
    http_serve(&c->session, e, c->match.route, jobs, n, &c->answer);
    settle(c, engine_offered_lsn(e));
    http_flush(client);
}

static void end_wait(struct http_client *c)
{
    engine_wait_cancel(c->client.server->engine, c->session.parked);
    http_deliver(&c->client, NULL, 0);
}

static void http_drain(struct client *client)
{
    if (of(client)->session.parked)
        end_wait(of(client));
}

static bool http_has_output(const struct client *client)
{
    return container_of(client, const struct http_client, client)->phase >= PHASE_WAITS;
}

/* ---- Ending ---- */

/* Nothing of the request is under way any more. */
static void abandon(struct http_client *c)
{
    struct server *s = c->client.server;

    if (c->session.parked && s->engine)
        engine_wait_cancel(s->engine, c->session.parked);
    c->session.parked = NULL;
    unwatch(c);
    errand_drop(c->errand);
    c->errand = NULL;
    list_remove(&c->client.holding);
    list_remove(&c->client.resume);
}

/* It ends when libmicrohttpd sees that, in its next turn. */
static void http_close(struct client *client)
{
    struct http_client *c = of(client);

    abandon(c);
    client_fini(client);
    c->closed = true;
    shutdown(c->fd, SHUT_RDWR);
    wake(c);
}

static void cut_off(struct http_client *c, const char *why)
{
    char number[LOG_NUMBER];

    log_line(&c->client.server->log, LOG_LEVEL_WARN, "client cut off", "client",
             log_number((int64_t)c->session.id, number), "why", why, NULL);
    http_close(&c->client);
}

static void http_sweep(struct client *client, int64_t mono_ms)
{
    struct http_client *c = of(client);
    const struct options *o = &client->server->options;
    int64_t age = mono_ms - c->since_ms;

    if (c->phase == PHASE_IDLE && age > o->client_timeout_ms)
        http_close(client); /* between requests, as far as one can see */
    else if (c->phase == PHASE_IDLE && o->idle_timeout_ms && age > o->idle_timeout_ms)
        http_close(client);
    else if (c->phase < PHASE_WAITS && age > o->client_timeout_ms)
        cut_off(c, "it stopped within a request");
}

static const struct client_ops http_ops = {
    .flush = http_flush,
    .resume = http_resume,
    .fetched = http_fetched,
    .deliver = http_deliver,
    .drain = http_drain,
    .has_output = http_has_output,
    .sweep = http_sweep,
    .close = http_close,
};

/* ---- What libmicrohttpd calls ---- */

static struct http_client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static struct http_client *client_new(struct server *s, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_client *c = info ? calloc(1, sizeof(*c)) : NULL;

    if (!c)
        return NULL;
    c->connection = connection;
    c->fd = info->connect_fd;
    c->since_ms = now_ms();
    session_init(&c->session, ++s->next_conn);
    client_init(&c->client, s, &http_ops);
    return c;
}

static void client_free(struct http_client *c)
{
    if (!c)
        return;
    if (!c->closed) {
        abandon(c);
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

/* The first line of a request. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
    struct http_client *c = client_of(connection);

    (void)arg;
    if (c && !c->closed) {
        c->phase = PHASE_BEGUN;
        c->uri.len = 0;
        buf_text(&c->uri, uri);
    }
    return c;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    struct http_client *c = client_of(connection);

    (void)arg;
    (void)request;
    (void)code;
    if (!c)
        return;
    if (!c->closed)
        abandon(c);
    c->phase = PHASE_IDLE;
    c->since_ms = now_ms();
    c->answered = c->html = false;
    c->lsn = 0;
    c->dropped = 0;
    c->key = NULL;
    buf_reset(&c->uri, BUFFER_KEEP);
    buf_reset(&c->body, BUFFER_KEEP);
    http_call_fini(&c->call);
    buf_reset(&c->answer.body, BUFFER_KEEP);
    c->answer = (struct http_answer){ .body = c->answer.body };
}

/* Escapes are looked at where a path has been split. */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* ---- Answers ---- */

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value); /* NO without memory: the answer is right without */
}

static void add_allow(const struct http_client *c, struct MHD_Response *r)
{
    char text[64] = "";
    size_t len = 0;

    for (unsigned m = 0; m < HTTP_METHODS; m++)
        if (c->match.allowed & 1u << m)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
                                    m == HTTP_GET ? "GET, HEAD" : http_method_name(m));
    add_header(r, MHD_HTTP_HEADER_ALLOW, text);
}

/* The page takes nothing from elsewhere, and nobody puts it into a page of his. */
static void add_page_headers(const struct http_client *c, struct MHD_Response *r)
{
    char policy[256];

    snprintf(policy, sizeof(policy),
             "default-src 'none'; connect-src 'self'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             c->nonce, c->nonce);
    add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
    add_header(r, "Content-Security-Policy", policy);
    add_header(r, "X-Content-Type-Options", "nosniff");
    add_header(r, "Referrer-Policy", "no-referrer");
    add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

static void add_headers(const struct http_client *c, struct MHD_Response *r)
{
    const struct http_answer *a = &c->answer;

    if (c->html)
        add_page_headers(c, r);
    else if (a->body.len)
        add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
                   a->problem ? HTTP_PROBLEM_TYPE : "application/json");
    if (a->location[0])
        add_header(r, MHD_HTTP_HEADER_LOCATION, a->location);
    if (a->status == 405)
        add_allow(c, r);
    if (a->status == 429 || a->status == 503)
        add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (c->client.server->stopping)
        add_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* The body stays the client's until the request is completed. */
static enum MHD_Result send_answer(struct http_client *c)
{
    struct http_answer *a = &c->answer;
    struct MHD_Response *r;
    enum MHD_Result ok;

    if (a->body.failed)
        return MHD_NO;
    r = MHD_create_response_from_buffer(a->body.len, a->body.ptr, MHD_RESPMEM_PERSISTENT);
    if (!r)
        return MHD_NO;
    add_headers(c, r);
    ok = MHD_queue_response(c->connection, (unsigned)a->status, r);
    MHD_destroy_response(r);
    c->phase = PHASE_ANSWERED;
    return ok;
}

/* ---- Requests ---- */

static const char *header(const struct http_client *c, const char *name)
{
    return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* The answer is known before the body is: that is read, and dropped. */
static void refuse(struct http_client *c, const char *code, int status, const char *detail)
{
    http_refuse(code, status, detail, &c->answer);
    c->answered = true;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    char next;

    if (!type || strncasecmp(type, json, sizeof(json) - 1) != 0)
        return false;
    next = type[sizeof(json) - 1];
    return next == '\0' || next == ';' || next == ' ' || next == '\t';
}

/* A name that only this machine has, or an address: not one that somebody's page could have had
 * resolved to this machine. */
static bool is_own_host(const char *host)
{
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    struct str name = { host, len };

    if (host[0] == '[' || str_ieq(name, "localhost"))
        return true;
    return len > 0 && strspn(host, "0123456789.") == len;
}

/* A page of somebody else's in a browser on this machine must not be able to ask anything: it
 * cannot make JSON without asking first (415), its Origin is another, and a name of its own that
 * leads here is not ours. True: refused. */
static bool refuse_strangers(struct http_client *c)
{
    const char *host = header(c, MHD_HTTP_HEADER_HOST), *origin = header(c, MHD_HTTP_HEADER_ORIGIN);
    const char *from = origin ? strstr(origin, "://") : NULL;

    if (host && !is_own_host(host))
        refuse(c, "INVALID", 421, "Host: expected localhost or an address");
    else if (origin && (!host || !from || strcasecmp(from + 3, host) != 0))
        refuse(c, "INVALID", 403, "Origin: pages of other origins are not answered");
    return c->answered;
}

static size_t body_limit(const struct http_client *c)
{
    return 2 * (size_t)c->client.server->options.max_payload + SLACK_BYTES;
}

/* What can be said about the body before it comes. */
static void check_body(struct http_client *c, const char *length, bool chunked)
{
    bool some = chunked || (length && strspn(length, "0") != strlen(length));

    if (!some)
        return;
    if (!http_has_body(c->match.route))
        refuse(c, "INVALID", 400, "this takes no body: its arguments stand in the query");
    else if (!is_json(header(c, MHD_HTTP_HEADER_CONTENT_TYPE)))
        refuse(c, "INVALID", 415, "Content-Type: expected application/json");
}

static void find_route(struct http_client *c, const char *method)
{
    struct str uri = buf_view(&c->uri);
    const char *mark = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    struct str path = { uri.ptr, mark ? (size_t)(mark - uri.ptr) : uri.len };

    c->query = mark ? (struct str){ mark + 1, uri.len - path.len - 1 } : STR("");
    http_route_find(str_of(method), path, &c->match);
    if (c->match.route || c->answered)
        return;
    if (c->match.allowed)
        refuse(c, "UNKNOWN", 405, "this path has no such method; Allow says which it has");
    else
        refuse(c, "UNKNOWN", 404, "there is no such path; /openapi.json lists them");
}

/* The headers are there. */
static enum MHD_Result begin(struct http_client *c, const char *method)
{
    const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool chunked = header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;

    c->phase = PHASE_BODY;
    if (c->uri.failed)
        return MHD_NO;
    if (!refuse_strangers(c) && c->client.server->stopping)
        refuse(c, "BUSY", 503, "the server is stopping");
    find_route(c, method);
    if (!c->answered)
        check_body(c, length, chunked);
    if (length && strtoull(length, NULL, 10) > body_limit(c)) {
        http_refuse("TOOLARGE", 413, "the body is larger than the limit", &c->answer);
        return send_answer(c); /* at once: what follows is not read */
    }
    c->key = header(c, "Idempotency-Key");
    return MHD_YES;
}

static enum MHD_Result take_body(struct http_client *c, struct str bytes)
{
    if (!c->answered && c->body.len + bytes.len > body_limit(c)) { /* chunked: nobody could know */
        buf_reset(&c->body, 0);
        refuse(c, "TOOLARGE", 413, "the body is larger than the limit");
    }
    if (c->answered) {
        c->dropped += bytes.len;
        return c->dropped > body_limit(c) ? MHD_NO : MHD_YES;
    }
    buf_str(&c->body, bytes);
    return c->body.failed ? MHD_NO : MHD_YES;
}

/* Random, as a page's scripts and styles are known by it. */
static bool draw_nonce(char *ret)
{
    unsigned char bytes[8];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        sprintf(ret + 2 * i, "%02x", bytes[i]);
    return true;
}

static void answer_page(struct http_client *c)
{
    struct server *s = c->client.server;
    struct http_answer *a = &c->answer;

    a->status = 200;
    switch (c->match.route->page) {
    case HTTP_VERB: break;
    case HTTP_HEALTHZ: buf_text(&a->body, "{\"status\":\"ok\"}"); break;
    case HTTP_READYZ:
        if (s->partition && !s->failed)
            buf_text(&a->body, "{\"status\":\"ok\"}");
        else
            refuse(c, "BUSY", 503, "the journal is being opened");
        break;
    case HTTP_OPENAPI:
        if (!s->http->openapi.len)
            openapi_write(&s->http->openapi);
        buf_str(&a->body, buf_view(&s->http->openapi));
        a->body.failed = a->body.failed || s->http->openapi.failed;
        break;
    case HTTP_DOCS:
        c->html = true;
        if (!draw_nonce(c->nonce))
            a->body.failed = true;
        http_docs(&a->body, c->nonce);
        break;
    }
    c->answered = true;
}

/* The request is whole. */
static void take_request(struct http_client *c)
{
    struct http_input in = {
        .match = &c->match,
        .query = c->query,
        .body = buf_view(&c->body),
        .idempotency_key = c->key ? str_of(c->key) : (struct str){ 0 },
    };
    int err;

    c->phase = PHASE_WAITS;
    if (c->answered)
        return;
    if (c->match.route->page != HTTP_VERB) {
        answer_page(c);
        return;
    }
    c->client.server->commands++;
    err = http_translate(&in, &c->call);
    if (err) {
        http_fail(err, c->call.why, &c->answer);
        c->answered = true;
        return;
    }
    start(c);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request)
{
    struct http_client *c = client_of(connection);

    (void)arg;
    (void)url;
    (void)version;
    (void)request;
    if (!c || c->closed)
        return MHD_NO;
    if (c->phase == PHASE_BEGUN)
        return begin(c, method);
    if (*size) {
        struct str bytes = { data, *size };

        *size = 0;
        return take_body(c, bytes);
    }
    if (c->phase == PHASE_BODY)
        take_request(c);
    if (is_ready(c))
        return send_answer(c);
    c->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* ---- The loop ---- */

static void arm(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (h->woken)
        return;
    if (MHD_get_timeout(h->daemon, &ms) == MHD_YES)
        uv_timer_start(&h->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&h->timer);
}

static void run(struct http *h)
{
    h->woken = false;
    MHD_run(h->daemon);
    arm(h);
}

static void on_timer(uv_timer_t *timer)
{
    run(container_of(timer, struct http, timer));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(container_of(poll, struct http, poll));
}

/* Seconds, as libmicrohttpd counts; it ends clients that do not take their answer. */
static unsigned timeout_s(const struct server *s)
{
    return (unsigned)((s->options.client_timeout_ms + 999) / 1000) + 1;
}

int http_open(struct server *s)
{
    struct http *h = s->http = calloc(1, sizeof(*h));
    const union MHD_DaemonInfo *info;

    if (!h)
        return BELFRY_NOMEM;
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        on_request, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, NO_MORE_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT, timeout_s(s),
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    info = h->daemon ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info || uv_poll_init(&s->loop, &h->poll, info->epoll_fd) != 0) {
        log_line(&s->log, LOG_LEVEL_ERROR, "cannot begin to serve HTTP", NULL);
        if (h->daemon)
            MHD_stop_daemon(h->daemon);
        h->daemon = NULL;
        return BELFRY_IO;
    }
    uv_timer_init(&s->loop, &h->timer);
    uv_poll_start(&h->poll, UV_READABLE, on_readable);
    return 0;
}

void http_adopt(struct server *s, int fd)
{
    struct sockaddr_storage from = { 0 };
    socklen_t len = sizeof(from);

    if (getpeername(fd, (struct sockaddr *)&from, &len) < 0) {
        close(fd);
        return;
    }
    /* It closes the socket itself when it cannot take it. */
    MHD_add_connection(s->http->daemon, fd, (struct sockaddr *)&from, len);
    arm(s->http);
}

void http_stop(struct server *s)
{
    if (!s->http || !s->http->daemon)
        return;
    uv_poll_stop(&s->http->poll);
    MHD_stop_daemon(s->http->daemon);
    s->http->daemon = NULL;
}

void http_free(struct server *s)
{
    if (s->http)
        buf_fini(&s->http->openapi);
    free(s->http);
    s->http = NULL;
}
