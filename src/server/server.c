/* SPDX-License-Identifier: MIT */
#include "server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/time.h"
#include "front/resp.h"
#include "server/auditlog.h"
#include "server/chores.h"
#include "server/client.h"
#include "server/errand.h"
#include "server/events.h"
#include "server/figures.h"
#include "server/filelimit.h"
#include "server/http/http.h"
#include "server/listen.h"
#include "server/notify.h"
#include "server/push/push.h"
#include "server/threadpool.h"
#include "server/tls.h"
#include "server/tokens.h"

#define MORE_THREADS \
    "allow more threads or address space: ulimit -u, ulimit -v, TasksMax of systemd"
#define SWEEP_MS        500
#define REBUILD_MS      1000
#define REBUILD_SOON_MS 5000
#define DUE_SOON_MS     100
#define SMALL_COMMIT    (64u << 10) /* what the loop may write itself */
#define COMMIT_LEAST    (64 << 10)  /* of records that are gathered before a large one */
#define FED_PART        256 /* the part of memory that the record of a batch mostly stays below */
#define RESERVE_LEAST   2
#define RESERVE_MOST    500

/* ---- Time ---- */

void server_advance(struct server *s)
{
    int64_t wall_ms, mono_ms;

    clocks_read(&s->clocks, &wall_ms, &mono_ms);
    if (s->engine)
        engine_advance(s->engine, wall_ms, mono_ms);
}

/* Sets a timer to an absolute moment; timerfd wakes to the microsecond, where the loop's own timers
 * count in whole milliseconds. The wall one also fires when the clock is set. */
static void arm(int fd, int64_t at_us, int64_t *armed, int flags)
{
    struct itimerspec spec = { 0 };

    if (at_us == *armed)
        return;
    *armed = at_us;
    if (at_us != INT64_MAX) {
        at_us = at_us < 1 ? 1 : at_us;
        spec.it_value.tv_sec = at_us / 1000000;
        spec.it_value.tv_nsec = at_us % 1000000 * 1000;
    }
    timerfd_settime(fd, TFD_TIMER_ABSTIME | flags, &spec, NULL);
}

static void arm_timers(struct server *s)
{
    int64_t wall = INT64_MAX, mono = INT64_MAX;

    if (s->engine)
        engine_next_wake(s->engine, &wall, &mono);
    arm(s->wall_fd, wall == INT64_MAX ? wall : wall * 1000, &s->wall_armed,
        TFD_TIMER_CANCEL_ON_SET);
    arm(s->mono_fd, mono == INT64_MAX ? mono : clocks_mono_us(&s->clocks, mono), &s->mono_armed, 0);
}

static void on_timer(uv_poll_t *handle, int status, int events)
{
    struct server *s = handle->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    if (read(handle == &s->wall_timer ? s->wall_fd : s->mono_fd, &expirations,
             sizeof(expirations)) < 0 &&
        errno == EAGAIN)
        return;
    /* Also after ECANCELED: the wall clock was set. */
    *(handle == &s->wall_timer ? &s->wall_armed : &s->mono_armed) = -1;
    server_advance(s);
}

/* ---- The turn ---- */

static void on_busy(uv_idle_t *handle)
{
    (void)handle;
}

void server_wake(struct server *s)
{
    uv_idle_start(&s->busy, on_busy);
}

bool server_may_execute(const struct server *s)
{
    /* No more than the reserve can take, should the disk be full. */
    uint64_t most = (uint64_t)s->options.segment_size;

    if (most > GATHER_PAUSE)
        most = GATHER_PAUSE;
    return s->partition && partition_gathered_bytes(s->partition) < most;
}

/* Those that could not go on keep their place before those that did and have more. */
static void resume_clients(struct server *s)
{
    struct list mark;

    uv_idle_stop(&s->busy);
    if (s->partition && !partition_crammed(s->partition)) {
        while (!list_empty(&s->held)) {
            struct list *node = s->held.next;

            list_remove(node);
            list_append(&s->resume, node);
        }
    }
    list_append(&s->resume, &mark);
    while (s->resume.next != &mark && server_may_execute(s))

        client_resume(client_of_resume(s->resume.next));
    list_remove(&mark);
}

static void on_committed(void *arg, struct commit *commit, int result);
static void fail(struct server *s, const char *what, int err, const char *detail);

