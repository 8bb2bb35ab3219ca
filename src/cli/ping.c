/* SPDX-License-Identifier: MIT */
#include "cli/ping.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "cli/client.h"

#define RING        8192 /* pings under way: more than a minute of them at 5 ms, and one too many */
#define PATIENCE_US 60000000

struct ping {
    const struct load_options *o;
    struct ping_result *ret;
    struct client client;
    int timer;
    int64_t every_us, begun_us, now_us;
    uint64_t count, ticks, sent, done;
    int64_t sent_us[RING];
    struct load_part part;
};

/* Sends no PING for moments that this process slept through: the server did not cause those. */
static void take_tick(struct ping *p)
{
    uint64_t times;

    if (read(p->timer, &times, sizeof(times)) != sizeof(times))
        return;
    p->ticks += times;
    hist_add(&p->ret->timer, p->now_us - p->begun_us - (int64_t)p->ticks * p->every_us);
    if (p->sent == p->count || p->sent - p->done == RING)
        return;
    client_put(&p->client.out, CLIENT_WORDS(STR("PING")));
    p->sent_us[p->sent++ % RING] = p->now_us;
}

static int take_replies(struct ping *p)
{
    const struct resp_values *v;
    int n = client_pull(&p->client);

    while (n > 0 && (n = client_next(&p->client, &v)) > 0) {
        if (v->at[0].type == RESP_ERROR || p->done == p->sent)
            return cli_fail(p->ret->load.why, BELFRY_PROTOCOL,
                            "PING was answered by something else");
        hist_add(&p->part.sum.latency, p->now_us - p->sent_us[p->done++ % RING]);
        p->part.sum.jobs++;
        if (p->o->every && p->part.sum.jobs == p->o->every)
            load_end_part(p->o, &p->part, p->done, p->now_us, &p->ret->load);
    }
    return n < 0 ? cli_fail(p->ret->load.why, n, "%s", p->client.why) : 0;
}

static int watch(struct ping *p)
{
    struct pollfd polls[] = { { .fd = p->timer, .events = POLLIN },
                              { .fd = p->client.fd, .events = POLLIN } };
    int err = 0;

    while (err == 0 && p->done < p->count) {
        poll(polls, 2, 200);
        p->now_us = time_mono_us();
        if (load_interrupted())
            p->count = p->sent;
        if (polls[1].revents)
            err = take_replies(p);
        if (err == 0 && polls[0].revents)
            take_tick(p);
        if (err == 0 && client_push(&p->client) < 0)
            err = cli_fail(p->ret->load.why, BELFRY_IO, "%s", p->client.why);
        if (err == 0 && p->sent > p->done && p->now_us - p->sent_us[p->done % RING] > PATIENCE_US)
            err = cli_fail(p->ret->load.why, BELFRY_IO, "no answer for a minute");
    }
    return err;
}

static void set_timer(struct ping *p)
{
    int64_t first = p->begun_us + p->every_us;
    struct itimerspec when = {
        .it_value = { first / 1000000, first % 1000000 * 1000 },
        .it_interval = { p->every_us / 1000000, p->every_us % 1000000 * 1000 },
    };

    timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int ping_measure(const struct load_options *o, uint64_t count, int64_t every_ms,
                 struct ping_result *ret)
{
    struct ping p = { .o = o, .ret = ret, .count = count, .every_us = every_ms * 1000 };
    int err;

    *ret = (struct ping_result){ 0 };
    err = client_open_belfry(&p.client, o->host, o->port, CLIENT_CONNECT_MS);
    if (err < 0)
        return cli_fail(ret->load.why, err, "%s", p.client.why);
    p.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    p.begun_us = p.now_us = p.part.begun_us = time_mono_us();
    set_timer(&p);
    err = watch(&p);
    load_end_part(o, &p.part, p.done, p.now_us, &ret->load);
    ret->load.jobs = p.done;
    ret->load.seconds = (double)(p.now_us - p.begun_us) / 1e6;
    close(p.timer);
    client_close(&p.client);
    return err;
}
