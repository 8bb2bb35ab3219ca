/* SPDX-License-Identifier: MIT */
#include "tls/relay.h"

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time.h"
#include "tls/context.h"

#define PIECE_BYTES  ((size_t)16384) /* a record: OpenSSL keeps no more of what it has decrypted */
#define PIECES_TURN  8               /* each way for one connection in one turn */
#define EVENTS_TURN  256
#define FIRST_BYTES  ((size_t)64) /* of which somebody may want to see more before they go on */
#define SWEEP_MS     250
#define LINGER_MS    2000
#define LINGER_BYTES ((size_t)1 << 20)
#define LINGER_LINKS 1024

enum stage {
    STAGE_HANDSHAKE,
    STAGE_OPEN,
    STAGE_LINGER, /* all was sent; what still comes is dropped, so that it does not reset the rest
                   */
    STAGE_DEAD    /* to be freed when the turn is over */
};

struct end {
    struct link *link;
    int fd;
    uint32_t events; /* watched */
    bool watched;
};

struct link {
    struct list all;
    struct relay *relay;
    SSL *ssl;
    struct end net;
    struct end plain;
    enum stage stage;
    struct buf up;   /* decrypted, not passed on yet */
    struct buf down; /* to be encrypted; only what did not fit */
    bool first;      /* `up` is held back until it is enough */
    bool net_wants_out;
    bool net_ended;   /* nothing more comes from there, */
    bool plain_ended; /* or from there */
    bool plain_told;  /* that nothing more comes; */
    bool net_told;    /* likewise */
    bool plain_gone;  /* nobody is there any more */
    bool net_gone;    /* it was reset, or has ended both ways */
    size_t dropped;
    int64_t until_ms; /* monotonic; 0: no limit */
    char label[RELAY_LABEL];
};

struct relay {
    bool (*enough)(struct str first);
    atomic_int handshake_ms;
    atomic_int close_ms;
    int epoll;
    int wake;
    pthread_t thread;
    char *scratch; /* of the thread; PIECE_BYTES */
    struct list links;
    struct list dead;
    unsigned lingering;
    bool timed; /* some link may have a limit */

    pthread_mutex_t lock; /* for what follows */
    struct list arrived;
    bool stop;
    int64_t stop_ms; /* monotonic: when to give up */
    struct relay_failures failures;
};

static int64_t now_ms(void)
{
    return time_mono_us() / 1000;
}

static void limit(struct link *l, int ms)
{
    l->until_ms = now_ms() + ms;
    l->relay->timed = true;
}

/* ---- Watching ---- */

static void watch(struct end *e, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = e };

    if (e->watched && e->events == events)
        return;
    epoll_ctl(e->link->relay->epoll, e->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, e->fd, &event);
    e->watched = true;
    e->events = events;
}

static void unwatch(struct end *e)
{
    if (e->watched)
        epoll_ctl(e->link->relay->epoll, EPOLL_CTL_DEL, e->fd, NULL);
    e->watched = false;
}

/* What has to happen before the link can go on. That one end was closed is told in any case. */
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
    /* What is gone would be told again and again. */
    if (l->net_gone && l->up.len && !l->first)
        unwatch(&l->net);
    else
        watch(&l->net, net);
    if (l->plain_gone)
        unwatch(&l->plain);
    else
        watch(&l->plain, plain);
}

/* ---- Ending ---- */

static void drop(struct link *l)
{
    if (l->stage == STAGE_DEAD)
        return;
    l->relay->lingering -= l->stage == STAGE_LINGER;
    l->stage = STAGE_DEAD;
    list_remove(&l->all);
    list_append(&l->relay->dead, &l->all);
}

static void link_free(struct link *l)
{
    close(l->net.fd);
    if (l->plain.fd >= 0)
        close(l->plain.fd);
    SSL_free(l->ssl);
    buf_fini(&l->up);
    buf_fini(&l->down);
    free(l);
}

/* Whoever has the other end is told at once. */
static void linger(struct link *l)
{
    unwatch(&l->plain);
    close(l->plain.fd);
    l->plain.fd = -1;
    l->plain_gone = l->plain_ended = true;
    l->net_wants_out = false;
    l->up.len = l->down.len = 0;
    shutdown(l->net.fd, SHUT_WR);
    if (l->relay->lingering == LINGER_LINKS) {
        drop(l);
        return;
    }
    l->relay->lingering++;
    l->stage = STAGE_LINGER;
    limit(l, LINGER_MS);
}

