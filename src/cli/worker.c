/* SPDX-License-Identifier: MIT */
#include "cli/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/call.h"
#include "cli/outbox.h"
#include "cli/report.h"
#include "cli/task.h"

#define WAIT           "20s" /* a parked LEASE is renewed this often */
#define CONNECT_MS     2000
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 30000
#define GUESS_MIN_MS   1000 /* least length of a lease that only our clock tells */
#define GUESS_MAX_MS   60000
#define HALF_CLOSE_MS  2000 /* how long the server may take to end a parked LEASE */

struct worker {
    const struct worker_options *o;
    struct client leases; /* fd -1: not connected */
    struct outbox outbox;
    struct task *tasks; /* o->slots of them */
    struct pollfd *polls;
    int running;
    int signals;      /* a signalfd */
    bool asked;       /* a LEASE is under way */
    bool dry;         /* with drain: the last answer was empty */
    int stops;        /* how often we were told to stop */
    bool closing;     /* no more jobs will be asked for */
    int64_t close_ms; /* when a half-closed connection is given up */
    int64_t retry_ms; /* when to connect again */
    int64_t backoff_ms;
    int64_t now_ms; /* monotonic */
    struct report report;
    int code;
};

static bool connected(const struct worker *w)
{
    return w->outbox.client.fd >= 0;
}

static void close_leases(struct worker *w)
{
    client_close(&w->leases);
    w->asked = false;
}

/* ---- Jobs ---- */

static struct task *free_slot(struct worker *w)
{
    for (int i = 0; i < w->o->slots; i++)
        if (w->tasks[i].pid == 0)
            return &w->tasks[i];
    return NULL;
}

static void extended(void *arg, struct str token, bool cancelled, bool stale)
{
    struct worker *w = arg;

    for (int i = 0; i < w->o->slots; i++) {
        struct task *t = &w->tasks[i];
        if (t->pid == 0 || t->fate != TASK_WANTED || !str_eq(token, str_of(t->token)))
            continue;
        if (cancelled)
            cli_say("%s: cancelled: its command is told to end", t->id);
        else if (stale)
            cli_say("%s: its lease was lost: its command is told to end", t->id);
        if (cancelled || stale)
            task_end(t, cancelled ? TASK_CANCELLED : TASK_LOST, w->now_ms);
    }
}

static void extend(struct worker *w, struct task *t)
{
    const char *length = w->o->lease_for;

    outbox_tell(&w->outbox, OUTBOX_EXTEND, str_of(t->id), str_of(t->token), length ? "FOR" : NULL,
                str_of(length ? length : ""));
    t->extend_ms = w->now_ms + t->every_ms;
}

static void failed(void *arg, struct str note, const struct resp_values *v)
{
    report_next(&((struct worker *)arg)->report, note, v);
}

static void fail(struct worker *w, const struct task *t, int64_t took_ms)
{
    struct buf error = { 0 }, note = { 0 };

    task_error(t, &error);
    outbox_tell(&w->outbox, OUTBOX_FAIL, str_of(t->id), str_of(t->token), "ERROR",
                buf_view(&error));
    report_failed(&w->report, t, took_ms, &note);
    outbox_note(&w->outbox, buf_view(&note));
    if (!connected(w))
        report_next(&w->report, buf_view(&note), NULL);
    buf_fini(&error);
    buf_fini(&note);
}

/* Tells the server how the job ended, unless its lease was lost: another worker may have it. */
static void tell_end(struct worker *w, const struct task *t, bool ok)
{
    struct str id = str_of(t->id), token = str_of(t->token);
    bool later = WIFEXITED(t->status) && WEXITSTATUS(t->status) == WORKER_RELEASE;
    int64_t took_ms = w->now_ms - t->started_ms;

    if (t->fate == TASK_LOST) {
        report_lost(&w->report, t, took_ms);
    } else if (ok) {
        outbox_tell(&w->outbox, OUTBOX_COMPLETE, id, token, w->o->capture ? "RESULT" : NULL,
                    buf_view(&t->result));
        report_done(&w->report, t, took_ms);
    } else if (t->fate == TASK_STOPPED || (later && t->fate == TASK_WANTED)) {
        bool stopped = t->fate == TASK_STOPPED;

        outbox_tell(&w->outbox, OUTBOX_RELEASE, id, token, stopped ? NULL : "IN",
                    stopped ? (struct str){ 0 } : STR(WORKER_RELEASE_FOR));
        report_released(&w->report, t, took_ms, !stopped);
    } else {
        fail(w, t, took_ms);
    }
}

