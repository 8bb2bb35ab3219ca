/* SPDX-License-Identifier: MIT */
#include "cli/late.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"

#define HEAD_START_MS 1000 /* least time to schedule the jobs before the first is due */
#define HEAD_SHARE    20   /* the head start is at least this part of the span */
#define COUNT         "10" /* jobs taken at a time */
#define PATIENCE_MS   20000

struct late {
    struct client leases;   /* one LEASE is always parked here */
    struct client finishes; /* apart, so that commits don't delay the answer to LEASE */
    struct str queue;
    int timer;
    uint64_t jobs, ticks; /* all jobs; moments of the timer that have passed */
    int64_t start_ms;     /* of the first job */
    int64_t span_ms;      /* from the first due time to the last */
    struct late_result *ret;
};

static int64_t due_ms(const struct late *l, uint64_t i)
{
    return l->start_ms + (int64_t)(i * (uint64_t)l->span_ms / l->jobs);
}

/* The timer's moments lie between the jobs', so that the two don't wait for each other. */
static int64_t tick_us(const struct late *l, uint64_t i)
{
    return due_ms(l, i) * 1000 + 500 * l->span_ms / (int64_t)l->jobs;
}

static void set_timer(struct late *l)
{
    struct itimerspec when = { 0 };

    if (l->ticks < l->jobs) {
        int64_t at = tick_us(l, l->ticks);
        when.it_value = (struct timespec){ at / 1000000, at % 1000000 * 1000 };
    }
    timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int schedule(struct late *l)
{
    const struct resp_values *v;
    int64_t head_ms = l->span_ms / HEAD_SHARE;
    int err;

    l->start_ms = time_wall_ms() + (head_ms > HEAD_START_MS ? head_ms : HEAD_START_MS);
    for (uint64_t i = 0; i < l->jobs; i++) {
        char at[24];
        snprintf(at, sizeof(at), "%" PRId64, due_ms(l, i));
        client_put(&l->finishes.out, CLIENT_WORDS(STR("SCHEDULE"), l->queue, STR("x"), STR("AT"),
                                                  str_of(at), STR("RETAIN"), STR("0")));
    }
    err = client_flush(&l->finishes);
    for (uint64_t i = 0; err == 0 && i < l->jobs; i++) {
        err = client_read(&l->finishes, &v);
        if (err == 0 && v->at[0].type == RESP_ERROR)
            return cli_fail(l->ret->why, BELFRY_INVALID, "%.*s", STR_ARG(v->at[0].text));
    }
    return err < 0 ? cli_fail(l->ret->why, err, "%s", l->finishes.why) : 0;
}

static void lease(struct late *l)
{
    client_put(&l->leases.out, CLIENT_WORDS(STR("LEASE"), l->queue, STR("COUNT"), STR(COUNT),
                                            STR("WAIT"), STR("30s")));
}

static void take_job(struct late *l, const struct resp_values *v, size_t at, int64_t now_us)
{
    const struct resp_value *id = client_field(v, at, "id"), *due = client_field(v, at, "due_ms");
    const struct resp_value *token = client_field(v, at, "token");
    int64_t late;

    if (!id || !token || !due)
        return;
    client_put(&l->finishes.out, CLIENT_WORDS(STR("COMPLETE"), id->text, token->text));
    late = now_us - due->number * 1000;
    l->ret->early += late < 0;
    if (l->ret->jobs == 0 || late < l->ret->earliest_us)
        l->ret->earliest_us = late;
    l->ret->jobs++;
    hist_add(&l->ret->late, late);
}

static int take_leases(struct late *l, int64_t now_us)
{
    const struct resp_values *v;
    int n = client_pull(&l->leases);

    while (n > 0 && (n = client_next(&l->leases, &v)) > 0) {
        if (v->at[0].type != RESP_ARRAY)
            return cli_fail(l->ret->why, BELFRY_PROTOCOL,
                            "LEASE answered something else than jobs");
        for (size_t job = 1; job < v->at[0].next; job = v->at[job].next)
            take_job(l, v, job, now_us);
        lease(l);
    }
    return n < 0 ? cli_fail(l->ret->why, n, "%s", l->leases.why) : 0;
}

static void take_tick(struct late *l, int64_t now_us)
{
    uint64_t times;

    if (read(l->timer, &times, sizeof(times)) != sizeof(times))
        return;
    while (l->ticks < l->jobs && tick_us(l, l->ticks) <= now_us)
        hist_add(&l->ret->timer, now_us - tick_us(l, l->ticks++));
    set_timer(l);
}

static int take_finishes(struct late *l)
{
    const struct resp_values *v;
    int n = client_pull(&l->finishes);

    while (n > 0)
        n = client_next(&l->finishes, &v);
    return n < 0 ? cli_fail(l->ret->why, n, "%s", l->finishes.why) : 0;
}

static int watch(struct late *l, struct progress *p)
{
    int64_t end_us = (l->start_ms + l->span_ms + PATIENCE_MS) * 1000, now_us = 0;
    int err = 0;

    lease(l);
    set_timer(l);
    while (err == 0 && l->ret->jobs < l->jobs) {
        struct pollfd polls[] = { { .fd = l->timer, .events = POLLIN },
                                  { .fd = l->leases.fd, .events = POLLIN },
                                  { .fd = l->finishes.fd, .events = POLLIN } };
        if (client_push(&l->leases) < 0 || client_push(&l->finishes) < 0)
            return cli_fail(l->ret->why, BELFRY_IO, "the connection failed");
        poll(polls, 3, 200);
        now_us = time_wall_us();
        if (polls[0].revents)
            take_tick(l, now_us);
        if (polls[1].revents)
            err = take_leases(l, now_us);
        if (err == 0 && polls[2].revents)
            err = take_finishes(l);
        progress_show(p, l->ret->jobs);
        if (err == 0 && now_us > end_us)
            err = cli_fail(l->ret->why, BELFRY_IO, "not all jobs came");
    }
    return err;
}

/* The last COMPLETEs are on their way; they must be carried out before the connection ends. */
static void settle(struct late *l)
{
    const struct resp_values *v;

    client_put(&l->finishes.out, CLIENT_WORDS(STR("PING")));
    if (client_flush(&l->finishes) < 0)
        return;
    while (client_read(&l->finishes, &v) == 0)
        if (v->at[0].type == RESP_ERROR || str_ieq(v->at[0].text, "PONG"))
            return;
}

int late_measure(const struct load_options *o, uint64_t jobs, int64_t span_ms,
                 struct late_result *ret)
{
    struct late l = { .leases.fd = -1, .finishes.fd = -1, .jobs = jobs, .span_ms = span_ms };
    struct progress p;
    int err;

    *ret = (struct late_result){ 0 };
    l.ret = ret;
    l.queue = str_of(o->target->queue);
    l.timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    err = client_open_belfry(&l.finishes, o->host, o->port, CLIENT_CONNECT_MS);
    if (err == 0)
        err = client_open_belfry(&l.leases, o->host, o->port, CLIENT_CONNECT_MS);
    if (err < 0)
        err = cli_fail(ret->why, err, "%s", l.finishes.fd < 0 ? l.finishes.why : l.leases.why);
    progress_begin(&p, "late", jobs, o->quiet);
    if (err == 0)
        err = schedule(&l);
    if (err == 0)
        err = watch(&l, &p);
    if (err == 0)
        settle(&l);
    progress_end(&p);
    client_close(&l.leases);
    client_close(&l.finishes);
    close(l.timer);
    return err;
}
