/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks HTTP, and its request: for http.c, which has the connection and its
 * waiting, and http_request.c, which has what libmicrohttpd reads and sends.
 */
#ifndef SERVER_HTTP_CLIENT_H
#define SERVER_HTTP_CLIENT_H

#include <microhttpd.h>

#include "front/http_call.h"
#include "server/client.h"

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
    bool served; /* a request of it is over */
    struct session session;
    bool has_shown;                  /* a token that was right, on this connection; */
    uint8_t shown[TOKEN_HASH_BYTES]; /* a hash of it */
    int64_t since_ms;                /* monotonic: when the last answer was out, or it came */

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
    bool last;      /* where the next request would begin is not known: the connection ends */
    bool head;      /* HEAD: of the answer its headers only */
    bool plain;     /* the answer is text for Prometheus */
    bool html;      /* the answer is a page, */
    char nonce[24]; /* whose scripts and styles have this */
    struct http_stream *stream; /* the answer is a stream of events; NULL: it is not */
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

/* What libmicrohttpd calls: with the first line of a request; with its headers, pieces of its body,
 * at its end, and after it was resumed; and when it is over. */
void *http_on_uri(void *arg, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **request);
void http_on_completed(void *arg, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode code);
/* The request is over, in whatever way: what it waited for is given up. */
void http_abandon(struct http_client *c);

/* Has libmicrohttpd ask again for a suspended connection's answer. */
void http_wake(struct http_client *c);
/* Has the client's going away seen while its connection is suspended. */
void http_watch(struct http_client *c);

/* ---- Streams of events: http_events.c ---- */

struct MHD_Response;

/* By the words of its request: there is a stream then, or the answer is an error. */
void http_stream_begin(struct http_client *c, const char *last_id);
/* What is sent, with its headers; NULL without memory. */
struct MHD_Response *http_stream_response(struct http_client *c);
/* It ends when what was taken for it is sent. */
void http_stream_end(struct http_client *c);
void http_stream_free(struct http_client *c); /* also if there is none */

#endif