/* What OpenSSL had to say to the other side (an alert) was sent already. */
static void fail(struct link *l, const char *why)
{
    struct relay *r = l->relay;

    pthread_mutex_lock(&r->lock);
    r->failures.count++;
    memcpy(r->failures.label, l->label, sizeof(l->label));
    snprintf(r->failures.why, sizeof(r->failures.why), "%s", why);
    pthread_mutex_unlock(&r->lock);
    linger(l);
}

/* A certificate that is not believed says why itself. */
static void fail_ssl(struct link *l)
{
    char why[TLS_WHY];
    bool cert = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED;

    tls_error(why);
    if (cert)
        snprintf(why, sizeof(why), "its certificate is not accepted: %s",
                 X509_verify_cert_error_string(SSL_get_verify_result(l->ssl)));
    fail(l, why);
}

/* ---- From the network ---- */

/* After a call of OpenSSL that did not do what was asked. False: the link is over. */
static bool not_yet(struct link *l, int result)
{
    switch (SSL_get_error(l->ssl, result)) {
    case SSL_ERROR_WANT_READ: return true;
    case SSL_ERROR_WANT_WRITE: l->net_wants_out = true; return true;
    case SSL_ERROR_ZERO_RETURN: l->net_ended = true; return true;
    case SSL_ERROR_SYSCALL:
        if (l->stage == STAGE_HANDSHAKE)
            fail(l, "it ended within the handshake");
        else
            drop(l);
        return false;
    default: fail_ssl(l); return false;
    }
}

/* The other end was closed: what it wrote before is still to be sent. */
static void plain_closed(struct link *l)
{
    if (l->plain_gone)
        return;
    l->plain_gone = true;
    if (l->stage == STAGE_HANDSHAKE)
        drop(l);
    else
        limit(l, atomic_load(&l->relay->close_ms));
}

/* Answers false if nobody takes it any more. */
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

/* True: `up` is empty. */
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

/* Holds the first bytes back until they are enough; they have as long as a handshake. */
static void take_first(struct link *l, const char *data, size_t len)
{
    struct relay *r = l->relay;

    if (l->up.len == 0)
        limit(l, atomic_load(&r->handshake_ms));
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

/* True: something came. */
static bool pull(struct link *l)
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
        fail(l, "out of memory");
    return l->stage == STAGE_OPEN;
}

/* ---- From the plain end ---- */

/* True: something went. */
static bool push(struct link *l)
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
        l->plain_ended = n <= 0; /* also when it was closed with something unread */
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
        fail(l, "out of memory");
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
        fail(l, "it ended within the handshake");
    }
}

/* The end of one direction is passed on when all before it was. */
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
        drop(l);
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
            drop(l);
            return;
        }
    }
}

static void go_on(struct link *l)
{
    bool moved = true;

    if (l->stage == STAGE_LINGER)
        drop_rest(l);
    l->net_wants_out = false;
    if (l->stage == STAGE_HANDSHAKE)
        shake_hands(l);
    for (int i = 0; i < PIECES_TURN && moved && l->stage == STAGE_OPEN; i++) {
        moved = pull(l);
        moved = (l->stage == STAGE_OPEN && push(l)) || moved;
    }
    if (l->stage == STAGE_OPEN)
        pass_ends(l);
    watch_both(l);
}

static void on_event(struct end *e, uint32_t events)
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
        go_on(l);
    if (l->net_gone && l->stage == STAGE_OPEN && l->net_ended && l->up.len == 0)
        drop(l); /* nothing can be sent any more, and all that came was passed on */
}

/* ---- The thread ---- */

static void take_arrived(struct relay *r, bool *ret_stop, int64_t *ret_stop_ms)
{
    struct list arrived, *node, *after;
    uint64_t n;

    list_init(&arrived);
    if (read(r->wake, &n, sizeof(n)) < 0) {
        /* Nobody woke it: there may be something all the same. */
    }
    pthread_mutex_lock(&r->lock);
    list_each_safe (node, after, &r->arrived) {
        list_remove(node);
        list_append(&arrived, node);
    }
    *ret_stop = r->stop;
    *ret_stop_ms = r->stop_ms;
    pthread_mutex_unlock(&r->lock);
    list_each_safe (node, after, &arrived) {
        struct link *l = container_of(node, struct link, all);

        list_remove(node);
        list_append(&r->links, node);
        if (l->stage == STAGE_HANDSHAKE)
            limit(l, atomic_load(&r->handshake_ms));
        go_on(l);
    }
}

static void free_dead(struct relay *r)
{
    struct list *node, *after;

    list_each_safe (node, after, &r->dead) {
        list_remove(node);
        link_free(container_of(node, struct link, all));
    }
}

