/* SPDX-License-Identifier: MIT */
#include "server/conn.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "front/resp.h"
#include "server/errand.h"

#define BUFFER_KEEP  ((size_t)4096) /* an idle connection keeps no more than this */
#define SLACK_BYTES  (1u << 20)     /* of a request beyond its payload */
#define COMMANDS_MAX 1024           /* executed for one connection in one turn */

/* Replies up to `end` in conn.out wait for this lsn. */
struct mark {
    uint64_t lsn;
    size_t end;
};

struct conn {
    struct server *server;
    struct list all;
    struct list holding;
    struct list resume;
    uv_poll_t poll;
    int fd;
    int events;
    struct session session;
    struct errand *errand; /* for the first request in `in`, which is to be executed again */
    struct buf in;         /* a request that is not whole yet, or what waits to be executed */
    size_t in_need;        /* bytes it needs at least */
    struct buf out;
    size_t sent;     /* of out; */
    size_t released; /* of out, may be sent */
    struct mark *marks;
    size_t mark_count;
    size_t mark_cap;
    int64_t stuck_ms;  /* monotonic: since when it takes no replies; 0: it does */
    int64_t half_ms;   /* monotonic: since when a request is not whole; 0: there is none */
    int64_t active_ms; /* monotonic: last request or reply */
    bool eof;
    bool closed;
};

static void on_poll(uv_poll_t *handle, int status, int events);
static void end_wait(struct conn *c);

struct conn *conn_of_all(struct list *node)
{
    return container_of(node, struct conn, all);
}

struct conn *conn_of_holding(struct list *node)
{
    return container_of(node, struct conn, holding);
}

struct conn *conn_of_resume(struct list *node)
{
    return container_of(node, struct conn, resume);
}

static size_t unsent(const struct conn *c)
{
    return c->out.len - c->sent;
}

bool conn_has_output(const struct conn *c)
{
    return unsent(c) > 0;
}

/* Whether this client's next request may be executed, as far as it depends on this client. */
static bool is_free(const struct conn *c)
{
    return !c->session.parked && !c->errand && !c->session.quit && unsent(c) < OUTPUT_PAUSE;
}

static bool wants_input(const struct conn *c)
{
    return !c->eof && is_free(c) && list_empty(&c->resume) && !c->server->stopping;
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
    if (c->released > c->sent)
        events |= UV_WRITABLE;
    if (events != c->events) {
        if (events)
            uv_poll_start(&c->poll, events, on_poll);
        else
            uv_poll_stop(&c->poll);
        c->events = events;
    }
}

