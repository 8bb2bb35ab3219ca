/* SPDX-License-Identifier: MIT */
/*
 * The server as the user of a host. It opens store and partition by the options, and passes the
 * calls of the host on to clients, pushes, events and the log.
 */
#include <sys/stat.h>

#include "base/time.h"
#include "host/threadpool.h"
#include "server/client.h"
#include "server/events.h"
#include "server/push/push.h"

#define MORE_THREADS \
    "allow more threads or address space: ulimit -u, ulimit -v, TasksMax of systemd"
#define COMMIT_LEAST  (64 << 10) /* bytes of records that the host gathers before a large record */
#define FED_PART      256        /* The record of a batch mostly stays below this part. */
#define RESERVE_LEAST 2
#define RESERVE_MOST  500
#define TELL_MS       1000

/* ---- The store ---- */

/* A segment just short of its size takes one more commit. A commit just short of its size takes one
 * more record. With room for both, the commit can be written though the disk is full. */
static uint64_t log_bytes(const struct options *o)
{
    int64_t record = 2 * o->max_payload;

    if (record > o->segment_size / 8)
        record = o->segment_size / 8;
    return (uint64_t)(o->segment_size + o->segment_size / 16 + record);
}

/* A commit may be larger than several small segments: the spares together have room for the
 * largest. The largest is a job together with the payload that will replace its own, or the record
 * of a batch that went to disk. */
static unsigned reserve(const struct options *o)
{
    int64_t job = 2 * o->max_payload, fed = o->memory / FED_PART;
    uint64_t largest = (uint64_t)(COMMIT_LEAST + (job > fed ? job : fed));
    uint64_t n = (largest + log_bytes(o) - 1) / log_bytes(o);

    return n < RESERVE_LEAST ? RESERVE_LEAST : n > RESERVE_MOST ? RESERVE_MOST : (unsigned)n;
}

/* Warns of a data directory that every user may change. The server starts nevertheless, because
 * volumes of containers are often so open. */
static void tell_open_directory(struct server *s)
{
    struct stat st;

    if (stat(s->options.data, &st) == 0 && st.st_mode & S_IWOTH)
        log_warn(&s->log, "every user of this machine may change the data directory", "data",
                 s->options.data, "next", "chmod o-w, better chmod 700");
}

void hosting_store_options(const struct options *o, struct store_options *ret)
{
    *ret = (struct store_options){
        .log_bytes = log_bytes(o),
        .reserve = reserve(o),
        .sync_delay_us = (unsigned)o->sync_delay_ms * 1000,
    };
}

int hosting_store(struct server *s)
{
    struct store_options o;
    int err;

    hosting_store_options(&s->options, &o);
    err = store_open(s->options.data, &o, &s->store);

    if (err)
        log_error(&s->log, "cannot open the data directory", "data", s->options.data, "error",
                  error_text(err), "detail", store_detail());
    else
        tell_open_directory(s);
    return err;
}

/* ---- Opening ---- */

void hosting_partition_options(const struct options *o, struct partition_options *ret)
{
    ret->segment_bytes = (uint64_t)o->segment_size;
    ret->reserve = reserve(o);
    ret->durable = o->durability == DURABILITY_SYNC;
    ret->memory_bytes = (uint64_t)o->memory;
    ret->max_running = (uint64_t)o->max_running;
    ret->tenant_bytes = (uint64_t)o->tenant_bytes;
    ret->slow_start_ms = o->slow_start_ms;
    ret->history_disk_bytes = (uint64_t)o->history.size;
    ret->min_every_ms = o->min_every_ms;
    ret->audit_ms = o->audit.retention_ms;
    ret->audit_max = (uint64_t)o->audit.max;
    ret->attempts_kept = (uint32_t)o->history.attempts_kept;
}

static void configure(void *user, struct partition_options *o)
{
    struct server *s = user;

    hosting_partition_options(&s->options, o);
    o->event = events_take;
    o->listen = events_begin(s);
    o->host = s;
}

static void tell_opened(struct server *s, const struct partition_report *r)
{
    if (r->torn_bytes)
        log_warn(&s->log,
                 r->clean ? "bytes behind the last commit of the journal were cut off; nothing is "
                            "lost: the journal ends where it was closed"
                          : "a torn commit at the end of the journal was cut off; it was being "
                            "written when the server ended and was not acknowledged, or it is "
                            "damaged and was",
                 "where", r->where, "bytes", LOG_INT(r->torn_bytes));
    if (r->unkeyed)
        log_warn(&s->log,
                 "the data directory has no secret for the names in it, because an older version "
                 "made it and jobs with ordering keys are set aside on disk: a client can choose "
                 "keys that hide the keys of others",
                 "next", "start the server again when these jobs have run");
    log_info(&s->log, "journal opened", "epoch", LOG_INT(r->epoch), "segments",
             LOG_INT(r->segments), "commits", LOG_INT(r->commits), "last_stop",
             r->clean ? "clean" : "unclean");
}