/* Ends what has taken too long. */
static void sweep(struct relay *r, int64_t now)
{
    struct list *node, *after;

    r->timed = false;
    list_each_safe (node, after, &r->links) {
        struct link *l = container_of(node, struct link, all);

        r->timed = r->timed || l->until_ms;
        if (!l->until_ms || now < l->until_ms)
            continue;
        if (l->stage == STAGE_HANDSHAKE)
            fail(l, "its handshake took too long");
        drop(l);
    }
}

static bool all_sent(const struct relay *r)
{
    struct list *node;

    list_each (node, &r->links)
        if (container_of(node, struct link, all)->stage != STAGE_LINGER)
            return false;
    return true;
}

static void *run(void *arg)
{
    struct relay *r = arg;
    struct epoll_event events[EVENTS_TURN];
    int64_t swept = now_ms(), stop_ms = 0, now;
    bool stop = false;

    while (!stop || (!all_sent(r) && now_ms() < stop_ms)) {
        int n = epoll_wait(r->epoll, events, EVENTS_TURN, r->timed || stop ? SWEEP_MS : -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                on_event(events[i].data.ptr, events[i].events);
            else
                take_arrived(r, &stop, &stop_ms);
        }
        now = now_ms();
        if (now - swept >= SWEEP_MS || n == 0) {
            sweep(r, now);
            swept = now;
        }
        free_dead(r);
    }
    return NULL;
}

/* ---- For the owner ---- */

static void wake_up(struct relay *r)
{
    uint64_t one = 1;

    if (write(r->wake, &one, sizeof(one)) < 0) {
        /* It is awake: the counter is not 0. */
    }
}

/* Signals are the owner's business. */
static int start_thread(struct relay *r)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

int relay_new(const struct relay_options *o, struct relay **ret)
{
    struct relay *r = calloc(1, sizeof(*r));
    struct epoll_event event = { .events = EPOLLIN };

    if (!r)
        return BELFRY_NOMEM;
    r->enough = o->enough;
    relay_set_times(r, o->handshake_ms, o->close_ms);
    list_init(&r->links);
    list_init(&r->dead);
    list_init(&r->arrived);
    pthread_mutex_init(&r->lock, NULL);
    r->scratch = malloc(PIECE_BYTES);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->scratch && r->epoll >= 0 && r->wake >= 0 &&
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->wake, &event) == 0 && start_thread(r) == 0) {
        *ret = r;
        return 0;
    }
    close(r->epoll);
    close(r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->scratch);
    free(r);
    return BELFRY_IO;
}

static void free_all(struct list *links)
{
    struct list *node, *after;

    list_each_safe (node, after, links) {
        list_remove(node);
        link_free(container_of(node, struct link, all));
    }
}

void relay_free(struct relay *r, int time_ms)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    r->stop_ms = now_ms() + time_ms;
    pthread_mutex_unlock(&r->lock);
    wake_up(r);
    pthread_join(r->thread, NULL);
    free_all(&r->links);
    free_all(&r->dead);
    free_all(&r->arrived);
    close(r->epoll);
    close(r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->scratch);
    free(r);
}

void relay_set_times(struct relay *r, int handshake_ms, int close_ms)
{
    atomic_store(&r->handshake_ms, handshake_ms);
    atomic_store(&r->close_ms, close_ms);
}

static struct link *link_new(struct relay *r, SSL *ssl, int net, const char *label)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->relay = r;
    l->ssl = ssl;
    l->net = (struct end){ .link = l, .fd = net };
    l->plain = (struct end){ .link = l, .fd = -1 };
    l->stage = SSL_is_init_finished(ssl) ? STAGE_OPEN : STAGE_HANDSHAKE;
    l->first = r->enough != NULL;
    snprintf(l->label, sizeof(l->label), "%s", label);
    return l;
}

int relay_add(struct relay *r, SSL *ssl, int net, const char *label)
{
    struct link *l = link_new(r, ssl, net, label);
    int pair[2];

    if (!l || (SSL_get_fd(ssl) != net && SSL_set_fd(ssl, net) != 1) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
        free(l);
        SSL_free(ssl);
        close(net);
        return -1;
    }
    l->plain.fd = pair[0];
    pthread_mutex_lock(&r->lock);
    list_append(&r->arrived, &l->all);
    pthread_mutex_unlock(&r->lock);
    wake_up(r);
    return pair[1];
}

bool relay_take_failures(struct relay *r, struct relay_failures *ret)
{
    bool some;

    pthread_mutex_lock(&r->lock);
    some = r->failures.count > 0;
    *ret = r->failures;
    r->failures.count = 0;
    pthread_mutex_unlock(&r->lock);
    return some;
}
