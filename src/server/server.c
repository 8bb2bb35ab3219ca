/* SPDX-License-Identifier: MIT */
#include "server/server.h"

#include "base/time.h"
#include "engine/leased.h"
#include "server/client.h"
#include "server/http/http.h"
#include "server/push/push.h"
#include "server/root_token.h"
#include "server/tls.h"
#include "server/tracer.h"
#include "verbs/overview.h"
#include "verbs/worker.h"

#define SWEEP_MS  500
#define TURN_US   10000 /* the time of requests as they come, in one turn */
#define RESUME_US 5000  /* the time of requests that waited, in one turn */

/* ---- The turn ---- */

/* Lets each waiting client go on once. Clients that had no turn yet go before clients that had one
 * and have more requests. */
static void resume_clients(struct server *s)
{
    struct client *c;
    int64_t until_us;

    if (s->host.partition && !partition_crammed(s->host.partition, STR("")))
        list_splice(&s->resume, &s->no_room[1]);
    if (s->host.partition)
        list_splice(&s->resume, &s->no_room[0]);
    accounts_resume(s);
    accounts_call(s);
    if (list_empty(&s->accounts.turns))
        return;
    until_us = time_mono_us() + RESUME_US;
    while (host_may_execute(&s->host) && (c = accounts_next(s))) {
        c->ops->resume(c);
        if (time_mono_us() >= until_us)
            break;
    }
}

bool server_is_late(struct server *s, int64_t now_us)
{
    if (!s->late_us)
        s->late_us = now_us + TURN_US;
    return now_us >= s->late_us;
}

static bool may_resume(const struct server *s)
{
    const struct host *h = &s->host;

    return ((!list_empty(&s->resume) || !list_empty(&s->accounts.turns)) && host_may_execute(h)) ||
           ((!list_empty(&s->no_room[0]) || !list_empty(&s->no_room[1])) && h->partition &&
            !partition_pressed(h->partition));
}

static void on_turn(uv_prepare_t *handle)
{
    struct server *s = handle->data;

    clients_flush(s);
    s->events.filled_us = 0; /* streams that were put off go before streams that read now */
    if (s->events.behind)
        http_streams_feed(s);
    strangers_shrink(s);
    resume_clients(s);
    if (host_is_up(&s->host))
        clients_check_tokens(s);
    if (s->host.partition)
        partition_beside(s->host.partition, workers_bytes(s->verb_host.workers) +
                                                overviews_bytes(s->verb_host.overviews));
    host_turn(&s->host);
    if (may_resume(s))
        host_wake(&s->host); /* their reason to wait ended just now */
    s->late_us = 0;
    conns_let_go(s);
}

/* ---- Ending ---- */

/* A stop does not wait for strangers: they could delay it by not reading. */
static bool all_sent(struct server *s)
{
    list_each_of (struct client, c, &s->clients, all)
        if (c->ops->has_output(c) && !client_is_stranger(c))
            return false;
    return true;
}

static void on_drain(uv_timer_t *timer)
{
    struct server *s = timer->data;
    bool done =
        host_is_idle(&s->host) && push_idle(s) && all_sent(s) && tracer_drain(s->events.tracer);

    if (!done && !s->host.failed && time_mono_ms() < s->drain_until_ms)
        return;
    if (!done)
        log_warn(&s->log,
                 "not everything could be finished within drain_timeout: what was not answered may "
                 "or may not have happened");
    if (!done)
        push_give_up(s); /* server_fini writes these failures */
    host_rest(&s->host);
    uv_stop(&s->loop);
}

static void begin_stop(struct server *s)
{
    if (s->stopping)
        return;
    log_info(&s->log, "stopping: no new requests, finishing what is under way");
    notify_send("STOPPING=1");
    s->stopping = true;
    verbhost_sweep(s, INT64_MAX);
    host_drain(&s->host);
    s->drain_until_ms = time_mono_ms() + s->options.drain_timeout_ms;
    listen_pause(s);
    list_each_of_safe (struct client, c, &s->clients, all)
        c->ops->drain(c);
    push_drain(s);
    uv_timer_start(&s->drain, on_drain, 0, 5);
}

static void reload_options(struct server *s)
{
    struct option_error err;
    struct buf ignored = { 0 };

    notify_reloading();
    if (options_reload(&s->options, &ignored, &err) < 0) {
        for (char *p = err.text; (p = strchr(p, '\n'));)
            *p = ';';
        log_error(&s->log, "reload refused, nothing changed", "error", err.text);
    } else {
        s->verb_host.max_payload = (size_t)s->options.max_payload;
        tls_reload(s);
        events_reload(s);
        buf_append(&ignored, "", 1);
        log_info(&s->log, "configuration reloaded", "needs_restart",
                 ignored.ptr ? ignored.ptr : "");
    }
    buf_fini(&ignored);
    notify_send("READY=1");
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *s = handle->data;

    if (number == SIGHUP)
        reload_options(s);
    else
        begin_stop(s);
}