/* Whether the loop may wait for the disk itself: for one client, and nothing is due meanwhile that
 * a slow sync would make late. */
static bool may_wait(const struct server *s)
{
    int64_t wall, mono;

    if (list_empty(&s->holding) || s->holding.next != s->holding.prev)
        return false;
    engine_next_wake(s->engine, &wall, &mono);
    return wall - engine_now(s->engine) > DUE_SOON_MS && committer_is_quick(s->committer);
}

/* `here`: the loop may write it itself. */
static void start_commit(struct server *s, bool here)
{
    bool small = partition_gathered_bytes(s->partition) < SMALL_COMMIT;
    struct commit *commit = engine_torn(s->engine) ? NULL : partition_take(s->partition);

    if (!commit)
        return;
    s->commit_begun_us = time_mono_us();
    if (here && small && commit_is_plain(commit) && may_wait(s)) {
        int err = committer_write_now(s->committer, commit);

        if (err != BELFRY_FULL) {
            on_committed(s, commit, err);
            return;
        }
    }
    committer_write(s->committer, s->partition, commit);
}

/* The log hears of a change. */
static void note_change(struct server *s, bool *noted, bool now, const char *begun,
                        const char *ended)
{
    if (now != *noted)
        log_line(&s->log, LOG_LEVEL_WARN, now ? begun : ended, "data", s->options.data, NULL);
    *noted = now;
}

static void refuse_or_accept(struct server *s)
{
    bool low = atomic_load(&s->store->low) || committer_is_full(s->committer);
    bool overfull = partition_overfull(s->partition);

    engine_refuse_new(s->engine, low || overfull);
    note_change(s, &s->low, low,
                "disk space is at its reserve: new jobs are refused, completions go on",
                "there is room again: new jobs are accepted");
    note_change(s, &s->overfull, overfull,
                "memory is beyond its budget: new jobs are refused, completions go on",
                "memory is within its budget: new jobs are accepted");
}

/* A little of what need not be done at once. */
static void work(struct server *s)
{
    if (!s->stopping && partition_work(s->partition))
        server_wake(s);
    engine_dispatch(s->engine); /* what came back to memory just now */
    push_turn(s);
    start_commit(s, true);
}

static void on_turn(uv_prepare_t *handle)
{
    struct server *s = handle->data;

    resume_clients(s);
    if (s->partition && !s->failed)
        tokens_note(s);
    if (s->partition && !s->failed && engine_torn(s->engine))
        fail(s, "a batch is not whole", BELFRY_NOMEM, "it is as if it had not been asked for");
    if (s->partition && !s->failed && !s->drained) {
        refuse_or_accept(s);
        engine_dispatch(s->engine);
        push_turn(s);
        start_commit(s, true); /* the disk has work while the rest is done */
        if (!s->failed)
            work(s);
    }
    if (s->partition && !s->failed && !s->stopping) {
        chores_start(s);
        start_commit(s, false); /* that a chore waits for */
    }
    if ((!list_empty(&s->resume) && server_may_execute(s)) ||
        (!list_empty(&s->held) && s->partition && !partition_pressed(s->partition)))
        server_wake(s); /* what held them up ended just now */
    arm_timers(s);
}

static void flush_holding(struct server *s)
{
    struct list *node, *after;

    list_each_safe (node, after, &s->holding)
        client_flush(client_of_holding(node));
}

/* ---- The journal ---- */

static void deliver(void *host, void *owner, struct job *const *jobs, size_t n)
{
    (void)host;
    client_deliver(owner, jobs, n);
}

/* A segment takes one more commit when it is just short of its size, and that one record more when
 * it is just short of its own: with room for both it can be written though the disk is full. */
static uint64_t log_bytes(const struct options *o)
{
    int64_t record = 2 * o->max_payload;

    if (record > o->segment_size / 8)
        record = o->segment_size / 8;
    return (uint64_t)(o->segment_size + o->segment_size / 16 + record);
}

/* Where segments are small a commit may be larger than several of them: the spares together have
 * room for the largest. That is a job with the payload that is to replace its own, or the record of
 * a batch that went to disk. */
