/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/time.h"
#include "cli/call.h"
#include "cli/grid.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/snapshot.h"
#include "cli/term.h"
#include "engine/types.h"

struct top {
    struct cli *cli;
    struct client client; /* fd -1: away */
    char away[256];       /* why */
    struct snapshot now, before;
    struct term term;
    bool once; /* --once */
};

const struct flag_row top_flags[] = {
    { "once", NULL, "print once and end", FLAG_SET(struct top, once) },
    { 0 },
};

/* ---- Drawing ---- */

static double per_second(const struct top *t, int64_t now, int64_t before)
{
    double seconds = (double)(t->now.at_us - t->before.at_us) / 1e6;

    if (t->before.at_us == 0 || seconds <= 0 || now < before)
        return 0;
    return (double)(now - before) / seconds;
}

static void put_rate(struct buf *out, const char *name, double rate)
{
    buf_text(out, name);
    if (rate > 0 && rate < 10)
        buf_printf(out, "%.1f", rate);
    else
        quantity_count(out, (int64_t)(rate + 0.5));
}

static void put_duration(struct buf *out, const char *name, int64_t ms)
{
    char text[TIME_TEXT];

    buf_text(out, name);
    buf_append(out, text, time_format_duration(ms, text));
}

static void put_figure(struct buf *out, const char *name, int64_t v, const char *tone,
                       const struct top *t)
{
    bool toned = t->term.colour && tone && v > 0;

    buf_printf(out, "  %s ", name);
    buf_text(out, toned ? tone : "");
    quantity_count(out, v);
    buf_text(out, toned ? TERM_PLAIN : "");
}

static void put_server(const struct top *t, struct buf *out)
{
    const struct figures *s = &t->now.server, *b = &t->before.server;
    char clock[16];
    time_t now = time(NULL);
    struct tm tm;

    strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
    buf_printf(out, "%sbelfry %s%s at %s:%s   up ", t->term.colour ? TERM_BOLD : "", s->name,
               t->term.colour ? TERM_PLAIN : "", t->cli->host, t->cli->port);
    put_duration(out, "", s->uptime_ms / 1000 * 1000);
    buf_printf(out, "   %lld connections   %lld workers waiting   memory ",
               (long long)s->connections, (long long)s->waiting_workers);
    quantity_bytes(out, s->rss_bytes);
    buf_text(out, "   journal ");
    quantity_bytes(out, s->journal_bytes);
    if (s->run_bytes > 0) {
        buf_text(out, "   runs ");
        quantity_bytes(out, s->run_bytes);
    }
    buf_printf(out, "   %s\njobs   ", clock);
    put_figure(out, "scheduled", s->scheduled, NULL, t);
    put_figure(out, "ready", s->ready, TERM_CYAN, t);
    put_figure(out, "leased", s->leased, TERM_YELLOW, t);
    put_figure(out, "done", s->done, NULL, t);
    put_figure(out, "dead", s->dead, TERM_RED, t);
    put_figure(out, "cancelled", s->cancelled, NULL, t);
    if (s->cold_jobs > 0)
        put_figure(out, "on disk", s->cold_jobs, NULL, t);
    put_rate(out, "\nper s    in ", per_second(t, s->total_scheduled, b->total_scheduled));
    put_rate(out, "  picked ", per_second(t, s->total_picked, b->total_picked));
    put_rate(out, "  done ", per_second(t, s->total_succeeded, b->total_succeeded));
    put_rate(out, "  failed ",
             per_second(t, s->total_failed + s->total_stalled, b->total_failed + b->total_stalled));
    put_rate(out, "  commands ", per_second(t, s->commands, b->commands));
    put_rate(out, "  commits ", per_second(t, s->commits, b->commits));
    put_duration(out, "\nlateness p50 ", s->lateness_p50_ms);
    put_duration(out, "  p99 ", s->lateness_p99_ms);
    put_duration(out, "  max ", s->lateness_max_ms);
    put_duration(out, "   run time p50 ", s->runtime_p50_ms);
    put_duration(out, "  p99 ", s->runtime_p99_ms);
    put_duration(out, "   wait p50 ", s->wait_p50_ms);
    put_duration(out, "  p99 ", s->wait_p99_ms);
    buf_text(out, "\n\n");
}

