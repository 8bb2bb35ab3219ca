/* SPDX-License-Identifier: MIT */
#include "tls/link.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "tls/context.h"

#define PIECES_TURN  8            /* pieces that a link moves in each direction in a turn */
#define FIRST_BYTES  ((size_t)64) /* With so many first bytes `enough` is not asked any more. */
#define LINGER_MS    2000
#define LINGER_BYTES ((size_t)1 << 20)
#define LINGER_LINKS 1024

void link_limit(struct link *l, int ms)
{
    l->until_ms = time_mono_ms() + ms;
    l->relay->timed = true;
}

/* ---- Watching ---- */

static void watch_end(struct end *e, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = e };

    if (e->watched && e->events == events)
        return;
    epoll_ctl(e->link->relay->epoll, e->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, e->fd, &event);
    e->watched = true;
    e->events = events;
}

static void unwatch_end(struct end *e)
{
    if (e->watched)
        epoll_ctl(e->link->relay->epoll, EPOLL_CTL_DEL, e->fd, NULL);
    e->watched = false;
}

/* Watches for the events that let the link go on. Epoll tells of a closed end in any case. */
static void watch_both(struct link *l)
{
    uint32_t net = 0, plain = 0;

    if (l->stage == STAGE_DEAD)
        return;
    if (l->stage != STAGE_OPEN || (!l->net_ended && (l->first || l->up.len == 0)))
        net |= EPOLLIN;
    if (l->net_wants_out || l->down.len || (l->plain_gone && !l->plain_ended))
        net |= EPOLLOUT;
    if (l->stage == STAGE_OPEN && !l->plain_ended && l->down.len == 0)
        plain |= EPOLLIN;
    if (l->up.len && !l->first)
        plain |= EPOLLOUT;
    /* Epoll would report an end that is gone in every turn. */
    if (l->net_gone && l->up.len && !l->first)
        unwatch_end(&l->net);
    else
        watch_end(&l->net, net);
    if (l->plain_gone)
        unwatch_end(&l->plain);
    else
        watch_end(&l->plain, plain);
}

/* ---- Ending ---- */

void link_drop(struct link *l)
{
    if (l->stage == STAGE_DEAD)
        return;
    l->relay->lingering -= l->stage == STAGE_LINGER;
    l->stage = STAGE_DEAD;
    list_move(&l->relay->dead, &l->all);
}

void link_free(struct link *l)
{
    close(l->net.fd);
    if (l->plain.fd >= 0)
        close(l->plain.fd);
    SSL_free(l->ssl);
    buf_fini(&l->up);
    buf_fini(&l->down);
    if (l->ticket)
        l->relay->gone(l->ticket);
    free(l);
}

/* Closes the plain end, so that its owner knows at once. */
static void linger(struct link *l)
{
    unwatch_end(&l->plain);
    close(l->plain.fd);
    l->plain.fd = -1;
    l->plain_gone = l->plain_ended = true;
    l->net_wants_out = false;
    l->up.len = l->down.len = 0;
    shutdown(l->net.fd, SHUT_WR);
    if (l->relay->lingering == LINGER_LINKS) {
        link_drop(l);
        return;
    }
    l->relay->lingering++;
    l->stage = STAGE_LINGER;
    link_limit(l, LINGER_MS);
}

void link_fail(struct link *l, const char *why)
{
    struct relay *r = l->relay;

    pthread_mutex_lock(&r->lock);
    r->failures.count++;
    memcpy(r->failures.label, l->label, sizeof(l->label));
    snprintf(r->failures.why, sizeof(r->failures.why), "%s", why);
    pthread_mutex_unlock(&r->lock);
    linger(l);
}

/* For a refused certificate the reason is that of its verification. */
static void fail_ssl(struct link *l)
{
    char why[TLS_WHY];
    bool cert = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED;

    tls_error(why);
    if (cert)
        snprintf(why, sizeof(why), "its certificate is not accepted: %s",
                 X509_verify_cert_error_string(SSL_get_verify_result(l->ssl)));
    link_fail(l, why);
}

/* ---- From the network ---- */

/* Acts on a call of OpenSSL that did not succeed. False: the link is over. */
static bool not_yet(struct link *l, int result)
{
    switch (SSL_get_error(l->ssl, result)) {
    case SSL_ERROR_WANT_READ: return true;
    case SSL_ERROR_WANT_WRITE: l->net_wants_out = true; return true;
    case SSL_ERROR_ZERO_RETURN: l->net_ended = true; return true;
    case SSL_ERROR_SYSCALL:
        if (l->stage == STAGE_HANDSHAKE)
            link_fail(l, "it ended within the handshake");
        else
            link_drop(l);
        return false;
    default: fail_ssl(l); return false;
    }
}

/* The plain end was closed. The bytes that its owner wrote before are still to be sent. */
static void plain_closed(struct link *l)
{
    if (l->plain_gone)
        return;
    l->plain_gone = true;
    if (l->stage == STAGE_HANDSHAKE)
        link_drop(l);
    else
        link_limit(l, atomic_load(&l->relay->close_ms));
}

/* False: the plain end takes no more bytes. */
static bool pass_up(struct link *l, const char *data, size_t len, size_t *ret_sent)
{
    ssize_t n = send(l->plain.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    *ret_sent = n > 0 ? (size_t)n : 0;
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        plain_closed(l);
        return false;
    }
    return true;
}

/* Passes on the bytes of `up`. True: it is empty. */
static bool empty_up(struct link *l)
{
    size_t sent;

    if (l->first && l->up.len && !l->net_ended)
        return false;
    while (l->up.len && !l->plain_gone) {
        if (!pass_up(l, l->up.ptr, l->up.len, &sent) || sent == 0)
            break;
        buf_consume(&l->up, sent);
    }
    if (l->plain_gone)
        l->up.len = 0;
    if (l->up.len == 0)
        buf_fini(&l->up);
    return l->up.len == 0;
}

