/* SPDX-License-Identifier: MIT */
#include "cli/client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/auth.h"

#define READ_BYTES (256u << 10)

static int fail_errno(struct client *c)
{
    int err = errno;
    const char *why = client_tls_why();

    return cli_fail(c->why, BELFRY_IO, "%s", why ? why : strerror(err));
}

/* Limits how long a call may block: SO_SNDTIMEO or SO_RCVTIMEO. 0: without limit. */
static void set_limit(int fd, int option, int timeout_ms)
{
    struct timeval limit = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000L };

    setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

/* 0 or an errno. */
static int connect_within(int fd, const struct addrinfo *a, int timeout_ms)
{
    int err;

    set_limit(fd, SO_SNDTIMEO, timeout_ms);
    do
        err = connect(fd, a->ai_addr, a->ai_addrlen) < 0 ? errno : 0;
    while (err == EINTR);
    set_limit(fd, SO_SNDTIMEO, 0);
    return err == EINPROGRESS ? ETIMEDOUT : err;
}

int client_open(struct client *c, const char *host, const char *port, int timeout_ms)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
    int err, one = 1;

    *c = (struct client){ .fd = -1 };
    err = getaddrinfo(host, port, &hints, &all);
    if (err)
        return cli_fail(c->why, BELFRY_IO, "%s", gai_strerror(err));
    err = ECONNREFUSED;
    for (const struct addrinfo *a = all; a && c->fd < 0; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0)
            continue;
        err = connect_within(fd, a, timeout_ms);
        if (err == 0)
            c->fd = fd;
        else
            close(fd);
    }
    freeaddrinfo(all);
    if (c->fd < 0)
        return cli_fail(c->why, BELFRY_IO, "%s", strerror(err));
    c->reached = true;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return client_tls_begin(c, host, timeout_ms);
}

/* HELLO, with the token if there is one. */
static int say_hello(struct client *c, const struct resp_values **ret)
{
    struct str hello[] = { STR("HELLO"), STR("3"), STR("AUTH"), STR("token"), { 0 } };
    struct buf token = { 0 };
    int err = auth_token(&token, c->why, sizeof(c->why)) < 0 ? BELFRY_INVALID : 0;

    hello[4] = buf_view(&token);
    if (!err)
        err = client_call(c, hello, token.len ? 5 : 2, ret);
    if (token.len)
        explicit_bzero(token.ptr, token.len);
    buf_fini(&token);
    return err;
}

static int greet(struct client *c)
{
    const struct resp_values *v;
    const struct resp_value *server;
    int err = say_hello(c, &v);

    if (err == BELFRY_PROTOCOL)
        return cli_fail(c->why, BELFRY_IO, "what answers there is not Belfry");
    if (err < 0)
        return err;
    if (v->at[0].type == RESP_ERROR) {
        err = str_starts(v->at[0].text, STR("PROTOCOL")) ? BELFRY_IO : BELFRY_WRONGPASS;
        return cli_fail(c->why, err, "it refused HELLO: %.*s", STR_ARG(v->at[0].text));
    }
    server = client_field(v, 0, "server");
    if (server && !str_ieq(server->text, "belfry"))
        return cli_fail(c->why, BELFRY_IO, "what answers there is %.*s, not Belfry",
                        STR_ARG(server->text));
    return 0;
}

int client_open_belfry(struct client *c, const char *host, const char *port, int timeout_ms)
{
    int err = client_open(c, host, port, timeout_ms);

    if (err < 0)
        return err;
    set_limit(c->fd, SO_RCVTIMEO, timeout_ms);
    err = greet(c);
    set_limit(c->fd, SO_RCVTIMEO, 0);
    if (err < 0)
        client_close(c);
    return err;
}

void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->start = c->used = 0;
    buf_fini(&c->in);
    buf_fini(&c->out);
    resp_values_fini(&c->values);
}