static void cell_count(struct grid *g, int64_t v, const char *tone)
{
    struct buf cell = { 0 };

    quantity_count(&cell, v);
    grid_cell(g, buf_view(&cell), v > 0 ? tone : NULL);
    buf_fini(&cell);
}

static void cell_rate(struct grid *g, double rate)
{
    struct buf cell = { 0 };

    put_rate(&cell, "", rate);
    grid_cell(g, buf_view(&cell), NULL);
    buf_fini(&cell);
}

static void cell_duration(struct grid *g, int64_t ms)
{
    char text[TIME_TEXT];

    time_format_duration(ms, text);
    grid_cell(g, str_of(text), NULL);
}

static void put_row(const struct top *t, struct grid *g, const struct figures *q, bool tenants)
{
    static const struct figures none;
    const struct figures *known = snapshot_queue(&t->before, q);
    const struct figures *b = known ? known : &none;
    struct buf name = { 0 };

    if (tenants)
        grid_cell(g, str_of(q->tenant), NULL);
    buf_printf(&name, "%s%s", q->name, q->paused ? " (paused)" : "");
    grid_cell(g, buf_view(&name), q->paused ? TERM_DIM : NULL);
    buf_fini(&name);
    cell_count(g, q->scheduled, NULL);
    cell_count(g, q->ready, TERM_CYAN);
    cell_count(g, q->leased, TERM_YELLOW);
    cell_count(g, q->dead, TERM_RED);
    cell_count(g, q->waiting_workers, NULL);
    cell_rate(g, per_second(t, q->total_scheduled, b->total_scheduled));
    cell_rate(g, per_second(t, q->total_succeeded, b->total_succeeded));
    cell_rate(
        g, per_second(t, q->total_failed + q->total_stalled, b->total_failed + b->total_stalled));
    cell_duration(g, q->lateness_p99_ms);
    cell_duration(g, q->runtime_p50_ms);
    cell_duration(g, q->wait_p50_ms);
}

static int by_business(const void *a, const void *b)
{
    const struct figures *x = a, *y = b;
    int64_t bx = x->ready + x->leased + x->waiting_workers;
    int64_t by = y->ready + y->leased + y->waiting_workers;

    if (bx != by)
        return bx < by ? 1 : -1;
    return strcmp(x->name, y->name) ? strcmp(x->name, y->name) : strcmp(x->tenant, y->tenant);
}

static bool has_tenants(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->queues[i].tenant, TENANT_DEFAULT) != 0)
            return true;
    return false;
}

static void put_queues(const struct top *t, struct buf *out, size_t lines)
{
    static const char *const titles[] = { "queue",    "scheduled", "ready",   "leased",
                                          "dead",     "waiting",   "in/s",    "done/s",
                                          "failed/s", "late p99",  "run p50", "wait p50" };
    struct grid g = { 0 };
    size_t n = t->now.n < lines ? t->now.n : lines;
    bool tenants = has_tenants(&t->now);

    if (tenants)
        grid_column(&g, STR("tenant"), false, false);
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        grid_column(&g, str_of(titles[i]), i > 0, false);
    for (size_t i = 0; i < n; i++)
        put_row(t, &g, &t->now.queues[i], tenants);
    grid_fit(&g, t->term.width);
    grid_put_head(&g, out, 0, t->term.colour);
    grid_put_rows(&g, out, 0, t->term.colour);
    if (n < t->now.n)
        buf_printf(out, "and %zu more\n", t->now.n - n);
    grid_fini(&g);
}

