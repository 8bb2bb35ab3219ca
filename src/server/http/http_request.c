/* SPDX-License-Identifier: MIT */
/* Requests of HTTP as libmicrohttpd reads them, and answers as it sends them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/time.h"
#include "front/http_status.h"
#include "server/http/http_client.h"

#define BUFFER_KEEP ((size_t)4096) /* of an idle connection's buffers */
#define HEADER_COST 64             /* bytes of memory that a header takes beside its text */
#define SLACK_BYTES (1u << 20)     /* of a body beyond its payload */
/* A body that is too long is read up to this length, so that its client sees the answer. */
#define DROP_BYTES ((size_t)64 << 20)

/* The server reads the query from its own copy. libmicrohttpd would keep each parameter in the
 * memory for headers, and it leaves a client without an answer if there are too many. So it
 * finds an empty query. */
void *http_on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
    struct http_client *c = http_client_of(connection);
    char *query = strchr(uri, '?');

    (void)arg;
    if (c && !c->closed) {
        c->phase = PHASE_BEGUN;
        c->since_ms = time_mono_ms();
        c->uri.len = 0;
        buf_text(&c->uri, uri);
    }
    if (query)
        query[1] = '\0';
    return c;
}

void http_on_completed(void *arg, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode code)
{
    struct http_client *c = http_client_of(connection);

    (void)arg;
    (void)request;
    (void)code;
    if (!c)
        return;
    if (!c->closed)
        http_abandon(c);
    c->phase = PHASE_IDLE;
    c->served = true;
    c->since_ms = time_mono_ms();
    c->answered = c->html = c->last = false;
    c->type = NULL;
    c->shared = (struct str){ 0 };
    c->file = NULL;
    c->cookie[0] = '\0';
    c->lsn = 0;
    c->dropped = 0;
    c->key = c->trace[0] = c->trace[1] = c->prefer = NULL;
    buf_reset(&c->uri, BUFFER_KEEP);
    buf_reset(&c->body, BUFFER_KEEP);
    http_call_reset(&c->call);
    buf_reset(&c->answer.body, BUFFER_KEEP);
    c->charge = 0;
    c->answer = (struct http_answer){ .body = c->answer.body };
    if (!c->closed)
        http_note_held(c);
}

/* ---- Answers ---- */

static void add_allow(const struct http_client *c, struct MHD_Response *r)
{
    char text[64] = "";
    size_t len = 0;

    for (unsigned m = 0; m < HTTP_METHODS; m++)
        if (c->match.allowed & 1u << m)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
                                    m == HTTP_GET ? "GET, HEAD" : http_method_name(m));
    http_add_header(r, MHD_HTTP_HEADER_ALLOW, text);
}

static void add_headers(struct http_client *c, struct MHD_Response *r)
{
    const struct http_answer *a = &c->answer;

    if (c->html || c->file)
        http_add_page_headers(c, r);
    else if (a->body.len || c->shared.ptr)
        http_add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
                        a->problem ? HTTP_PROBLEM_TYPE
                        : c->type  ? c->type
                                   : "application/json");
    http_add_header(r, "X-Content-Type-Options", "nosniff"); /* a browser must not guess the type */
    /* Pages of other origins cannot even contain it, as an image or a script. */
    http_add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    if (c->cookie[0])
        http_add_header(r, MHD_HTTP_HEADER_SET_COOKIE, c->cookie);
    if (a->location[0])
        http_add_header(r, MHD_HTTP_HEADER_LOCATION, a->location);
    if (a->status == 401)
        http_add_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"belfry\"");
    if (a->status == 405)
        add_allow(c, r);
    if (a->status == 429 || a->status == 503)
        http_add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (c->client.server->stopping || c->last || stranger_is_late(&c->client, time_mono_ms()))
        http_add_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Whether an answer is larger than unread replies may be. A value that is no base64 is at most
 * twice as long as its bytes. */
static bool is_over_limit(const struct http_client *c)
{
    const struct options *o = &c->client.server->options;
    size_t most = (size_t)o->output_limit + 2 * ((size_t)o->max_payload + LEASE_BYTES_MAX);

    return c->answer.body.len > most;
}

/* libmicrohttpd reads the body from c->answer, or c->shared, until the request is completed. */
static struct MHD_Response *fixed_response(const struct http_client *c)
{
    struct str body = c->shared.ptr ? c->shared : buf_view(&c->answer.body);

