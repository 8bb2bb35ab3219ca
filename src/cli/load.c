/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"

#define PATIENCE_US 20000000 /* without any reply */

struct command {
    int64_t sent_us;
    uint64_t number;
};

/* One connection: its bytes in both directions, and the replies to come. */
struct conn {
    struct client client;
    bool blocked;      /* the socket took no more; epoll tells when it does */
    unsigned greeting; /* replies to the greeting that are still to come */

    struct command *commands; /* load_stream(): a ring of the commands under way */
    unsigned under_way, oldest;

    unsigned finishing, taking; /* load_rounds(): replies to come, in this order */
    unsigned jobs;              /* jobs that are being finished */
    unsigned taken;             /* jobs that were taken in this batch */
    struct buf next;            /* commands that finish these jobs */
    unsigned next_replies;
    int64_t round_us;
};

struct load {
    const struct load_options *o;
    struct load_result *ret;
    struct conn *conns;
    int epoll;
    uint64_t count, made, done, taken;
    int64_t now_us, heard_us, last_us;
    load_make_fn *make;
    load_took_fn *took;
    void *arg;
    struct driver_watch *watch;
    int64_t idle_us; /* rounds end at this moment if no job comes */
    struct load_part part;
};

/* Handles one reply; false ends the load with why. */
typedef bool reply_fn(struct load *l, struct conn *c, struct str reply);

static volatile sig_atomic_t interrupted; /* a global, since a signal handler sets it */

void load_interrupt(void)
{
    interrupted = 1;
}

bool load_interrupted(void)
{
    return interrupted;
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ---- Connections ---- */

static int open_conn(struct load *l, struct conn *c)
{
    const struct driver *d = l->o->target->driver;
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
    int err = client_open(&c->client, l->o->host, l->o->port, CLIENT_CONNECT_MS);

    if (err < 0)
        return cli_fail(l->ret->why, err, "%s", c->client.why);
    c->commands = calloc(l->o->in_flight, sizeof(*c->commands));
    if (!c->commands)
        return cli_fail(l->ret->why, BELFRY_NOMEM, "%s", error_text(BELFRY_NOMEM));
    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->client.fd, &e);
    c->greeting = d->greet ? d->greet(l->o->target, &c->client.out) : 0;
    return 0;
}

static int open_all(struct load *l)
{
    int err = 0;

    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->conns = calloc(l->o->connections, sizeof(*l->conns));
    if (l->epoll < 0 || !l->conns)
        return cli_fail(l->ret->why, BELFRY_NOMEM, "%s", error_text(BELFRY_NOMEM));
    for (unsigned i = 0; i < l->o->connections; i++)
        l->conns[i].client.fd = -1;
    for (unsigned i = 0; err == 0 && i < l->o->connections; i++)
        err = open_conn(l, &l->conns[i]);
    return err;
}

static void close_all(struct load *l)
{
    for (unsigned i = 0; l->conns && i < l->o->connections; i++) {
        client_close(&l->conns[i].client);
        buf_fini(&l->conns[i].next);
        free(l->conns[i].commands);
    }
    free(l->conns);
    if (l->epoll >= 0)
        close(l->epoll);
}

static int send_some(struct load *l, struct conn *c)
{
    int err = client_push(&c->client);
    bool blocked = c->client.out.len > 0;

    if (err < 0)
        return cli_fail(l->ret->why, err, "%s", c->client.why);
    if (blocked != c->blocked) {
        struct epoll_event e = { .events = blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c };
        epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->client.fd, &e);
        c->blocked = blocked;
    }
    return 0;
}

/* Gives every whole reply that is here to fn. */
static int take_replies(struct load *l, struct conn *c, reply_fn *fn)
{
    for (;;) {
        struct client *from = &c->client;
        struct str rest = { from->in.ptr + from->start, from->in.len - from->start };
        ssize_t n = l->o->target->driver->scan(rest);
        if (n == 0)
            return 0;
        if (n < 0) {
            const char *end = memchr(rest.ptr, '\r', rest.len);
            return cli_fail(l->ret->why, BELFRY_INVALID, "the server answered %.*s",
                            (int)(end ? end - rest.ptr : 0), rest.ptr);
        }
        from->start += (size_t)n;
        l->heard_us = l->now_us;
        if (c->greeting > 0)
            c->greeting--;
        else if (!fn(l, c, (struct str){ rest.ptr, (size_t)n }))
            return BELFRY_PROTOCOL;
    }
}

/* ---- Parts ---- */

void load_end_part(const struct load_options *o, struct load_part *p, uint64_t done, int64_t now_us,
                   struct load_result *whole)
{
    hist_merge(&whole->latency, &p->sum.latency);
    p->sum.seconds = (double)(now_us - p->begun_us) / 1e6;
    if (o->part && p->sum.jobs > 0)
        o->part(o->part_arg, done, &p->sum);
    *p = (struct load_part){ .begun_us = now_us };
}

static void count_done(struct load *l, unsigned jobs)
{
    l->done += jobs;
    l->part.sum.jobs += jobs;
    l->last_us = l->now_us;
    if (l->o->every && l->part.sum.jobs >= l->o->every)
        load_end_part(l->o, &l->part, l->done, l->now_us, l->ret);
}

/* ---- A stream of commands ---- */