static void finish(struct worker *w, struct task *t)
{
    bool ok = WIFEXITED(t->status) && WEXITSTATUS(t->status) == 0 && t->fate != TASK_TIMED_OUT;

    tell_end(w, t, ok);
    if (w->o->once && !ok)
        w->code = CLI_ERROR;
    task_clear(t);
    w->running--;
    w->dry = false;
}

static void read_metas(const struct resp_values *v, size_t at, struct task_job *ret)
{
    const struct resp_value *map = client_field(v, at, "meta");

    if (!map || map->type != RESP_MAP)
        return;
    for (size_t key = (size_t)(map - v->at) + 1; key < map->next && ret->meta_count < TASK_METAS;
         key = client_next_key(v, key))
        ret->metas[ret->meta_count++] =
            (struct task_meta){ v->at[key].text, v->at[v->at[key].next].text };
}

/* Everything that the job's command is told, borrowed from the map at index `at` of the reply. */
static void read_offer(const struct resp_values *v, size_t at, struct task_job *ret)
{
    *ret = (struct task_job){ .payload = client_text(v, at, "payload") };
#define READ_TEXT(name, variable) ret->name = client_text(v, at, #name);
    TASK_TEXTS(READ_TEXT)
#undef READ_TEXT
#define READ_NUMBER(name, variable, otherwise) ret->name = client_int(v, at, #name, otherwise);
    TASK_NUMBERS(READ_NUMBER)
#undef READ_NUMBER
    read_metas(v, at, ret);
}

/* The length of the lease: as the user gave it, as the server tells, or else the time left by our
 * clock. */
static int64_t lease_length(const struct worker *w, const struct resp_values *v, size_t at)
{
    int64_t ms = client_int(v, at, "until_ms", 0) - time_wall_ms();
    const char *why;

    if (w->o->lease_for && time_parse_duration(str_of(w->o->lease_for), &ms, &why) == 0)
        return ms;
    if (ms < GUESS_MIN_MS || ms > GUESS_MAX_MS)
        ms = ms < GUESS_MIN_MS ? GUESS_MIN_MS : GUESS_MAX_MS;
    return client_int(v, at, "lease_ms", ms);
}

static void begin(struct worker *w, const struct resp_values *v, size_t at)
{
    struct task *t = w->closing ? NULL : free_slot(w);
    enum task_output output = w->o->capture                         ? TASK_KEPT
                              : w->o->slots > 1 && !w->o->no_prefix ? TASK_PREFIXED
                                                                    : TASK_PASSED;
    struct task_job job;

    read_offer(v, at, &job);
    if (t && task_start(t, &job, w->o->argv, output, w->now_ms) < 0) {
        cli_say("%.*s: cannot start its command: %s", STR_ARG(job.id), strerror(errno));
        t = NULL;
    }
    if (!t) {
        outbox_tell(&w->outbox, OUTBOX_RELEASE, job.id, job.token, w->closing ? NULL : "IN",
                    STR("1s"));
        return;
    }
    t->every_ms = lease_length(w, v, at) / 3;
    t->every_ms = t->every_ms < 20 ? 20 : t->every_ms;
    t->extend_ms = w->now_ms + t->every_ms;
    t->limit_ms = w->o->timeout_ms;
    w->running++;
}

/* ---- Leasing ---- */

static void ask(struct worker *w)
{
    char count[16];
    const char *options[][2] = { { "COUNT", count },
                                 { "WORKER", w->o->name },
                                 { "WAIT", w->o->drain ? NULL : WAIT },
                                 { "FOR", w->o->lease_for },
                                 { "TENANT", w->o->tenant } };
    struct str words[12] = { STR("LEASE"), w->o->queues };
    size_t n = 2;

    snprintf(count, sizeof(count), "%d", w->o->once ? 1 : w->o->slots - w->running);
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        if (!options[i][1])
            continue;
        words[n++] = str_of(options[i][0]);
        words[n++] = str_of(options[i][1]);
    }
    client_put(&w->leases.out, words, n);
    w->asked = true;
}

/* Takes no more jobs. Closing our side of its connection ends a parked LEASE. So jobs that are on
 * their way still come, and the worker can give them back. */