static void put_all(struct top *t, struct buf *out)
{
    size_t lines = t->term.height > 9 ? t->term.height - 8 : t->term.height ? 1 : SIZE_MAX;

    if (t->client.fd < 0) {
        buf_printf(out, "the server at %s:%s is away: %s\n\n", t->cli->host, t->cli->port, t->away);
        if (t->now.at_us == 0)
            return;
    }
    put_server(t, out);
    if (t->term.tty)
        qsort(t->now.queues, t->now.n, sizeof(*t->now.queues), by_business);
    put_queues(t, out, lines);
}

/* ---- Asking ---- */

static int refresh(struct top *t)
{
    struct snapshot s;

    if (t->client.fd < 0 && client_open_belfry(&t->client, t->cli->host, t->cli->port, 1000) < 0) {
        snprintf(t->away, sizeof(t->away), "%s", t->client.why);
        return -1;
    }
    if (snapshot_take(&t->client, &s) < 0) {
        snprintf(t->away, sizeof(t->away), "%s", t->client.why);
        client_close(&t->client);
        return -1;
    }
    snapshot_fini(&t->before);
    t->before = t->now;
    t->now = s;
    return 0;
}

/* ---- The screen ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* Writes the lines over those of the last time, cutting them at the edge. */
static void draw(const struct top *t, const struct buf *lines)
{
    struct buf out = { 0 };
    const char *p = lines->ptr, *end = lines->ptr + lines->len;

    buf_text(&out, "\033[?7l\033[H"); /* no wrapping */
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        buf_append(&out, p, (size_t)(stop - p));
        buf_text(&out, "\033[K\r\n");
        p = stop + 1;
    }
    buf_text(&out, "\033[J");
    if (t->term.height > 0)
        buf_printf(&out, "\033[%u;1Hq quits", t->term.height);
    fwrite(out.ptr, 1, out.len, stdout);
    fflush(stdout);
    buf_fini(&out);
}

/* Waits a second; false if q was typed. */
static bool wait_key(void)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    int64_t until = time_mono_us() / 1000 + 1000, now;

    while (!interrupted && (now = time_mono_us() / 1000) < until) {
        char key = 0;
        if (poll(&p, 1, (int)(until - now)) <= 0)
            continue;
        if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q' || key == 3)
            return false;
        if (key == ' ')
            return true;
    }
    return !interrupted;
}

static int live(struct top *t)
{
    struct sigaction act = { .sa_handler = on_signal };
    struct termios before, raw;
    bool keys = tcgetattr(STDIN_FILENO, &before) == 0;
    struct buf out = { 0 };

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (keys) {
        raw = before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    do {
        t->term = term_look(STDOUT_FILENO);
        out.len = 0;
        put_all(t, &out);
        draw(t, &out);
        if (!wait_key())
            break;
        refresh(t);
    } while (!interrupted);
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    buf_fini(&out);
    return CLI_OK;
}

int top_run(struct cli *cli, int argc, char **argv)
{
    struct flags f = { .cli = cli, .rows = top_flags, .argc = argc, .argv = argv };
    struct top t = { .cli = cli, .client.fd = -1 };
    struct buf out = { 0 };
    int code, which = flag_read(&f, &t);

    if (which != FLAG_END)
        return cli_usage("top: %s", which == FLAG_BAD ? f.why : "unexpected argument");
    if (cli->help)
        return help_topic("top");
    if (cli->json)
        return cli_usage("top: --json is for belfry stats and belfry queues");
    code = call_connect(cli, &t.client);
    if (code != CLI_OK)
        return code;
    t.term = term_look(STDOUT_FILENO);
    if (refresh(&t) < 0) {
        cli_say("%s", t.away);
        code = CLI_OFFLINE;
    } else if (t.once || !t.term.tty) {
        t.term.height = 0;
        put_all(&t, &out);
        call_print(&out);
    } else {
        code = live(&t);
    }
    buf_fini(&out);
    client_close(&t.client);
    snapshot_fini(&t.now);
    snapshot_fini(&t.before);
    return code;
}
