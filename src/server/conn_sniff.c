/* SPDX-License-Identifier: MIT */
/* The first bytes of a connection, which tell its protocol. */
#include <errno.h>
#include <sys/socket.h>

#include "base/time.h"
#include "front/http_route.h"
#include "server/conn_data.h"
#include "server/http/http.h"
#include "server/tls.h"

/* Gives the socket to the connections of another protocol. */
static void hand_over(struct conn *c, void (*adopt)(struct server *s, int fd, const struct peer *))
{
    struct server *s = c->client.server;
    struct peer peer = c->client.peer;
    int fd = c->fd;

    c->fd = -1;
    conn_close(&c->client);
    adopt(s, fd, &peer);
}

/* Answers in the protocol that the client speaks. */
static void refuse_plain(struct conn *c, bool http)
{
    conn_drop_words(c);
    buf_text(&c->out.bytes, http ? TLS_PLAIN_HTTP : TLS_PLAIN_RESP);
    c->client.session.quit = true;
    conn_note_reply(c, 0);
}

/* How many bytes must have come before the loop tells of them. */
static void set_least(struct conn *c, int bytes)
{
    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* Acts on the first bytes. True: the client speaks RESP. */
static bool choose_protocol(struct conn *c, struct str first, bool http)
{
    const struct server *s = c->client.server;
    const struct peer *peer = &c->client.peer;

    if (first.len && first.ptr[0] == TLS_FIRST_BYTE && !peer->tls && s->tls)
        hand_over(c, tls_adopt);
    else if (first.len && !tls_may_be_plain(&s->options, peer))
        refuse_plain(c, http);
    else if (http)
        hand_over(c, http_adopt);
    else
        return true;
    return false;
}

bool conn_sniff(struct conn *c)
{
    char first[HTTP_GUESS_BYTES];
    ssize_t n = recv(c->fd, first, sizeof(first), MSG_PEEK);
    struct str seen = { first, n > 0 ? (size_t)n : 0 };
    enum http_guess guess = seen.len ? http_guess(seen) : HTTP_GUESS_NO;

    if (guess == HTTP_GUESS_MORE && n > c->peeked) { /* else no more will come */
        c->peeked = (int)n;
        set_least(c, c->peeked + 1);
        if (!c->half_ms)
            c->half_ms = time_mono_ms();
        return false;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (c->peeked)
        set_least(c, 1);
    c->fresh = false;
    c->half_ms = 0;
    return choose_protocol(c, seen, guess == HTTP_GUESS_YES);
}
