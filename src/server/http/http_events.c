/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/events: an answer that does not end. A stream takes events from the ring when its
 * connection has sent the earlier ones. So a slow stream costs a small buffer, and nothing waits
 * for it. While there are no events the connection is suspended.
 */
#include <microhttpd.h>
#include <stdlib.h>

#include "base/time.h"
#include "server/events.h"
#include "server/http/http.h"
#include "server/http/http_client.h"

#define PIECE_BYTES ((size_t)8 << 10) /* taken from the ring at a time, and an event more */
#define FILL_US     2000              /* the time for filling all streams in one turn of the loop */
#define BEAT_MS     15000

struct http_stream {
    struct event_stream stream;
    struct http_client *client;
    struct list link;
    struct buf out;
    size_t sent;     /* sent bytes of `out` */
    int64_t beat_ms; /* monotonic: when something was sent last */
    bool ending;
};

/* The client's token may have been revoked meanwhile, or have expired, and its login have ended. */
static void check_rights(struct http_stream *st)
{
    const struct server *s = st->client->client.server;
    struct session *session = &st->client->client.session;

    if (s->host.partition && identity_check(&session->who, s->host.engine, session->remote) < 0)
        st->ending = true;
    if (session->login && !logins_get(&s->http.logins, session->login, time_mono_ms()))
        st->ending = true;
}

/* Whether streams may take more from the ring in this turn. If not, they go on in the next one. */
static bool may_fill(struct server *s)
{
    if (s->events.filled_us < FILL_US)
        return true;
    s->events.behind = true;
    host_wake(&s->host);
    return false;
}

static void fill_stream(struct http_stream *st)
{
    struct events *v = &st->client->client.server->events;
    int64_t begun_us = time_mono_us();

    check_rights(st);
    if (st->sent == st->out.len)
        buf_reset(&st->out, 2 * PIECE_BYTES);
    if (st->out.len == 0)
        st->sent = 0;
    while (!st->ending && v->ring.bytes && st->out.len < PIECE_BYTES && !st->out.failed &&
           event_stream_next(&st->stream, &v->ring, &v->texts, v->epoch, &st->out))
        ;
    v->filled_us += time_mono_us() - begun_us;
}