static void stop_leasing(struct worker *w)
{
    if (w->closing)
        return;
    w->closing = true;
    w->close_ms = w->now_ms + HALF_CLOSE_MS;
    if (!w->asked)
        close_leases(w);
    else
        shutdown(w->leases.fd, SHUT_WR);
}

static void take_answer(struct worker *w, const struct resp_values *v)
{
    w->asked = false;
    if (v->at[0].type == RESP_ERROR) {
        w->code = call_error(verb_find(verb_table, STR("LEASE")), v->at[0].text);
        stop_leasing(w);
        return;
    }
    w->dry = v->at[0].children == 0;
    for (size_t job = 1; job < v->at[0].next; job = v->at[job].next)
        begin(w, v, job);
    if ((w->o->once && w->running > 0) || (w->o->drain && w->dry && w->running == 0))
        stop_leasing(w);
    else if (w->closing)
        close_leases(w);
}

/* IO or PROTOCOL if the connection has failed. */
static int move_leases(struct worker *w)
{
    const struct resp_values *v;
    int n;

    bool wanted = !w->closing && !w->asked && w->running < w->o->slots &&
                  !(w->o->drain && w->dry && w->running > 0);
    if (wanted)
        ask(w);
    n = client_push(&w->leases);
    if (n == 0)
        n = client_pull(&w->leases);
    while (n > 0 && w->leases.fd >= 0)
        if ((n = client_next(&w->leases, &v)) > 0)
            take_answer(w, v);
    return w->leases.fd < 0 ? 0 : n;
}

/* ---- The server ---- */

static void lost(struct worker *w, const char *why)
{
    cli_say("the server is away (%s); trying again in %llds; %d running", why,
            (long long)(w->backoff_ms / 1000), w->running);
    close_leases(w);
    outbox_close(&w->outbox);
    w->retry_ms = w->now_ms + w->backoff_ms;
    w->backoff_ms = w->backoff_ms * 2 < BACKOFF_MAX_MS ? w->backoff_ms * 2 : BACKOFF_MAX_MS;
}

static int open_both(struct worker *w, const char **ret_why)
{
    const char *host = w->o->cli->host, *port = w->o->cli->port;
    int err = outbox_open(&w->outbox, host, port, CONNECT_MS);

    *ret_why = w->outbox.client.why;
    if (err == 0 && !w->closing) {
        err = client_open_belfry(&w->leases, host, port, CONNECT_MS);
        *ret_why = w->leases.why;
    }
    return err;
}

static void reconnect(struct worker *w)
{
    const char *why;

    if (connected(w) || w->now_ms < w->retry_ms)
        return;
    if (open_both(w, &why) < 0) {
        lost(w, why);
        return;
    }
    cli_say("the server is back");
    w->backoff_ms = BACKOFF_MIN_MS;
    for (int i = 0; i < w->o->slots; i++)
        if (w->tasks[i].pid && w->tasks[i].fate == TASK_WANTED)
            extend(w, &w->tasks[i]);
}

static void talk(struct worker *w)
{
    if (!connected(w))
        return;
    if (outbox_move(&w->outbox) < 0) {
        lost(w, w->outbox.client.why);
    } else if (w->leases.fd >= 0 && move_leases(w) < 0) {
        if (w->closing) { /* it ended the parked LEASE */
            close_leases(w);
            return;
        }
        lost(w, w->leases.why);
    }
    if (connected(w))
        (void)client_push(&w->outbox.client); /* if it fails, the next move finds out */
}

/* ---- The loop ---- */

static void stop(struct worker *w)
{
    w->stops++;
    if (w->stops == 1) {
        stop_leasing(w);
        if (w->running > 0)
            cli_say("stopping: waiting for %d running; once more ends them", w->running);
    }
    for (int i = 0; w->stops > 1 && i < w->o->slots; i++) {
        if (w->tasks[i].pid == 0)
            continue;
        if (w->stops == 2)
            task_end(&w->tasks[i], TASK_STOPPED, w->now_ms);
        else
            task_kill(&w->tasks[i]);
    }
}