static unsigned reserve(const struct options *o)
{
    int64_t job = 2 * o->max_payload, fed = o->memory / FED_PART;
    uint64_t largest = (uint64_t)(COMMIT_LEAST + (job > fed ? job : fed));
    uint64_t n = (largest + log_bytes(o) - 1) / log_bytes(o);

    return n < RESERVE_LEAST ? RESERVE_LEAST : n > RESERVE_MOST ? RESERVE_MOST : (unsigned)n;
}

static int open_partition(struct server *s)
{
    struct partition_options o = {
        .segment_bytes = (uint64_t)s->options.segment_size,
        .reserve = reserve(&s->options),
        .durable = s->options.durability == DURABILITY_SYNC,
        .seed = (uint64_t)time_mono_us() * UINT64_C(0x9e3779b97f4a7c15),
        .memory_bytes = (uint64_t)s->options.memory,
        .max_running = (uint64_t)s->options.max_running,
        .slow_start_ms = s->options.slow_start_ms,
        .history_disk_bytes = (uint64_t)s->options.history_size,
        .audit_ms = s->options.audit_retention_ms,
        .deliver = deliver,
        .event = events_take,
        .listen = events_begin(s),
        .endpoint_until = push_endpoint_until,
        .pushes_full = push_tenant_full,
        .host = s,
    };
    struct partition_report r;
    char a[LOG_NUMBER], b[LOG_NUMBER], c[LOG_NUMBER];
    int64_t wall_ms, mono_ms;
    int err;

    clocks_read(&s->clocks, &wall_ms, &mono_ms);
    err = partition_open(s->store, &o, wall_ms, mono_ms, &s->partition, &r);
    if (err) {
        log_line(&s->log, LOG_LEVEL_ERROR, "cannot open the journal", "error", error_text(err),
                 "detail", store_detail(), "next",
                 err == BELFRY_CORRUPT ? "belfry check shows the damage, belfry repair salvages"
                                       : "see the detail",
                 NULL);
        return err;
    }
    s->engine = partition_engine(s->partition);
    s->durable_lsn = 0;
    events_opened(s, r.epoch);
    if (r.torn_bytes)
        log_line(&s->log, LOG_LEVEL_WARN,
                 r.clean ? "bytes behind the last commit of the journal were cut off; nothing is "
                           "lost: the journal ends where it was closed"
                         : "a torn commit at the end of the journal was cut off; it was being "
                           "written when the server ended and was not acknowledged, or it is "
                           "damaged and was",
                 "where", r.where, "bytes", log_number((int64_t)r.torn_bytes, a), NULL);
    log_line(&s->log, LOG_LEVEL_INFO, "journal opened", "epoch", log_number((int64_t)r.epoch, a),
             "segments", log_number(r.segments, b), "commits", log_number((int64_t)r.commits, c),
             "last_stop", r.clean ? "clean" : "unclean", NULL);
    return 0;
}

static void close_all(struct server *s)
{
    while (!list_empty(&s->clients))
        client_close(client_of_all(s->clients.next));
}

/* What was not made durable is gone, and so must be everything that followed from it: the engine is
 * made again from what the store has. Clients see their connection end and do not know the outcome
 * of what was not answered. */
static void on_rebuild(uv_timer_t *timer)
{
    struct server *s = timer->data;
    int err;

    if (!chores_idle(s) || !errands_idle(s)) {
        uv_timer_start(timer, on_rebuild, 10, 0);
        return;
    }
    committer_detach(s->committer);
    s->engine = NULL;
    partition_close(s->partition);
    s->partition = NULL;
    err = open_partition(s);
    if (err == BELFRY_CORRUPT || err == BELFRY_FENCED) {
        uv_stop(&s->loop);
        return;
    }
    if (err) {
        uv_timer_start(timer, on_rebuild, REBUILD_MS, 0);
        return;
    }
    s->failed = false;
    s->opened_ms = time_mono_us() / 1000;
    if (!s->stopping)
        listen_resume(s);
}

/* What is in memory is not what will be stored: it is made again from what is. */
static void fail(struct server *s, const char *what, int err, const char *detail)
{
    log_line(&s->log, LOG_LEVEL_ERROR, what, "error", error_text(err), "detail", detail, "next",
             "nothing more is acknowledged until all was made again from what is stored", NULL);
    s->failed = true;
    listen_pause(s);
    close_all(s);
    push_reset(s);
    /* At once, unless that was done just now: each rebuild reads the whole journal. */
    uv_timer_start(&s->rebuild, on_rebuild,
                   time_mono_us() / 1000 - s->opened_ms < REBUILD_SOON_MS ? REBUILD_MS : 0, 0);
}