static void opened(struct server *s, int err, const struct partition_report *r)
{
    if (err) {
        log_error(&s->log, "cannot open the journal", "error", error_text(err), "detail",
                  store_detail(), "next",
                  err == BELFRY_CORRUPT ? "belfry check shows the damage, belfry repair salvages"
                                        : "see the detail");
        return;
    }
    s->events.epoch = r->epoch;
    push_opened(s);
    tell_opened(s, r);
}

static void reopened(void *user, int err, const struct partition_report *r)
{
    struct server *s = user;

    opened(s, err, r);
    if (err == BELFRY_CORRUPT || err == BELFRY_FENCED)
        uv_stop(&s->loop);
    else if (!err && !s->stopping)
        listen_resume(s);
}

/* ---- Calls of the host ---- */

static void deliver(void *user, void *owner, struct job *const *jobs, size_t n)
{
    struct client *c = owner;

    (void)user;
    c->ops->deliver(c, jobs, n);
}

static bool attends(void *user, void *owner)
{
    struct client *c = owner;

    (void)user;
    return c->ops->attends(c);
}

static void lease(void *user)
{
    push_turn(user);
}

static void settled(void *user)
{
    struct server *s = user;

    clients_settled(s);
    events_settled(s);
    push_flush(s);
}

/* Tells the log now and then: a client may ask again and again. */
static void tell_fetch(struct server *s, int err, const char *detail)
{
    int64_t now = time_mono_ms();

    if ((err != BELFRY_CORRUPT && err != BELFRY_IO) || now < s->tell.fetch_ms)
        return;
    s->tell.fetch_ms = now + TELL_MS;
    log_error(&s->log, "a job could not be read from disk", "error", error_text(err), "detail",
              detail, "next", "belfry check shows what is damaged");
}

static void fetched(void *user, void *owner, int err, const char *detail)
{
    struct client *c = owner;

    tell_fetch(user, err, detail);
    c->ops->fetched(c, err, detail);
}

static void answered(void *user, void *owner)
{
    struct client *c = owner;

    (void)user;
    c->ops->flush(c);
}

static void chore_failed(void *user, const char *name, int err, const char *detail)
{
    struct server *s = user;

    log_error(&s->log, "a chore failed", "chore", name, "error", error_text(err), "detail", detail,
              "next",
              err == BELFRY_CORRUPT ? "belfry check shows what is damaged" : "tried again soon");
}

static void stalled(void *user, int64_t ms)
{
    struct server *s = user;
    int64_t now = time_mono_ms();

    if (now < s->tell.stall_ms)
        return;
    s->tell.stall_ms = now + TELL_MS;
    log_warn(&s->log, "the loop stood still, so leases last as much longer", "ms", LOG_INT(ms));
}

static void room_changed(void *user, enum host_room room, bool lacking)
{
    static const char *const texts[][2] = {
        [HOST_ROOM_DISK] = { "there is room again: new jobs are accepted",
                             "disk space is at its reserve: new jobs are refused, completions go "
                             "on" },
        [HOST_ROOM_MEMORY] = { "memory is within its budget: new jobs are accepted",
                               "memory is beyond its budget: new jobs are refused, completions go "
                               "on" },
    };
    struct server *s = user;

    log_warn(&s->log, texts[room][lacking], "data", s->options.data);
}

/* Clients see their connection end. They do not know the outcome of requests without an answer. */
static void failed(void *user, const char *what, int err, const char *detail)
{
    struct server *s = user;

    log_error(&s->log, what, "error", error_text(err), "detail", detail, "next",
              "nothing more is acknowledged until all was made again from what is stored");
    listen_pause(s);
    clients_close(s);
    push_reset(s);
}

static void worked(void *user, const char *what, int64_t us)
{
    slow_note(user, what, SLOW_OWN, us, 0);
}

static const struct host_ops hosting_ops = {
    .configure = configure,
    .deliver = deliver,
    .attends = attends,
    .lease = lease,
    .settled = settled,
    .fetched = fetched,
    .answered = answered,
    .chore_failed = chore_failed,
    .room_changed = room_changed,
    .stalled = stalled,
    .failed = failed,
    .reopened = reopened,
    .worked = worked,
};

int hosting_start(struct server *s)
{
    const struct options *o = &s->options;
    int64_t sync_ms = o->durability == DURABILITY_INTERVAL ? o->sync_interval_ms : 0;
    int err = host_init(&s->host, &s->loop, s->store, sync_ms, &hosting_ops, s);

    if (err == BELFRY_NOMEM)
        log_error(&s->log, "cannot start the log thread", "next", MORE_THREADS);
    return err;
}

int hosting_open(struct server *s)
{
    struct partition_report report = { 0 };
    int err = host_open(&s->host, &report);

    opened(s, err, &report);
    return err;
}

int hosting_pool(struct server *s)
{
    int err = threadpool_start(&s->loop);

    if (!err)
        return 0;
    log_error(&s->log, "cannot start the pool of threads", "error", uv_strerror(err), "threads",
              LOG_INT(threadpool_size()), "next", MORE_THREADS);
    return BELFRY_NOMEM;
}