static void take_signals(struct worker *w)
{
    struct signalfd_siginfo info;

    while (read(w->signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            stop(w);
}

/* When a command has run for too long. */
static int64_t time_is_up_ms(const struct task *t)
{
    return t->limit_ms > 0 && t->fate == TASK_WANTED ? t->started_ms + t->limit_ms : INT64_MAX;
}

static void tend(struct worker *w)
{
    for (int i = 0; i < w->o->slots; i++) {
        struct task *t = &w->tasks[i];
        if (t->pid == 0)
            continue;
        task_move(t);
        if (task_reap(t)) {
            finish(w, t);
            continue;
        }
        if (time_is_up_ms(t) <= w->now_ms)
            task_end(t, TASK_TIMED_OUT, w->now_ms);
        if (t->kill_ms <= w->now_ms)
            task_kill(t);
        if (t->extend_ms <= w->now_ms && t->fate == TASK_WANTED) {
            if (connected(w))
                extend(w, t);
            else
                t->extend_ms = INT64_MAX; /* it is extended on reconnecting */
        }
    }
    if (w->closing && w->leases.fd >= 0 && w->close_ms <= w->now_ms)
        close_leases(w);
}

static int sleep_ms(const struct worker *w)
{
    int64_t until = INT64_MAX;

    for (int i = 0; i < w->o->slots; i++) {
        const struct task *t = &w->tasks[i];
        if (t->pid == 0)
            continue;
        until = t->fate == TASK_WANTED && t->extend_ms < until ? t->extend_ms : until;
        until = t->kill_ms < until ? t->kill_ms : until;
        until = time_is_up_ms(t) < until ? time_is_up_ms(t) : until;
    }
    if (!connected(w) && w->retry_ms < until)
        until = w->retry_ms;
    if (w->closing && w->leases.fd >= 0 && w->close_ms < until)
        until = w->close_ms;
    if (until == INT64_MAX)
        return -1;
    until -= w->now_ms;
    return until < 0 ? 0 : until > 60000 ? 60000 : (int)until;
}

static struct pollfd poll_client(const struct client *c)
{
    short out = c->out.len > 0 ? POLLOUT : 0;

    return (struct pollfd){ .fd = c->fd, .events = (short)(POLLIN | out) };
}

static void wait_for_something(struct worker *w)
{
    size_t n = 0;

    w->polls[n++] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
    w->polls[n++] = poll_client(&w->leases);
    w->polls[n++] = poll_client(&w->outbox.client);
    for (int i = 0; i < w->o->slots; i++)
        if (w->tasks[i].pid)
            n += task_polls(&w->tasks[i], &w->polls[n]);
    poll(w->polls, n, sleep_ms(w));
    w->now_ms = time_mono_ms();
}

static bool finished(const struct worker *w)
{
    if (!w->closing || w->running > 0 || w->leases.fd >= 0)
        return false;
    /* A second stop gives up on telling a server that is away. */
    return w->outbox.unanswered == 0 || (!connected(w) && w->stops >= 2);
}

static void loop(struct worker *w)
{
    while (!finished(w)) {
        reconnect(w);
        talk(w);
        if (finished(w))
            break;
        wait_for_something(w);
        take_signals(w);
        tend(w);
    }
    if (w->outbox.unanswered > 0)
        cli_say("the ends of %zu jobs could not be told to the server; their leases will run out",
                w->outbox.unanswered);
}

static bool prepare(struct worker *w, int slots)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    w->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    w->tasks = calloc((size_t)slots, sizeof(*w->tasks));
    w->polls = calloc((size_t)slots * TASK_POLLS + 3, sizeof(*w->polls));
    return w->signals >= 0 && w->tasks && w->polls;
}

int worker_run(const struct worker_options *o)
{
    struct worker w = { .o = o, .leases.fd = -1, .backoff_ms = BACKOFF_MIN_MS };

    w.now_ms = time_mono_ms();
    outbox_init(&w.outbox, extended, failed, &w);
    if (!prepare(&w, o->slots))
        w.code = cli_error(CLI_ERROR, "NOMEM", 0, NULL, "cannot set up: %s", strerror(errno));
    else
        w.code = call_connect(o->cli, &w.outbox.client);
    if (w.code == CLI_OK)
        w.code = call_connect(o->cli, &w.leases);
    if (w.code == CLI_OK) {
        report_begin(&w.report, o, w.now_ms);
        loop(&w);
        report_end(&w.report, time_mono_ms());
    }
    outbox_fini(&w.outbox);
    client_close(&w.leases);
    close(w.signals);
    free(w.tasks);
    free(w.polls);
    return w.code;
}