static void on_committed(void *arg, struct commit *commit, int result)
{
    struct server *s = arg;

    if (result) {
        fail(s, "the journal could not be written", result, committer_detail(s->committer));
        return;
    }
    hist_add(&s->commit_us, time_mono_us() - s->commit_begun_us);
    partition_settle(s->partition, commit);
    s->durable_lsn = partition_durable_lsn(s->partition);
    start_commit(s, false); /* first, so that the disk has work while replies are sent */
    flush_holding(s);
    events_settled(s);
    push_flush(s);
}

/* ---- Ending ---- */

static bool all_sent(struct server *s)
{
    struct list *node;

    list_each (node, &s->clients)
        if (client_has_output(client_of_all(node)))
            return false;
    return true;
}

static void on_drain(uv_timer_t *timer)
{
    struct server *s = timer->data;
    bool done = !s->failed && s->partition && chores_idle(s) && errands_idle(s) && push_idle(s) &&
                partition_idle(s->partition) && all_sent(s) && events_drain(s);

    if (!done && !s->failed && time_mono_us() / 1000 < s->drain_until_ms)
        return;
    if (!done)
        log_line(&s->log, LOG_LEVEL_WARN,
                 "not everything could be finished within drain_timeout: what was not answered may "
                 "or may not have happened",
                 NULL);
    if (!done)
        push_give_up(s); /* server_fini writes it */
    s->drained = true;
    uv_stop(&s->loop);
}

static void begin_stop(struct server *s)
{
    struct list *node, *after;

    if (s->stopping)
        return;
    log_line(&s->log, LOG_LEVEL_INFO, "stopping: no new requests, finishing what is under way",
             NULL);
    notify_send("STOPPING=1");
    s->stopping = true;
    s->drain_until_ms = time_mono_us() / 1000 + s->options.drain_timeout_ms;
    listen_pause(s);
    list_each_safe (node, after, &s->clients)
        client_drain(client_of_all(node));
    push_drain(s);
    uv_timer_start(&s->drain, on_drain, 0, 5);
}

static void reload(struct server *s)
{
    struct option_error err;
    struct buf ignored = { 0 };

    notify_reloading();
    if (options_reload(&s->options, &ignored, &err) < 0) {
        log_line(&s->log, LOG_LEVEL_ERROR, "reload refused, nothing changed", "error", err.text,
                 NULL);
    } else {
        s->log.level = (enum option_log_level)s->options.log_level;
        s->log.format = (enum option_log_format)s->options.log_format;
        s->host.max_payload = (size_t)s->options.max_payload;
        tls_reload(s);
        events_reload(s);
        buf_append(&ignored, "", 1);
        log_line(&s->log, LOG_LEVEL_INFO, "configuration reloaded", "needs_restart",
                 ignored.ptr ? ignored.ptr : "", NULL);
    }
    buf_fini(&ignored);
    notify_send("READY=1");
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *s = handle->data;

    if (number == SIGHUP)
        reload(s);
    else
        begin_stop(s);
}

static void on_sweep(uv_timer_t *timer)
{
    struct server *s = timer->data;
    int64_t now = time_mono_us() / 1000;
    struct list *node, *after;

    list_each_safe (node, after, &s->clients)
        client_sweep(client_of_all(node), now);
    tls_sweep(s);
    events_sweep(s, now);
}

/* ---- Beginning ---- */