#define LEASED_TELL_MS 60000

/* Tells the log which tenant has its share of memory for leased jobs, once a minute at most. */
static void tell_leased(struct server *s, int64_t now_ms)
{
    struct leased_view v;

    if (now_ms < s->tell.leased_ms || !s->host.engine)
        return;
    engine_leased(s->host.engine, &v);
    if (v.full)
        log_warn(&s->log,
                 "leased jobs of all tenants take as much memory as they may: no job is "
                 "given out until a lease ends",
                 "leased_bytes", LOG_INT(v.bytes));
    else if (v.tenant.len > 0 && v.holds != s->tell.leased)
        log_fields(
            &s->log, LOG_LEVEL_WARN,
            v.capped ? "leased jobs of a tenant take its max_leased of memory: it is given no more "
                       "until a lease ends"
                     : "leased jobs of a tenant take its share of memory: it is given no more "
                       "until a lease ends",
            (struct log_field[]){ { "tenant", v.tenant, 0 },
                                  { .name = "leased_bytes", .number = (int64_t)v.tenant_bytes },
                                  { .name = "share_bytes", .number = (int64_t)v.share_bytes } },
            3);
    else
        return;
    s->tell.leased = v.holds;
    s->tell.leased_ms = now_ms + LEASED_TELL_MS;
}

static void on_sweep(uv_timer_t *timer)
{
    struct server *s = timer->data;
    int64_t begun_us = time_mono_us(), now = begun_us / 1000;

    list_each_of_safe (struct client, c, &s->clients, all)
        if (!stranger_sweep(c, now))
            c->ops->sweep(c, now);
    strangers_tell(s);
    accounts_sweep(s, now);
    verbhost_sweep(s, now);
    tls_sweep(s);
    events_sweep(s, now);
    tell_leased(s, now);
    log_sweep(&s->log, now);
    slow_note(s, "a look at all clients", SLOW_OWN, time_mono_us() - begun_us, 0);
}

/* ---- Beginning ---- */

static int init_loop(struct server *s)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

    if (uv_loop_init(&s->loop) != 0)
        return BELFRY_IO;
    s->turn.data = s->sweep.data = s->drain.data = s;
    uv_prepare_init(&s->loop, &s->turn);
    uv_prepare_start(&s->turn, on_turn);
    uv_timer_init(&s->loop, &s->sweep);
    uv_timer_init(&s->loop, &s->drain);
    uv_timer_start(&s->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    for (size_t i = 0; i < 3; i++) {
        s->signals[i].data = s;
        uv_signal_init(&s->loop, &s->signals[i]);
        uv_signal_start(&s->signals[i], on_signal, numbers[i]);
    }
    return hosting_start(s);
}

int server_init(struct server *s)
{
    static int (*const steps[])(struct server *) = {
        tls_open,        hosting_store, init_loop, events_init,  hosting_open,
        root_token_make, push_open,     http_open, hosting_pool, listen_open,
    };

    lists_init(&s->clients, &s->settled, &s->resume, &s->no_room[0], &s->no_room[1],
               &s->going.conns);
    s->listen_fd = s->spare_fd = -1;
    s->started_mono_ms = time_mono_ms();
    bool drawn = hash_key_draw(&s->hash_key);
    verbhost_init(s);
    s->guard.key = s->hash_key;
    rations_init(&s->rations, &s->options.audit.rate, &s->options.audit.burst, s->hash_key);
    peers_init(&s->peers, s->hash_key);
    strangers_init(&s->strangers);
    accounts_init(&s->accounts, s->hash_key);
    if (!drawn) {
        log_error(&s->log, "the system has no random bytes");
        return BELFRY_IO;
    }
    listen_fit(s);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int err = steps[i](s);

        if (err)
            return err;
    }
    notify_send("READY=1");
    return 0;
}

int server_run(struct server *s)
{
    uv_run(&s->loop, UV_RUN_DEFAULT);
    return s->stopping && !s->host.failed ? 0 : 1;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void server_fini(struct server *s)
{
    clients_close(s);
    http_stop(s);
    events_stop(s);
    push_free(s);
    if (s->host.loop) {
        host_stop(&s->host);
        uv_walk(&s->loop, close_handle, NULL);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->loop);
    }
    tls_close(s);
    peers_fini(&s->peers);
    accounts_fini(&s->accounts);
    rations_fini(&s->rations);
    overviews_free(s->verb_host.overviews);
    workers_free(s->verb_host.workers);
    host_fini(&s->host);
    store_close(s->store);
    listen_close(s);
    resp_request_fini(&s->request);
    event_ring_close(&s->events.ring);
    event_texts_fini(&s->events.texts);
}
