/* SPDX-License-Identifier: MIT */
#include "cli/stream.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/auth.h"
#include "cli/call.h"
#include "front/json.h"

#define SILENCE_S    60 /* the server says something every 15 seconds */
#define PAUSE_MS     1000
#define PAUSE_MAX_MS 30000

/* The outcome of a step: an exit code, or one of these. */
enum { STREAM_LOST = -1, STREAM_MORE = -2 };

void stream_init(struct stream *s, const struct cli *cli)
{
    *s = (struct stream){ .cli = cli, .client.fd = -1, .pause_ms = PAUSE_MS };
}

void stream_fini(struct stream *s)
{
    client_close(&s->client);
    buf_fini(&s->query);
    buf_fini(&s->last);
    buf_fini(&s->bytes);
    buf_fini(&s->body);
    buf_fini(&s->line);
    buf_fini(&s->data);
}

void stream_ask(struct stream *s, const char *name, struct str value)
{
    buf_printf(&s->query, "%s%s=", s->query.len ? "&" : "", name);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (isalnum(c) || strchr("-._~", c))
            buf_append(&s->query, value.ptr + i, 1);
        else
            buf_printf(&s->query, "%%%02X", c);
    }
}

/* ---- HTTP ---- */

static int send_request(struct stream *s)
{
    struct buf *out = &s->client.out, token = { 0 };
    bool v6 = strchr(s->cli->host, ':');
    int err = auth_token(&token, s->client.why, sizeof(s->client.why));

    buf_printf(out, "GET /v1/events%s", s->query.len ? "?" : "");
    buf_str(out, buf_view(&s->query));
    buf_printf(out, " HTTP/1.1\r\nHost: %s%s%s:%s\r\nAccept: text/event-stream\r\n", v6 ? "[" : "",
               s->cli->host, v6 ? "]" : "", s->cli->port);
    if (s->last.len)
        buf_printf(out, "Last-Event-ID: %.*s\r\n", STR_ARG(buf_view(&s->last)));
    if (token.len)
        buf_printf(out, "Authorization: Bearer %.*s\r\n", STR_ARG(buf_view(&token)));
    buf_text(out, "\r\n");
    if (token.len)
        explicit_bzero(token.ptr, token.len);
    buf_fini(&token);
    if (err < 0)
        return cli_error(CLI_ERROR, "NOAUTH", 0, NULL, "%s", s->client.why);
    return client_flush(&s->client) < 0 ? STREAM_LOST : CLI_OK;
}