static int init_loop(struct server *s)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

    s->wall_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    s->mono_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    s->wall_armed = s->mono_armed = -1;
    if (s->wall_fd < 0 || s->mono_fd < 0 || uv_loop_init(&s->loop) != 0)
        return BELFRY_IO;
    s->turn.data = s->busy.data = s->wall_timer.data = s->mono_timer.data = s;
    s->sweep.data = s->drain.data = s->rebuild.data = s;
    uv_prepare_init(&s->loop, &s->turn);
    uv_prepare_start(&s->turn, on_turn);
    uv_idle_init(&s->loop, &s->busy);
    uv_poll_init(&s->loop, &s->wall_timer, s->wall_fd);
    uv_poll_init(&s->loop, &s->mono_timer, s->mono_fd);
    uv_poll_start(&s->wall_timer, UV_READABLE, on_timer);
    uv_poll_start(&s->mono_timer, UV_READABLE, on_timer);
    uv_timer_init(&s->loop, &s->sweep);
    uv_timer_init(&s->loop, &s->drain);
    uv_timer_init(&s->loop, &s->rebuild);
    uv_timer_start(&s->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    for (size_t i = 0; i < 3; i++) {
        s->signals[i].data = s;
        uv_signal_init(&s->loop, &s->signals[i]);
        uv_signal_start(&s->signals[i], on_signal, numbers[i]);
    }
    if (committer_new(&s->loop,
                      s->options.durability == DURABILITY_INTERVAL ? s->options.sync_interval_ms
                                                                   : 0,
                      on_committed, s, &s->committer) < 0) {
        log_line(&s->log, LOG_LEVEL_ERROR, "cannot start the log thread", "next", MORE_THREADS,
                 NULL);
        return BELFRY_NOMEM;
    }
    return 0;
}

static int open_store(struct server *s)
{
    struct store_options o = {
        .log_bytes = log_bytes(&s->options),
        .reserve = reserve(&s->options),
        .sync_delay_us = (unsigned)s->options.sync_delay_ms * 1000,
    };
    int err = store_open(s->options.data, &o, &s->store);

    if (err)
        log_line(&s->log, LOG_LEVEL_ERROR, "cannot open the data directory", "data",
                 s->options.data, "error", error_text(err), "detail", store_detail(), NULL);
    return err;
}

static int start_pool(struct server *s)
{
    char number[LOG_NUMBER];
    int err = threadpool_start(&s->loop);

    if (!err)
        return 0;
    log_line(&s->log, LOG_LEVEL_ERROR, "cannot start the pool of threads", "error",
             uv_strerror(err), "threads", log_number((int64_t)threadpool_size(), number), "next",
             MORE_THREADS, NULL);
    return BELFRY_NOMEM;
}

int server_init(struct server *s)
{
    int err;

    list_init(&s->clients);
    list_init(&s->holding);
    list_init(&s->resume);
    list_init(&s->held);
    list_init(&s->errands_waiting);
    s->listen_fd = s->spare_fd = s->wall_fd = s->mono_fd = -1;
    s->started_mono_ms = time_mono_us() / 1000;
    s->host = (struct verb_host){ (size_t)s->options.max_payload, figures_gather, auditlog_line,
                                  tokens_wrong };
    peers_init(&s->peers);
    s->read_buf = malloc(READ_BYTES);
    s->request = calloc(1, sizeof(*s->request));
    if (!s->read_buf || !s->request)
        return BELFRY_NOMEM;
    filelimit_fit(s);
    err = tls_open(s);
    if (!err)
        err = open_store(s);
    if (!err)
        err = init_loop(s);
    if (!err)
        err = events_init(s);
    if (!err)
        err = open_partition(s);
    if (!err)
        err = push_open(s);
    if (!err)
        err = http_open(s);
    if (!err)
        err = start_pool(s);
    if (!err)
        err = listen_open(s);
    if (!err)
        notify_send("READY=1");
    return err;
}

int server_run(struct server *s)
{
    uv_run(&s->loop, UV_RUN_DEFAULT);
    return s->stopping && !s->failed ? 0 : 1;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void server_fini(struct server *s)
{
    close_all(s);
    http_stop(s);
    events_stop(s);
    push_stop(s);
    if (s->committer) {
        committer_detach(s->committer);
        committer_free(s->committer);
        uv_walk(&s->loop, close_handle, NULL);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->loop);
    }
    tls_close(s);
    peers_fini(&s->peers);
    if (s->partition && !s->failed)
        partition_flush(s->partition);
    partition_close(s->partition);
    store_close(s->store);
    listen_close(s);
    if (s->wall_fd >= 0)
        close(s->wall_fd);
    if (s->mono_fd >= 0)
        close(s->mono_fd);
    if (s->request)
        resp_request_fini(s->request);
    free(s->request);
    free(s->read_buf);
    http_free(s);
    events_fini(s);
    push_free(s);
}