/* For the audit log: "127.0.0.1:50000". */
static void note_address(int fd, char *ret, size_t size)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);
    char host[48], port[8];

    if (getpeername(fd, (struct sockaddr *)&a, &len) == 0 &&
        getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(ret, size, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

void conn_open(struct server *s, int fd)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c || uv_poll_init_socket(&s->loop, &c->poll, fd) != 0) {
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->fd = fd;
    c->poll.data = c;
    c->active_ms = time_mono_us() / 1000;
    session_init(&c->session, ++s->next_conn);
    note_address(fd, c->session.address, sizeof(c->session.address));
    list_append(&s->conns, &c->all);
    list_init(&c->holding);
    list_init(&c->resume);
    s->conn_count++;
    watch(c);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;

    close(c->fd);
    free(c);
}

void conn_close(struct conn *c)
{
    struct server *s = c->server;

    if (c->closed)
        return;
    c->closed = true;
    if (c->session.parked && s->engine)
        engine_wait_cancel(s->engine, c->session.parked);
    c->session.parked = NULL;
    errand_drop(c->errand);
    c->errand = NULL;
    list_remove(&c->all);
    list_remove(&c->holding);
    list_remove(&c->resume);
    s->conn_count--;
    buf_fini(&c->in);
    buf_fini(&c->out);
    free(c->marks);
    uv_close((uv_handle_t *)&c->poll, on_closed);
}

/* Tells the log why, and closes. */
static void cut_off(struct conn *c, const char *why)
{
    char number[LOG_NUMBER];

    log_line(&c->server->log, LOG_LEVEL_WARN, "client cut off", "client",
             log_number((int64_t)c->session.id, number), "why", why, NULL);
    conn_close(c);
}

/* ---- Output ---- */

/* Notes that everything in out now waits for lsn. */
static bool hold(struct conn *c, uint64_t lsn)
{
    if (c->mark_count && c->marks[c->mark_count - 1].lsn >= lsn) {
        c->marks[c->mark_count - 1].end = c->out.len;
        return true;
    }
    if (c->mark_count == 0 && lsn <= c->server->durable_lsn) {
        c->released = c->out.len;
        return true;
    }
    if (c->mark_count == c->mark_cap) {
        size_t cap = c->mark_cap ? 2 * c->mark_cap : 4;
        struct mark *grown = realloc(c->marks, cap * sizeof(*grown));

        if (!grown)
            return false;
        c->marks = grown;
        c->mark_cap = cap;
    }
    c->marks[c->mark_count++] = (struct mark){ lsn, c->out.len };
    if (list_empty(&c->holding))
        list_append(&c->server->holding, &c->holding);
    return true;
}

static void release(struct conn *c)
{
    size_t n = 0;

    while (n < c->mark_count && c->marks[n].lsn <= c->server->durable_lsn)
        c->released = c->marks[n++].end;
    c->mark_count -= n;
    if (n && c->mark_count)
        memmove(c->marks, c->marks + n, c->mark_count * sizeof(*c->marks));
    if (c->mark_count == 0)
        list_remove(&c->holding);
}

/* Gives back what has been sent. */
static void compact(struct conn *c)
{
    if (c->sent == c->out.len) {
        assert(c->mark_count == 0);
        buf_reset(&c->out, BUFFER_KEEP * 16);
        c->sent = c->released = 0;
    } else if (c->sent > READ_BYTES) {
        buf_consume(&c->out, c->sent);
        for (size_t i = 0; i < c->mark_count; i++)
            c->marks[i].end -= c->sent;
        c->released -= c->sent;
        c->sent = 0;
    }
}

/* Input that could not be executed when it came is looked at again in another turn, as soon as this
 * client's replies and the server's commits allow. */
static void queue_input(struct conn *c)
{
    bool whole = c->in.len && c->in.len >= c->in_need;

    if (whole && is_free(c) && list_empty(&c->resume)) {
        if (c->session.held) { /* the server looks at it when there is room */
            list_append(&c->server->held, &c->resume);
        } else {
            list_append(&c->server->resume, &c->resume);
            server_wake(c->server);
        }
    }
}

void conn_flush(struct conn *c)
{
    if (c->closed)
        return;
    release(c);
    while (c->released > c->sent) {
        ssize_t n = send(c->fd, c->out.ptr + c->sent, c->released - c->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            conn_close(c);
            return;
        }
        if (n < 0)
            break;
        c->sent += (size_t)n;
        c->stuck_ms = 0;
    }
    if (c->released > c->sent && !c->stuck_ms)
        c->stuck_ms = time_mono_us() / 1000;
    compact(c);
    queue_input(c);
    if (unsent(c) == 0 && (c->session.quit || (c->eof && is_free(c) && list_empty(&c->resume)))) {
        conn_close(c);
        return;
    }
    watch(c);
}

/* After replies were added to out: lsn is what they wait for. */
static void replied(struct conn *c, uint64_t lsn)
{
    if (c->out.failed || !hold(c, lsn)) {
        cut_off(c, "out of memory");
        return;
    }
    if (unsent(c) > (size_t)(c->server->options.output_limit + c->server->options.max_payload) +
                        LEASE_BYTES_MAX) /* one answer is never too much */
        cut_off(c, "its unread replies are over output_limit");
}

/* ---- Input ---- */

static void protocol_error(struct conn *c, const char *why)
{
    resp_error(&c->out, "PROTOCOL", str_of(why));
    c->session.quit = true;
    replied(c, 0);
}

/* A browser, or somebody who has a browser ask for him. */
static bool looks_like_http(const struct str *words, size_t n)
{
    static const char *const methods[] = { "GET",   "POST",   "HEAD",   "PUT",
                                           "PATCH", "DELETE", "OPTIONS" };

    if (n > 0 && str_ieq(words[0], "host:"))
        return true;
    if (n != 3 || !str_starts(words[2], STR("HTTP/")))
        return false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (str_ieq(words[0], methods[i]))
            return true;
    return false;
}

static void reply_error(struct conn *c, int err, const char *detail)
{
    session_fail(&c->session, err, detail, &c->out);
    replied(c, 0);
}

static void execute(struct conn *c, const struct resp_request *r)
{
    struct server *s = c->server;
    struct session_target target = { s->partition, &s->host };
    uint64_t lsn = session_execute(&c->session, &target, r->args, r->n, c, &c->out);

    if (c->session.cold) {
        c->errand = errand_begin(s, c);
        if (!c->errand)
            reply_error(c, BELFRY_NOMEM, "");
    } else if (!c->session.parked && !c->session.held) { /* else there is no reply yet */
        replied(c, lsn);
    }
}

/* A request that has not been executed before. */
static void take_request(struct conn *c, const struct resp_request *r)
{
    if (looks_like_http(r->args, r->n))
        protocol_error(c, "this port speaks RESP: use redis-cli, a Redis client or belfry");
    else
        execute(c, r);
    c->server->commands += !c->session.held;
}

/* Executes requests from input; returns how many bytes were used. One that is to be executed again
 * is not used yet. */
static size_t process(struct conn *c, struct str input)
{
    struct server *s = c->server;
    size_t used = 0, commands = 0;
    size_t max_bulk = 2 * (size_t)s->options.max_payload + READ_BYTES;

    c->in_need = 0;
    while (used < input.len && !c->closed && is_free(c) && server_may_execute(s)) {
        struct str rest = { input.ptr + used, input.len - used };
        size_t n = 0;
        enum resp_status status;

        if (commands++ == COMMANDS_MAX)
            break;
        status = resp_read_request(s->request, rest, max_bulk, &n);
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
        if (c->errand || c->session.held)
            break;
        used += n;
    }
    return used;
}

/* What is kept of a request that is not whole is limited as a whole. */
static void check_input(struct conn *c)
{
    size_t limit = 2 * (size_t)c->server->options.max_payload + READ_BYTES + SLACK_BYTES;

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

void conn_fetched(struct conn *c, int err, const char *detail)
{
    struct resp_request *r = c->server->request;
    size_t used = 0;

    c->errand = NULL;
    c->active_ms = time_mono_us() / 1000;
    if (resp_read_request(r, buf_view(&c->in), SIZE_MAX, &used) != RESP_OK)
        protocol_error(c, r->why ? r->why : "out of memory"); /* it was whole before */
    else if (err)
        reply_error(c, err, detail);
    else
        execute(c, r);
    if (c->closed || c->errand)
        return;
    buf_consume(&c->in, used);
    check_input(c);
}

static void read_input(struct conn *c)
{
    struct server *s = c->server;
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
    server_advance(s);
    take_input(c, (struct str){ s->read_buf, (size_t)n });
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
    if (events & UV_READABLE)
        read_input(c);
    conn_flush(c);
}

void conn_resume(struct conn *c)
{
    list_remove(&c->resume);
    server_advance(c->server);
    take_input(c, (struct str){ 0 });
    conn_flush(c);
}

void conn_deliver(struct conn *c, struct job *const *jobs, size_t n)
{
    struct engine *e = c->server->engine;

    session_serve(&c->session, e, jobs, n, &c->out);
    c->active_ms = time_mono_us() / 1000;
    replied(c, engine_offered_lsn(e));
    conn_flush(c);
}

static void end_wait(struct conn *c)
{
    engine_wait_cancel(c->server->engine, c->session.parked);
    conn_deliver(c, NULL, 0);
}

void conn_drain(struct conn *c)
{
    if (c->session.parked)
        end_wait(c);
    else
        watch(c);
}

void conn_sweep(struct conn *c, int64_t mono_ms)
{
    const struct options *o = &c->server->options;

    if (c->stuck_ms && mono_ms - c->stuck_ms > o->client_timeout_ms)
        cut_off(c, "it does not read its replies");
    else if (c->half_ms && mono_ms - c->half_ms > o->client_timeout_ms)
        cut_off(c, "it stopped within a request");
    else if (o->idle_timeout_ms && !c->session.parked && !c->errand &&
             mono_ms - c->active_ms > o->idle_timeout_ms)
        conn_close(c);
}