static int receive(struct stream *s)
{
    ssize_t n;

    if (!buf_reserve(&s->bytes, 16u << 10))
        return STREAM_LOST;
    do
        n = recv(s->client.fd, s->bytes.ptr + s->bytes.len, s->bytes.cap - s->bytes.len, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return cli_fail(s->client.why, STREAM_LOST, "%s",
                        n == 0 ? "it closed the stream" : strerror(errno));
    s->bytes.len += (size_t)n;
    return CLI_OK;
}

/* A member of the problem that the server answered, as text. */
static void read_problem(struct str text, const char *name, struct buf *ret)
{
    struct buf key = { 0 }, ignored = { 0 };
    struct json j;
    size_t n = 0;

    json_begin(&j, text);
    if (json_peek(&j) != KIND_OBJECT || !json_open(&j))
        return;
    while (json_next(&j, '}', &n) > 0 && ret->len == 0) {
        key.len = 0;
        if (!json_name(&j, &key))
            break;
        if (str_eq(buf_view(&key), str_of(name)) && json_peek(&j) == KIND_STRING)
            json_string_read(&j, ret);
        else
            json_take(&j, &ignored);
    }
    buf_fini(&ignored);
    buf_fini(&key);
}

/* Says the refusal whose body begins at `at`. */
static int refused(struct stream *s, size_t at)
{
    struct buf code = { 0 }, detail = { 0 }, text = { 0 };
    const char *open;
    int exit;

    while (!memchr(s->bytes.ptr + at, '}', s->bytes.len - at) && receive(s) == CLI_OK)
        ;
    open = memchr(s->bytes.ptr + at, '{', s->bytes.len - at);
    if (open) {
        struct str body = { open, s->bytes.len - (size_t)(open - s->bytes.ptr) };
        const char *end = memrchr(body.ptr, '}', body.len);

        body.len = end ? (size_t)(end + 1 - body.ptr) : body.len;
        read_problem(body, "code", &code);
        read_problem(body, "detail", &detail);
    }
    buf_str(&text, code.len ? buf_view(&code) : STR("PROTOCOL"));
    buf_text(&text, " ");
    buf_str(&text, detail.len ? buf_view(&detail) : STR("the server refuses to stream events"));
    exit = call_error(NULL, buf_view(&text));
    buf_fini(&code);
    buf_fini(&detail);
    buf_fini(&text);
    return exit;
}

/* Reads the head of the answer. */
static int read_head(struct stream *s)
{
    static const char blank[] = "\r\n\r\n";
    const char *end;
    int code = CLI_OK;

    do
        end = s->bytes.len ? memmem(s->bytes.ptr, s->bytes.len, blank, 4) : NULL;
    while (!end && s->bytes.len < (64u << 10) && (code = receive(s)) == CLI_OK);
    if (!end)
        return code == CLI_OK ? STREAM_LOST : code;
    if (s->bytes.len < 12 || memcmp(s->bytes.ptr, "HTTP/1.1 ", 9) != 0)
        return cli_fail(s->client.why, STREAM_LOST, "it does not speak HTTP");
    if (memcmp(s->bytes.ptr + 9, "503", 3) == 0)
        return cli_fail(s->client.why, STREAM_LOST, "it is busy");
    if (memcmp(s->bytes.ptr + 9, "200", 3) != 0)
        return refused(s, (size_t)(end + 4 - s->bytes.ptr));
    buf_consume(&s->bytes, (size_t)(end + 4 - s->bytes.ptr));
    return CLI_OK;
}

static int open_stream(struct stream *s)
{
    struct timeval limit = { .tv_sec = SILENCE_S };
    int code;

    s->bytes.len = s->body.len = s->data.len = s->line.len = 0;
    s->chunk = 0;
    if (client_open(&s->client, s->cli->host, s->cli->port, CLIENT_CONNECT_MS) < 0)
        return STREAM_LOST;
    setsockopt(s->client.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    code = send_request(s);
    return code == CLI_OK ? read_head(s) : code;
}

/* Moves a part of a chunk from bytes to body; STREAM_MORE if more must be received for that. */
static int take_chunk(struct stream *s)
{
    const char *end = s->bytes.len ? memchr(s->bytes.ptr, '\n', s->bytes.len) : NULL;
    size_t n = (size_t)s->chunk < s->bytes.len ? (size_t)s->chunk : s->bytes.len;

    if (s->chunk > 0 && n > 0) {
        buf_append(&s->body, s->bytes.ptr, n);
        buf_consume(&s->bytes, n);
        s->chunk -= (int64_t)n;
        return CLI_OK;
    }
    if (s->chunk > 0 || !end)
        return STREAM_MORE;
    if (end - s->bytes.ptr > 1) { /* the size; the line behind a chunk is empty */
        s->chunk = strtoll(s->bytes.ptr, NULL, 16);
        if (s->chunk <= 0)
            return cli_fail(s->client.why, STREAM_LOST, "it ended the stream");
    }
    buf_consume(&s->bytes, (size_t)(end + 1 - s->bytes.ptr));
    return CLI_OK;
}

/* ---- Events ---- */

/* The value of a line `name: value`. */
static struct str value_of(struct str line, size_t name)
{
    struct str value = str_from(line, name + 1);

    return value.len && value.ptr[0] == ' ' ? str_from(value, 1) : value;
}

/* Takes one line of the body. 1: an event is complete. */
static bool take_line(struct stream *s, struct str line)
{
    if (line.len == 0)
        return s->data.len > 0;
    if (str_starts(line, STR("id:"))) {
        s->last.len = 0;
        buf_str(&s->last, value_of(line, 2));
    } else if (str_starts(line, STR("event:"))) {
        s->line.len = 0;
        buf_str(&s->line, value_of(line, 5));
    } else if (str_starts(line, STR("data:"))) {
        buf_str(&s->data, value_of(line, 4));
    }
    return false;
}

/* Whether the body has an event; its lines are taken. */
static bool find_event(struct stream *s)
{
    const char *end;

    while (s->body.len && (end = memchr(s->body.ptr, '\n', s->body.len))) {
        bool whole = take_line(s, (struct str){ s->body.ptr, (size_t)(end - s->body.ptr) });

        buf_consume(&s->body, (size_t)(end + 1 - s->body.ptr));
        if (whole)
            return true;
    }
    return false;
}

/* Waits before the next try; the first failure of all ends the program. */
static int wait_for_server(struct stream *s, bool begun)
{
    if (!begun)
        return cli_error(
            CLI_OFFLINE, "OFFLINE", 0, "say where the server is with --host and --port",
            "cannot stream events of %s:%s: %s", s->cli->host, s->cli->port, s->client.why);
    if (!s->away)
        cli_say("the server is away (%s); trying again", s->client.why);
    s->away = true;
    client_close(&s->client);
    usleep((useconds_t)s->pause_ms * 1000);
    s->pause_ms = s->pause_ms * 2 < PAUSE_MAX_MS ? s->pause_ms * 2 : PAUSE_MAX_MS;
    return CLI_OK;
}

static int connect_again(struct stream *s, bool begun)
{
    int code = open_stream(s);

    if (code == STREAM_LOST)
        return wait_for_server(s, begun);
    if (code == CLI_OK && s->away)
        cli_say("the server is back");
    s->away = false;
    s->pause_ms = PAUSE_MS;
    return code;
}

int stream_next(struct stream *s, struct stream_event *ret)
{
    int code = CLI_OK;

    s->data.len = s->line.len = 0;
    while (code == CLI_OK && !find_event(s)) {
        if (s->client.fd < 0) {
            code = connect_again(s, s->client.reached);
            continue;
        }
        code = take_chunk(s);
        if (code == STREAM_MORE)
            code = receive(s);
        if (code == STREAM_LOST)
            code = wait_for_server(s, true);
    }
    *ret = (struct stream_event){ buf_view(&s->line), buf_view(&s->data) };
    return code;
}