/* Keeps the first bytes back until they are enough. They have as much time as a handshake. */
static void take_first(struct link *l, const char *data, size_t len)
{
    struct relay *r = l->relay;

    if (l->up.len == 0)
        link_limit(l, atomic_load(&r->handshake_ms));
    buf_append(&l->up, data, len);
    if (l->up.failed)
        return;
    if (l->up.len >= FIRST_BYTES || r->enough(buf_view(&l->up))) {
        l->first = false;
        l->until_ms = 0;
        empty_up(l);
    }
}

static void take_piece(struct link *l, const char *data, size_t len)
{
    size_t sent;

    if (l->plain_gone)
        return;
    if (l->first) {
        take_first(l, data, len);
        return;
    }
    if (pass_up(l, data, len, &sent))
        buf_append(&l->up, data + sent, len - sent);
}

/* Moves a piece from the network. True: it did. */
static bool pull_piece(struct link *l)
{
    size_t n;
    int result;

    if (!empty_up(l) && !l->first)
        return false;
    if (l->net_ended)
        return false;
    ERR_clear_error();
    result = SSL_read_ex(l->ssl, l->relay->scratch, PIECE_BYTES, &n);
    if (result != 1) {
        not_yet(l, result);
        return false;
    }
    take_piece(l, l->relay->scratch, n);
    if (l->up.failed)
        link_fail(l, "out of memory");
    return l->stage == STAGE_OPEN;
}

/* ---- From the plain end ---- */

/* Moves a piece to the network. True: it did. */
static bool push_piece(struct link *l)
{
    struct relay *r = l->relay;
    struct str data = buf_view(&l->down);
    size_t sent = 0;
    ssize_t n;
    int result;

    if (data.len == 0 && !l->plain_ended) {
        n = recv(l->plain.fd, r->scratch, PIECE_BYTES, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        l->plain_ended = n <= 0; /* also if the owner closed it with bytes unread */
        data = (struct str){ r->scratch, n > 0 ? (size_t)n : 0 };
    }
    if (data.len == 0)
        return false;
    ERR_clear_error();
    result = SSL_write_ex(l->ssl, data.ptr, data.len, &sent);
    if (result != 1) {
        sent = 0;
        if (!not_yet(l, result))
            return false;
    }
    if (l->down.len == 0)
        buf_append(&l->down, data.ptr + sent, data.len - sent);
    else
        buf_consume(&l->down, sent);
    if (l->down.failed)
        link_fail(l, "out of memory");
    else if (l->down.len == 0)
        buf_fini(&l->down);
    return sent > 0 && l->stage == STAGE_OPEN;
}

/* ---- A link ---- */

static void shake_hands(struct link *l)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(l->ssl);
    if (result == 1) {
        l->stage = STAGE_OPEN;
        l->until_ms = 0;
    } else if (not_yet(l, result) && l->net_ended) {
        link_fail(l, "it ended within the handshake");
    }
}

/* Passes on the end of a direction after all of its bytes. */
static void pass_ends(struct link *l)
{
    int result;

    if (l->net_ended && !l->plain_told && empty_up(l)) {
        shutdown(l->plain.fd, SHUT_WR);
        l->plain_told = true;
    }
    if (l->plain_ended && !l->net_told && l->down.len == 0) {
        ERR_clear_error();
        result = SSL_shutdown(l->ssl);
        if (result < 0 && SSL_get_error(l->ssl, result) == SSL_ERROR_WANT_WRITE) {
            l->net_wants_out = true;
            return;
        }
        shutdown(l->net.fd, SHUT_WR);
        l->net_told = true;
    }
    if (l->net_told && l->plain_told)
        link_drop(l);
    else if (l->net_told && l->plain_gone)
        linger(l);
}

static void drop_rest(struct link *l)
{
    for (int i = 0; i < PIECES_TURN; i++) {
        ssize_t n = recv(l->net.fd, l->relay->scratch, PIECE_BYTES, MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        l->dropped += n > 0 ? (size_t)n : 0;
        if (n <= 0 || l->dropped > LINGER_BYTES) {
            link_drop(l);
            return;
        }
    }
}

void link_go_on(struct link *l)
{
    bool moved = true;

    if (l->stage == STAGE_LINGER)
        drop_rest(l);
    l->net_wants_out = false;
    if (l->stage == STAGE_HANDSHAKE)
        shake_hands(l);
    for (int i = 0; i < PIECES_TURN && moved && l->stage == STAGE_OPEN; i++) {
        moved = pull_piece(l);
        moved = (l->stage == STAGE_OPEN && push_piece(l)) || moved;
    }
    if (l->stage == STAGE_OPEN)
        pass_ends(l);
    watch_both(l);
}

void link_on_event(struct end *e, uint32_t events)
{
    struct link *l = e->link;
    bool closed = events & (EPOLLHUP | EPOLLERR);

    if (l->stage == STAGE_DEAD)
        return;
    if (e == &l->plain && closed)
        plain_closed(l);
    if (e == &l->net && closed)
        l->net_gone = true;
    if (l->stage != STAGE_DEAD)
        link_go_on(l);
    if (l->stage != STAGE_OPEN)
        return;
    if (l->net_gone && l->net_ended && l->up.len == 0)
        link_drop(l); /* Nothing can be sent any more, and all input was passed on. */
    else if (e == &l->net && events & EPOLLERR && l->up.len)
        link_drop(l); /* The network was reset: a worker that waits behind it must get no work. */
}