    /* The library takes a pointer to bytes that it does not change. */
    return MHD_create_response_from_buffer(body.len, (void *)(uintptr_t)body.ptr,
                                           MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_answer(struct http_client *c)
{
    struct http_answer *a = &c->answer;
    struct MHD_Response *r;
    enum MHD_Result ok;

    if (is_over_limit(c)) {
        buf_fini(&a->body);
        http_refuse("TOOLARGE", 500, "the answer is over output_limit: ask for less", a);
    }
    if (a->body.len && !c->shared.ptr && a->body.ptr[a->body.len - 1] != '\n')
        buf_text(&a->body, "\n"); /* so that a prompt stands on a line of its own */
    if (a->body.failed)
        return MHD_NO;
    r = c->stream ? http_stream_response(c) : fixed_response(c);
    if (!r)
        return MHD_NO;
    add_headers(c, r);
    ok = MHD_queue_response(c->connection, (unsigned)a->status, r);
    MHD_destroy_response(r);
    c->phase = PHASE_ANSWERED;
    c->since_ms = time_mono_ms();
    http_note_held(c);
    return ok;
}

/* ---- Requests ---- */

void http_turn_away(struct http_client *c, const char *code, int status, const char *detail)
{
    http_refuse(code, status, detail, &c->answer);
    c->answered = true;
}

bool http_turn_away_early(struct http_client *c)
{
    if (host_is_up(&c->client.server->host))
        return false;
    http_turn_away(c, "BUSY", 503, "the journal is being opened");
    return true;
}

static bool is_json(const char *type)
{
    const char *rest = http_behind(type, "application/json");

    return rest && strchr("; \t", *rest); /* or the end */
}

static size_t body_limit(const struct http_client *c)
{
    if (c->match.route && c->match.route->open)
        return ACCOUNT_SMALL; /* of a stranger */
    return 2 * (size_t)c->client.server->options.max_payload + SLACK_BYTES;
}

/* A large body is taken when there is memory for all of it. */
static void charge_body(struct http_client *c, size_t bytes)
{
    if (bytes > ACCOUNT_SMALL && client_is_crowded(&c->client)) {
        c->client.server->accounts.waits++;
        http_turn_away(c, "BUSY", 503, "clients_memory is used up: send it again in a while");
        return;
    }
    c->charge = bytes <= body_limit(c) ? bytes : 0;
    http_note_held(c);
}

/* Refuses a body by its headers, before it comes. */
static void check_body(struct http_client *c, const char *length)
{
    bool chunked = http_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;

    if (!chunked && (!length || strspn(length, "0") == strlen(length)))
        return;
    if (!http_has_body(c->match.route))
        http_turn_away(c, "INVALID", 400, "this takes no body: its arguments stand in the query");
    else if (!is_json(http_header(c, MHD_HTTP_HEADER_CONTENT_TYPE)))
        http_turn_away(c, "INVALID", 415, "Content-Type: expected application/json");
    else if (!chunked)
        charge_body(c, strtoull(length, NULL, 10));
}

/* Takes ui_prefix from the front of a path. */
static struct str path_without_prefix(const struct http_client *c, struct str path)
{
    struct str prefix = str_of(c->client.server->options.ui.prefix);

    if (prefix.len == 0 || !str_starts(path, prefix))
        return path;
    if (path.len == prefix.len)
        return STR("/");
    return path.ptr[prefix.len] == '/'
               ? (struct str){ path.ptr + prefix.len, path.len - prefix.len }
               : path;
}

static void find_route(struct http_client *c, const char *method)
{
    struct str uri = buf_view(&c->uri);
    const char *mark = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    struct str path = { uri.ptr, mark ? (size_t)(mark - uri.ptr) : uri.len };

    c->query = mark ? (struct str){ mark + 1, uri.len - path.len - 1 } : STR("");
    http_route_find(str_of(method), path_without_prefix(c, path), &c->match);
}

static void refuse_route(struct http_client *c)
{
    if (c->match.allowed)
        http_turn_away(c, "UNKNOWN", 405, "this path has no such method; Allow says which it has");
    else
        http_turn_away(c, "UNKNOWN", 404, "there is no such path; /openapi.json lists them");
}

/* Answers at once, and ends the connection: where the next request would begin is unknown. */
static enum MHD_Result refuse_headers(struct http_client *c, int status, const char *why)
{
    c->last = true;
    http_refuse(status == 501 ? "UNKNOWN" : "INVALID", status, why, &c->answer);
    return send_answer(c);
}

/* Whether the headers take more memory than max_headers. The rest of the memory is for an answer.
 */
static bool is_crowded(const struct http_client *c)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int count = MHD_get_connection_values(c->connection, MHD_HEADER_KIND, NULL, NULL);

    return !size || size->header_size + (size_t)count * HEADER_COST >
                        (size_t)c->client.server->options.max_headers;
}

/* Answers without libmicrohttpd, which has no memory left for an answer, and ends the connection.
 * Nothing else is being sent: the answers to earlier requests are with the system. */
static enum MHD_Result refuse_crowded(struct http_client *c)
{
    char why[96], head[256];

    snprintf(why, sizeof(why), "the headers take more than max_headers, which is %lld bytes",
             (long long)c->client.server->options.max_headers);
    http_refuse("TOOLARGE", 431, why, &c->answer);
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 431 %s\r\nConnection: close\r\nContent-Type: " HTTP_PROBLEM_TYPE
                     "\r\nContent-Length: %zu\r\n\r\n",
                     http_reason(431), c->answer.body.len);
    struct iovec parts[] = { { head, (size_t)n }, { c->answer.body.ptr, c->answer.body.len } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = c->head ? 1 : 2 };
    ssize_t sent = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)sent; /* a client that takes nothing gets no answer */
    return MHD_NO;
}

