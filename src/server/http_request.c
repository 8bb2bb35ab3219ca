/* SPDX-License-Identifier: MIT */
/* Requests in HTTP as they are read, and answers as they are sent. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/time.h"
#include "front/http_docs.h"
#include "front/http_status.h"
#include "front/openapi.h"
#include "server/http_client.h"

#define BUFFER_KEEP ((size_t)4096) /* of a connection that is idle */
#define SLACK_BYTES (1u << 20)     /* of a body beyond its payload */

/* The first line of a request. */
void *http_on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
    struct http_client *c = http_client_of(connection);

    (void)arg;
    if (c && !c->closed) {
        c->phase = PHASE_BEGUN;
        c->since_ms = time_mono_us() / 1000;
        c->uri.len = 0;
        buf_text(&c->uri, uri);
    }
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
    c->since_ms = time_mono_us() / 1000;
    c->answered = c->html = c->plain = false;
    c->lsn = 0;
    c->dropped = 0;
    c->key = NULL;
    buf_reset(&c->uri, BUFFER_KEEP);
    buf_reset(&c->body, BUFFER_KEEP);
    http_call_reset(&c->call);
    buf_reset(&c->answer.body, BUFFER_KEEP);
    c->answer = (struct http_answer){ .body = c->answer.body };
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
                   a->problem ? HTTP_PROBLEM_TYPE
                   : c->plain ? "text/plain; version=0.0.4; charset=utf-8"
                              : "application/json");
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
    r = c->stream
            ? http_stream_response(c)
            : MHD_create_response_from_buffer(a->body.len, a->body.ptr, MHD_RESPMEM_PERSISTENT);
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
    c->head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
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
    case HTTP_METRICS:
        c->plain = true;
        if (!s->partition || s->failed)
            refuse(c, "BUSY", 503, "the journal is being opened");
        else if (metrics_text(s->engine, s->partition, &s->host, &a->body) < 0)
            a->body.failed = true;
        break;
    case HTTP_EVENTS: http_stream_begin(c, header(c, "Last-Event-ID")); break;
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
    c->client.server->commands += c->match.route->page == HTTP_VERB;
    err = http_route_verb(c->match.route) ? http_translate(&in, &c->call) : 0;
    if (err) {
        http_fail(err, c->call.why, &c->answer);
        c->answered = true;
    } else if (c->match.route->page != HTTP_VERB) {
        answer_page(c);
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
        return begin(c, method);
    if (*size) {
        struct str bytes = { data, *size };

        *size = 0;
        return take_body(c, bytes);
    }
    if (c->phase == PHASE_BODY)
        take_request(c);
    if (http_is_ready(c))
        return send_answer(c);
    c->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}
