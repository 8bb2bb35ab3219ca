/* SPDX-License-Identifier: MIT */
#include "tls/relay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "tls/link.h"

#define EVENTS_TURN 256
#define SWEEP_MS    250

/* ---- The thread ---- */

static void take_arrived(struct relay *r, bool *ret_stop, int64_t *ret_stop_ms)
{
    struct list arrived;
    uint64_t n;

    list_init(&arrived);
    if (read(r->wake, &n, sizeof(n)) < 0) {
        /* No caller woke the thread, but there may still be new connections. */
    }
    pthread_mutex_lock(&r->lock);
    list_splice(&arrived, &r->arrived);
    *ret_stop = r->stop;
    *ret_stop_ms = r->stop_ms;
    pthread_mutex_unlock(&r->lock);
    list_each_of_safe (struct link, l, &arrived, all) {
        list_move(&r->links, &l->all);
        if (l->stage == STAGE_HANDSHAKE)
            link_limit(l, atomic_load(&r->handshake_ms));
        link_go_on(l);
    }
}

static void free_links(struct list *links)
{
    while (!list_empty(links)) {
        struct list *node = links->next;

        list_remove(node);
        link_free(container_of(node, struct link, all));
    }
}

/* Ends links that have taken too long. */
static void sweep(struct relay *r, int64_t now)
{
    r->timed = false;
    list_each_of_safe (struct link, l, &r->links, all) {
        r->timed = r->timed || l->until_ms;
        if (!l->until_ms || now < l->until_ms)
            continue;
        if (l->stage == STAGE_HANDSHAKE)
            link_fail(l, "its handshake took too long");
        link_drop(l);
    }
}

static bool all_sent(const struct relay *r)
{
    list_each_of (struct link, l, &r->links, all)
        if (l->stage != STAGE_LINGER)
            return false;
    return true;
}

static void *run(void *arg)
{
    struct relay *r = arg;
    struct epoll_event events[EVENTS_TURN];
    int64_t swept = time_mono_ms(), stop_ms = 0, now;
    bool stop = false;

    while (!stop || (!all_sent(r) && time_mono_ms() < stop_ms)) {
        int n = epoll_wait(r->epoll, events, EVENTS_TURN, r->timed || stop ? SWEEP_MS : -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                link_on_event(events[i].data.ptr, events[i].events);
            else
                take_arrived(r, &stop, &stop_ms);
        }
        now = time_mono_ms();
        if (now - swept >= SWEEP_MS || n == 0) {
            sweep(r, now);
            swept = now;
        }
        free_links(&r->dead);
    }
    return NULL;
}

/* ---- For the owner ---- */

static void wake_up(struct relay *r)
{
    uint64_t one = 1;

    if (write(r->wake, &one, sizeof(one)) < 0) {
        /* The thread is awake: the counter is not 0. */
    }
}

/* Blocks all signals in the thread: they are for the owner's. */
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

/* Frees everything but links. */
static void relay_destroy(struct relay *r)
{
    close(r->epoll);
    close(r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->scratch);
    free(r);
}

int relay_new(const struct relay_options *o, struct relay **ret)
{
    struct relay *r = calloc(1, sizeof(*r));
    struct epoll_event event = { .events = EPOLLIN };

    if (!r)
        return BELFRY_NOMEM;
    r->enough = o->enough;
    r->gone = o->gone;
    relay_set_times(r, o->handshake_ms, o->close_ms);
    lists_init(&r->links, &r->dead, &r->arrived);
    pthread_mutex_init(&r->lock, NULL);
    r->scratch = malloc(PIECE_BYTES);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->scratch && r->epoll >= 0 && r->wake >= 0 &&
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->wake, &event) == 0 && start_thread(r) == 0) {
        *ret = r;
        return 0;
    }
    relay_destroy(r);
    return BELFRY_IO;
}

void relay_free(struct relay *r, int time_ms)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    r->stop_ms = time_mono_ms() + time_ms;
    pthread_mutex_unlock(&r->lock);
    wake_up(r);
    pthread_join(r->thread, NULL);
    free_links(&r->links);
    free_links(&r->dead);
    free_links(&r->arrived);
    relay_destroy(r);
}

void relay_set_times(struct relay *r, int handshake_ms, int close_ms)
{
    atomic_store(&r->handshake_ms, handshake_ms);
    atomic_store(&r->close_ms, close_ms);
}

static struct link *link_new(struct relay *r, SSL *ssl, int net, const char *label, void *ticket)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->relay = r;
    l->ssl = ssl;
    l->ticket = ticket;
    l->net = (struct end){ .link = l, .fd = net };
    l->plain = (struct end){ .link = l, .fd = -1 };
    l->stage = SSL_is_init_finished(ssl) ? STAGE_OPEN : STAGE_HANDSHAKE;
    l->first = r->enough != NULL;
    snprintf(l->label, sizeof(l->label), "%s", label);
    return l;
}

int relay_add(struct relay *r, SSL *ssl, int net, const char *label, void *ticket)
{
    struct link *l = link_new(r, ssl, net, label, ticket);
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