/* Fills the window again once a quarter of it is free, so that writes come in batches. */
static void refill(struct load *l, struct conn *c)
{
    unsigned window = l->o->in_flight, room = window - c->under_way;

    if (room == 0 || (room < window / 4 && l->count - l->made > room))
        return;
    for (; room > 0 && l->made < l->count; room--) {
        struct command *next = &c->commands[(c->oldest + c->under_way++) % window];
        *next = (struct command){ l->now_us, l->made };
        l->make(l->arg, &c->client.out, l->made++);
    }
}

static bool stream_reply(struct load *l, struct conn *c, struct str reply)
{
    if (c->under_way == 0)
        return cli_fail(l->ret->why, false, "a reply that nobody asked for");
    struct command command = c->commands[c->oldest];
    c->oldest = (c->oldest + 1) % l->o->in_flight;
    c->under_way--;
    hist_add(&l->part.sum.latency, l->now_us - command.sent_us);
    if (l->took)
        l->took(l->arg, command.number, reply);
    count_done(l, 1);
    return true;
}

/* ---- Rounds: finish the last batch, take the next ---- */

static void next_round(struct load *l, struct conn *c)
{
    const struct driver *d = l->o->target->driver;

    if (l->taken >= l->count && c->taken == 0)
        return; /* nothing is left */
    buf_str(&c->client.out, buf_view(&c->next));
    c->next.len = 0;
    c->finishing = c->next_replies;
    c->jobs = c->taken;
    c->next_replies = c->taken = 0;
    c->taking = d->take(l->o->target, &c->client.out, l->o->batch);
    c->round_us = l->now_us;
}

static bool round_reply(struct load *l, struct conn *c, struct str reply)
{
    const struct driver *d = l->o->target->driver;

    if (c->finishing > 0) {
        if (--c->finishing == 0) {
            count_done(l, c->jobs);
            c->jobs = 0;
        }
        return true;
    }
    if (c->taking == 0)
        return cli_fail(l->ret->why, false, "a reply that nobody asked for");
    if (l->watch)
        l->watch->conn = (unsigned)(c - l->conns);
    unsigned n = d->finish(l->o->target, reply, &c->next, &c->next_replies, l->watch);
    c->taken += n;
    l->taken += n;
    if (--c->taking == 0) {
        if (c->taken > 0)
            hist_add(&l->part.sum.latency, l->now_us - c->round_us);
        next_round(l, c);
    }
    return true;
}

/* ---- The loop ---- */

static int serve(struct load *l, struct conn *c, uint32_t events, bool stream)
{
    int err = 0;

    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        err = client_pull(&c->client);
    if (err < 0)
        return cli_fail(l->ret->why, err, "%s", c->client.why);
    err = take_replies(l, c, stream ? stream_reply : round_reply);
    if (err == 0 && stream)
        refill(l, c);
    return err < 0 ? err : send_some(l, c);
}

/* Whether no job has come to rounds for so long that none will. */
static bool starved(const struct load *l)
{
    return l->now_us > l->idle_us && l->now_us - l->last_us > LOAD_IDLE_MS * INT64_C(1000);
}

static int loop(struct load *l, struct progress *p, bool stream)
{
    struct epoll_event events[64];
    int err = 0;

    while (err == 0 && l->done < l->count && (stream || !starved(l))) {
        int n = epoll_wait(l->epoll, events, 64, 200);
        if (interrupted && stream && l->o->stoppable)
            l->count = l->made;
        l->now_us = time_mono_us();
        for (int i = 0; err == 0 && i < n; i++)
            err = serve(l, events[i].data.ptr, events[i].events, stream);
        progress_show(p, l->done);
        if (err == 0 && l->now_us - l->heard_us > PATIENCE_US)
            err = cli_fail(l->ret->why, BELFRY_IO, "no answer for 20 s");
    }
    return err;
}

static int run(struct load *l, const char *name, bool stream)
{
    struct progress p;
    double cpu = cpu_seconds();
    int64_t begun;
    int err = open_all(l);

    begun = l->now_us = l->heard_us = l->last_us = l->part.begun_us = time_mono_us();
    progress_begin(&p, name, l->count, l->o->quiet);
    for (unsigned i = 0; err == 0 && i < l->o->connections; i++) {
        if (stream)
            refill(l, &l->conns[i]);
        else
            next_round(l, &l->conns[i]);
        err = send_some(l, &l->conns[i]);
    }
    if (err == 0)
        err = loop(l, &p, stream);
    progress_end(&p);
    load_end_part(l->o, &l->part, l->done, l->now_us, l->ret);
    l->ret->jobs = l->done;
    l->ret->seconds = (double)(l->last_us - begun) / 1e6;
    l->ret->cpu_seconds = cpu_seconds() - cpu;
    close_all(l);
    return err;
}

int load_stream(const struct load_options *o, const char *name, uint64_t count, load_make_fn *make,
                load_took_fn *took, void *arg, struct load_result *ret)
{
    struct load l = { .o = o, .ret = ret, .count = count, .make = make, .took = took, .arg = arg };

    *ret = (struct load_result){ 0 };
    return run(&l, name, true);
}

int load_rounds(const struct load_options *o, const char *name, uint64_t count, int64_t until_ms,
                struct driver_watch *w, struct load_result *ret)
{
    struct load l = { .o = o, .ret = ret, .count = count, .watch = w };

    l.idle_us = time_mono_us() + (until_ms - time_wall_ms() + LOAD_IDLE_MS) * 1000;
    *ret = (struct load_result){ 0 };
    return run(&l, name, false);
}