static ssize_t on_read(void *arg, uint64_t at, char *to, size_t max)
{
    struct http_client *c = arg;
    struct http_stream *st = c->stream;
    size_t n;

    (void)at;
    if (c->closed || !st)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (st->sent == st->out.len && may_fill(c->client.server))
        fill_stream(st);
    if (st->out.failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = st->out.len - st->sent < max ? st->out.len - st->sent : max;
    if (n) {
        memcpy(to, st->out.ptr + st->sent, n);
        st->sent += n;
        st->beat_ms = time_mono_ms();
        return (ssize_t)n;
    }
    if (st->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    c->suspended = true;
    MHD_suspend_connection(c->connection);
    return 0;
}

struct MHD_Response *http_stream_response(struct http_client *c)
{
    struct MHD_Response *r;

    if (c->head) /* For an unknown length libmicrohttpd would send the end of the body. */
        r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    else
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, on_read, c, NULL);

    if (r) { /* Without memory for a header the answer is right, too. */
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
        MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(r, "X-Accel-Buffering", "no");
    }
    return r;
}

/* A token of a tenant sees only events of that tenant. */
static int confine_stream(struct http_client *c, struct event_stream *stream, char *why,
                          size_t why_size)
{
    const struct identity *who = &c->client.session.who;

    if (!who->confined)
        return 0;
    if (stream->has_tenant && !str_eq(str_of(stream->tenant), identity_tenant(who))) {
        snprintf(why, why_size, "it is for tenant %.*s only", STR_ARG(identity_tenant(who)));
        return BELFRY_NOPERM;
    }
    event_stream_confine(stream, c->client.server->host.engine, identity_tenant(who));
    return 0;
}

/* The streams of tokens of this client's tenant. */
static uint64_t streams_beside(const struct http_client *c)
{
    struct str tenant = identity_tenant(&c->client.session.who);
    uint64_t n = 0;

    list_each_of (struct http_stream, st, &c->client.server->events.streams, link) {
        const struct identity *who = &st->client->client.session.who;

        n += who->confined && str_eq(identity_tenant(who), tenant);
    }
    return n;
}

/* max_streams of the client's tenant; 0: it has none. */
static uint64_t streams_set(const struct http_client *c)
{
    struct tenant_view v;

    return engine_tenant_get(c->client.server->host.engine, identity_tenant(&c->client.session.who),
                             &v) == 0
               ? (uint64_t)v.settings->max_streams
               : 0;
}

/* Why there may be no further stream, or NULL. The tokens of one tenant may have half of all
 * streams, or fewer if its max_streams says so. So they do not keep out other tenants. */
static const char *one_too_many(const struct http_client *c, char *why, size_t why_size)
{
    const struct server *s = c->client.server;
    uint64_t most = (uint64_t)s->options.max_streams, own, mine;

    if (list_length(&s->events.streams) >= most)
        return "there are as many streams as max_streams allows";
    if (!c->client.session.who.confined)
        return NULL;
    own = streams_set(c);
    mine = streams_beside(c);
    if (own > 0 && mine >= own) {
        snprintf(why, why_size, "max_streams of %.*s is %llu",
                 STR_ARG(identity_tenant(&c->client.session.who)), (unsigned long long)own);
        return why;
    }
    if (mine >= (most > 1 ? most / 2 : 1))
        return "this tenant's tokens have as many streams as one tenant may: half of max_streams";
    return NULL;
}

void http_stream_begin(struct http_client *c, const char *last_id)
{
    struct server *s = c->client.server;
    struct events *v = &s->events;
    struct http_stream *st;
    char why[256] = "";
    const char *full;
    int err;

    if (http_turn_away_early(c))
        return;
    full = one_too_many(c, why, sizeof(why));
    if (full) {
        v->refused++;
        http_turn_away(c, "BUSY", 429, full); /* LIMIT is about a tenant's jobs */
        return;
    }
    st = calloc(1, sizeof(*st));
    err = st ? events_want(s) : BELFRY_NOMEM;
    if (!err)
        err = event_stream_init(&st->stream, c->call.words, c->call.n, why, sizeof(why));
    if (!err)
        err = confine_stream(c, &st->stream, why, sizeof(why));
    if (!err)
        err = event_stream_place(&st->stream, &v->ring, v->epoch, last_id, why, sizeof(why));
    if (err) {
        http_fail(err, why, &c->answer);
        if (st)
            event_stream_fini(&st->stream);
        free(st);
        return;
    }
    st->client = c;
    list_append(&v->streams, &st->link);
    c->stream = st;
    event_stream_hello(&st->stream, v->epoch, &st->out);
    http_watch(c);
}

void http_stream_end(struct http_client *c)
{
    c->stream->ending = true;
    http_wake(c);
}

void http_stream_free(struct http_client *c)
{
    struct http_stream *st = c->stream;

    if (!st)
        return;
    list_remove(&st->link);
    event_stream_fini(&st->stream);
    buf_fini(&st->out);
    free(st);
    c->stream = NULL;
}

/* The streams take turns: the next call begins behind the last one that was filled. */
void http_streams_feed(struct server *s)
{
    struct events *v = &s->events;

    v->behind = false;
    for (size_t n = list_length(&v->streams); n > 0; n--) {
        struct http_stream *st = container_of(v->streams.next, struct http_stream, link);

        if (st->client->suspended && !may_fill(s))
            return;
        list_move(&v->streams, &st->link);
        if (!st->client->suspended)
            continue;
        fill_stream(st);
        if (st->out.len > st->sent || st->out.failed || st->ending)
            http_wake(st->client);
    }
}

void http_streams_sweep(struct server *s, int64_t mono_ms)
{
    if (!list_empty(&s->events.streams))
        host_advance(&s->host); /* without requests nothing else notices that a token has expired */
    list_each_of (struct http_stream, st, &s->events.streams, link) {
        if (!st->client->suspended)
            continue;
        check_rights(st);
        if (st->ending)
            http_wake(st->client);
        if (st->ending || mono_ms - st->beat_ms < BEAT_MS)
            continue;
        fill_stream(st);
        event_stream_beat(&st->stream, s->events.epoch, &st->out);
        http_wake(st->client);
    }
}