/* Answers a body that is too long. Many clients write all of a body before they read. They would
 * miss an answer that is followed by the end of the connection. So the server reads and drops the
 * body, unless it is very long, or the client waits for 100 Continue before it sends. */
static enum MHD_Result refuse_length(struct http_client *c, unsigned long long bytes)
{
    const char *expect = http_header(c, MHD_HTTP_HEADER_EXPECT);
    bool at_once = c->answered || expect || bytes > DROP_BYTES;

    c->last = true;
    http_turn_away(c, "TOOLARGE", 413, "the body is larger than the limit");
    return at_once ? send_answer(c) : MHD_YES;
}

/* The headers are there. */
static enum MHD_Result begin_request(struct http_client *c, const char *method)
{
    const char *length = http_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *coding = http_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    char text[64];
    const char *wrong = http_ambiguous(c, text, sizeof(text));

    c->phase = PHASE_BODY;
    c->head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    if (c->uri.failed)
        return MHD_NO;
    if (is_crowded(c))
        return refuse_crowded(c);
    if (wrong)
        return refuse_headers(c, 400, wrong);
    if (coding && strcasecmp(coding, "chunked") != 0)
        return refuse_headers(c, 501, "Transfer-Encoding: expected chunked");
    find_route(c, method);
    if (!http_refuse_strangers(c) && c->client.server->stopping)
        http_turn_away(c, "BUSY", 503, "the server is stopping");
    if (!c->answered)
        http_authenticate(c);
    if (!c->answered && !c->match.route)
        refuse_route(c);
    if (!c->answered)
        check_body(c, length);
    if (length && strtoull(length, NULL, 10) > body_limit(c))
        return refuse_length(c, strtoull(length, NULL, 10));
    c->key = http_header(c, "Idempotency-Key");
    c->trace[0] = http_header(c, "traceparent");
    c->trace[1] = http_header(c, "tracestate");
    c->prefer = http_header(c, "Prefer");
    return MHD_YES;
}

/* Looks at the size of a body that comes in chunks, as no header told it. */
static void check_chunks(struct http_client *c, size_t bytes)
{
    if (bytes > body_limit(c)) {
        c->last = true;
        http_turn_away(c, "TOOLARGE", 413, "the body is larger than the limit");
    } else if (!c->charge && bytes > ACCOUNT_SMALL)
        charge_body(c, body_limit(c)); /* it may become as large */
    if (c->answered)
        buf_reset(&c->body, 0);
}

static enum MHD_Result take_body(struct http_client *c, struct str bytes)
{
    if (!c->answered)
        check_chunks(c, c->body.len + bytes.len);
    if (c->answered) {
        c->dropped += bytes.len;
        return c->dropped > (c->last ? DROP_BYTES : body_limit(c)) ? MHD_NO : MHD_YES;
    }
    buf_str(&c->body, bytes);
    c->client.holding.took += bytes.len;
    http_note_held(c);
    return c->body.failed ? MHD_NO : MHD_YES;
}

/* The request is whole. */
static void take_request(struct http_client *c)
{
    struct http_input in = {
        .match = &c->match,
        .query = c->query,
        .body = buf_view(&c->body),
        .idempotency_key = c->key ? str_of(c->key) : (struct str){ 0 },
        .max_payload = (size_t)c->client.server->options.max_payload,
        .idempotency_hold_ms = c->client.server->options.idempotency_hold_ms,
        .traceparent = c->trace[0] ? str_of(c->trace[0]) : STR(""),
        .tracestate = c->trace[1] ? str_of(c->trace[1]) : STR(""),
        .prefer = c->prefer ? str_of(c->prefer) : STR(""),
    };
    int err;

    c->phase = PHASE_WAITS;
    c->charge = 0; /* all of the body is there */
    http_note_held(c);
    if (c->answered)
        return;
    c->client.server->commands += c->match.route->page == HTTP_VERB;
    err = http_route_verb(c->match.route) ? http_translate(&in, &c->call) : 0;
    if (err) {
        http_fail(err, c->call.why, &c->answer);
        c->answered = true;
    } else if (c->call.n && account_counts(&c->client.holding) &&
               !account_spend(&c->client, c->call.words[0])) {
        http_fail(BELFRY_RATE, c->client.server->accounts.why, &c->answer);
        c->answered = true;
    } else if (c->match.route->page != HTTP_VERB) {
        http_answer_page(c);
    } else {
        http_start(c);
    }
}

enum MHD_Result http_on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **request)
{
    struct http_client *c = http_client_of(connection);

    (void)arg;
    (void)url;
    (void)version;
    (void)request;
    if (!c || c->closed)
        return MHD_NO;
    if (c->phase == PHASE_BEGUN)
        return begin_request(c, method);
    if (*size) {
        struct str bytes = { data, *size };

        *size = 0;
        return take_body(c, bytes);
    }
    if (c->phase == PHASE_BODY)
        take_request(c);
    bool ready = http_is_ready(c);

    if (ready && (c->waited || !server_is_late(c->client.server, time_mono_us()))) {
        c->waited = false;
        return send_answer(c);
    }
    if (ready)
        http_hold(c);
    c->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}