void client_put(struct buf *out, const struct str *words, size_t n)
{
    resp_array(out, n);
    for (size_t i = 0; i < n; i++)
        resp_bulk(out, words[i]);
}

/* Sends all that is queued, or as much as the socket takes without blocking. */
static int send_queued(struct client *c, int flags)
{
    while (c->out.len > 0) {
        ssize_t n = send(c->fd, c->out.ptr, c->out.len, flags | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : fail_errno(c);
        buf_consume(&c->out, (size_t)n);
    }
    return 0;
}

int client_flush(struct client *c)
{
    if (c->out.failed)
        return cli_fail(c->why, BELFRY_NOMEM, "%s", error_text(BELFRY_NOMEM));
    return send_queued(c, 0);
}

int client_push(struct client *c)
{
    return send_queued(c, MSG_DONTWAIT);
}

/* One receive; 1 if something came, 0 if it would block. */
static int receive(struct client *c, int flags)
{
    ssize_t n;

    if (c->start > 0) {
        buf_consume(&c->in, c->start);
        c->start = 0;
    }
    if (!buf_reserve(&c->in, READ_BYTES))
        return cli_fail(c->why, BELFRY_NOMEM, "%s", error_text(BELFRY_NOMEM));
    do
        n = recv(c->fd, c->in.ptr + c->in.len, c->in.cap - c->in.len, flags);
    while (n < 0 && errno == EINTR);
    if (n == 0) {
        const char *why = client_tls_why();
        return cli_fail(c->why, BELFRY_IO, "the server closed the connection%s%s", why ? ": " : "",
                        why ? why : "");
    }
    if (n < 0 && errno == EAGAIN)
        return flags & MSG_DONTWAIT ? 0 : cli_fail(c->why, BELFRY_IO, "no answer in time");
    if (n < 0)
        return fail_errno(c);
    c->in.len += (size_t)n;
    return 1;
}

int client_pull(struct client *c)
{
    return receive(c, MSG_DONTWAIT);
}

int client_next(struct client *c, const struct resp_values **ret)
{
    size_t used;

    c->start += c->used;
    c->used = 0;
    if (c->start == c->in.len)
        return 0;
    switch (resp_read_value(&c->values, (struct str){ c->in.ptr + c->start, c->in.len - c->start },
                            &used)) {
    case RESP_OK:
        c->used = used;
        *ret = &c->values;
        return 1;
    case RESP_MORE: return 0;
    default:
        return cli_fail(c->why, BELFRY_PROTOCOL, "%s",
                        c->values.why ? c->values.why : "the answer is malformed");
    }
}

int client_read(struct client *c, const struct resp_values **ret)
{
    for (;;) {
        int n = client_next(c, ret);
        if (n != 0)
            return n < 0 ? n : 0;
        n = receive(c, 0);
        if (n < 0)
            return n;
    }
}

int client_call(struct client *c, const struct str *words, size_t n, const struct resp_values **ret)
{
    int err;

    client_put(&c->out, words, n);
    err = client_flush(c);
    return err < 0 ? err : client_read(c, ret);
}

const struct resp_value *client_field(const struct resp_values *v, size_t at, const char *name)
{
    if (at >= v->n || v->at[at].type != RESP_MAP)
        return NULL;
    for (size_t key = at + 1; key < v->at[at].next; key = client_next_key(v, key))
        if (str_ieq(v->at[key].text, name))
            return &v->at[v->at[key].next];
    return NULL;
}

int64_t client_int(const struct resp_values *v, size_t at, const char *name, int64_t otherwise)
{
    const struct resp_value *field = client_field(v, at, name);
    bool number = field && (field->type == RESP_INT || field->type == RESP_BOOL);

    return number ? field->number : otherwise;
}

struct str client_text(const struct resp_values *v, size_t at, const char *name)
{
    const struct resp_value *field = client_field(v, at, name);

    return field && field->type == RESP_BULK ? field->text : (struct str){ 0 };
}
