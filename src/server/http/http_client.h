/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks HTTP, and its request. The connection and its waiting are in http.c, the
 * reading and sending by libmicrohttpd in http_request.c, streams of events in http_events.c.
 */
#ifndef SERVER_HTTP_CLIENT_H
#define SERVER_HTTP_CLIENT_H

#include <microhttpd.h>

#include "front/http_call.h"
#include "front/ui.h"
#include "server/client.h"

enum phase {
    PHASE_IDLE,    /* There is no request, or not even its first line. */
    PHASE_BEGUN,   /* The first line is there. */
    PHASE_BODY,    /* The headers are there. */
    PHASE_WAITS,   /* The request is whole. Its answer is missing, or may not be sent yet. */
    PHASE_ANSWERED /* The answer is being sent. */
};

struct http_client {
    struct client client;
    struct MHD_Connection *connection;
    int fd;
    bool suspended;
    bool closed;                     /* The connection is to end: nothing is done for it. */
    bool served;                     /* A request of this connection is over. */
    bool has_shown;                  /* `shown` is set. */
    uint8_t shown[TOKEN_HASH_BYTES]; /* The hash of the right token that came last. */
    int64_t since_ms; /* monotonic: the last answer's end, or the request's beginning */

    /* The request. */
    enum phase phase;
    struct buf uri; /* as it stands in the first line */
    struct http_match match;
    struct str query;
    const char *key;      /* Idempotency-Key, or NULL; libmicrohttpd's while the request lasts */
    const char *trace[2]; /* traceparent and tracestate, or NULL */
    const char *prefer;   /* Prefer, or NULL */
    struct buf body;
    size_t charge;  /* The bytes that the coming body takes at most. */
    size_t dropped; /* Bytes of the body that were not kept, as the answer is an error already. */
    struct http_call call;
    uv_poll_t *watch; /* Tells that the client goes away while libmicrohttpd does not look. */
    uint64_t lsn;     /* The answer waits for this to be durable. */
    struct list held; /* In http.held, while the answer waits for the next turn. */
    bool waited;      /* The answer has waited for a turn: it goes however long this one lasts. */
    bool answered;    /* `answer` is there. */
    struct http_answer answer;
    struct str
        shared; /* A page of all clients, in place of the body of `answer`; ptr NULL: none. */
    const struct ui_file *file; /* The answer is this file of the dashboard; NULL: it is not. */
    bool packed;                /* The file goes packed by gzip. */
    bool last;        /* The connection ends: where the next request would begin is unknown. */
    bool head;        /* HEAD: only the headers of the answer are sent. */
    const char *type; /* The type of an answer that is neither JSON nor a problem; else NULL. */
    bool html;        /* The answer is a page. */
    char nonce[24];   /* The scripts and styles of the page carry this text. */
    char cookie[160]; /* The header Set-Cookie; empty: there is none. */
    struct http_stream *stream; /* The answer is this stream of events; NULL: it is not. */
};

static inline struct http_client *http_client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static inline bool http_is_ready(const struct http_client *c)
{
    return c->answered && c->lsn <= c->client.server->host.durable_lsn;
}

/* Executes a request that is whole, if its turn has come: it is ready then, or it waits. */
void http_start(struct http_client *c);
/* The answer is there, and waits until lsn is durable. */
void http_note_answer(struct http_client *c, uint64_t lsn);

/* libmicrohttpd calls these functions. It calls http_on_uri with the first line of a request. It
 * calls http_on_request with the headers, with each piece of the body, at the end, and after it was
 * resumed. It calls http_on_completed when the request is over. */
void *http_on_uri(void *arg, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **request);
void http_on_completed(void *arg, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode code);
/* The request is over, in whatever way: gives up everything that it waits for. */
void http_abandon(struct http_client *c);

/* Answers a route that has a page and no verb: http_pages.c. */
void http_answer_page(struct http_client *c);
/* Answers /v1/session: http_session.c. */
void http_answer_session(struct http_client *c);
/* Adds the headers of a page, or of a file of the dashboard. */
void http_add_page_headers(const struct http_client *c, struct MHD_Response *r);

/* Adds a header to an answer. Without memory for it the answer is right, too. */
static inline void http_add_header(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

/* A header of the request; NULL: there is none. */
static inline const char *http_header(const struct http_client *c, const char *name)
{
    return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* The rest of a text that begins so, in any case; NULL: it does not, or there is none. */
static inline const char *http_behind(const char *text, const char *beginning)
{
    size_t n = strlen(beginning);

    return text && strncasecmp(text, beginning, n) == 0 ? text + n : NULL;
}

/* ---- Access: http_access.c ---- */

/* Refuses requests of foreign pages in a browser on this machine. True: the request was refused. A
 * foreign page cannot send JSON without asking first (415). Its Origin differs from Host, or the
 * browser says that the page is from elsewhere. If the name of the page leads to this server, Host
 * is not one of our names; with TLS the browser sees that from the certificate. */
bool http_refuse_strangers(struct http_client *c);
/* Looks at the request's token before its body comes, so that no body of a stranger is kept. The
 * answer is an error if the request may not go on. */
void http_authenticate(struct http_client *c);
/* The connection forgets the token of its last request: the next one may be of another client, as a
 * proxy has one connection for many. */
void http_become_nobody(struct http_client *c);

/* ---- Answers ---- */

/* Makes the answer a problem. A body that still comes is read and dropped. */
void http_turn_away(struct http_client *c, const char *code, int status, const char *detail);
/* True: the journal is being opened, and the request was turned away for that. */
bool http_turn_away_early(struct http_client *c);

/* The error in the headers, or NULL. If headers contradict each other, a proxy in front may believe
 * another header than the server, and so see other requests. */
const char *http_ambiguous(struct http_client *c, char *text, size_t size);

/* Tells the account what the connection holds. */
void http_note_held(struct http_client *c);

/* Holds a ready answer back, because the turn has lasted for long. libmicrohttpd asks again in the
 * next turn. */
void http_hold(struct http_client *c);
/* Has libmicrohttpd ask again for a suspended connection's answer. */
void http_wake(struct http_client *c);
/* Notices while the connection is suspended that the client goes away. Without memory for that the
 * wait lasts as long as the client asked for. */
void http_watch(struct http_client *c);

/* ---- Streams of events: http_events.c ---- */

/* Begins a stream by the words of the request, or makes the answer an error. */
void http_stream_begin(struct http_client *c, const char *last_id);
/* The answer with its headers; NULL if out of memory. */
struct MHD_Response *http_stream_response(struct http_client *c);
/* The stream ends when its buffered events are sent. */
void http_stream_end(struct http_client *c);
/* Accepts a client without a stream. */
void http_stream_free(struct http_client *c);

#endif
