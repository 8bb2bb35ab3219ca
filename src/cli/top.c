/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/time.h"
#include "cli/call.h"
#include "cli/grid.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/term.h"
#include "engine/types.h"

/* The figures of the server, or of a queue: the map at index `at` of a reply. Borrowed. */
struct figures {
    const struct resp_values *v;
    size_t at;
};

/* A reply that is kept. */
struct snapshot_reply {
    struct buf bytes;
    struct resp_values values;
};

/* The figures of a server and its queues at a moment. */
struct snapshot {
    struct snapshot_reply stats, list; /* of STATS and QUEUES */
    struct figures server;
    struct figures *queues; /* sorted by name, as the server gives them */
    size_t n;
    int64_t at_us; /* monotonic */
};

struct top {
    struct cli *cli;
    struct client client;          /* fd -1: away; it says why */
    struct snapshot *now, *before; /* NULL: none so far */
    struct term term;
    bool once; /* --once */
};

const struct flag_row top_flags[] = {
    { "once", NULL, "print once and end", FLAG_SET(struct top, once) },
    { 0 },
};

/* ---- Snapshots ---- */

static int64_t figures_int(const struct figures *f, const char *name)
{
    return client_int(f->v, f->at, name, 0);
}

static struct str figures_text(const struct figures *f, const char *name)
{
    return client_text(f->v, f->at, name);
}

static void drop_reply(struct snapshot_reply *r)
{
    buf_fini(&r->bytes);
    resp_values_fini(&r->values);
}

static void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    drop_reply(&s->stats);
    drop_reply(&s->list);
    free(s->queues);
    free(s);
}

static bool keep_reply(struct client *c, enum resp_type expected, struct snapshot_reply *ret)
{
    const struct resp_values *v;
    size_t used;

    if (client_read(c, &v) < 0)
        return false;
    if (v->at[0].type != expected)
        return cli_fail(c->why, false, "unexpected answer: %.*s", STR_ARG(v->at[0].text));
    buf_append(&ret->bytes, c->in.ptr + c->start, c->used);
    return resp_read_value(&ret->values, buf_view(&ret->bytes), &used) == RESP_OK ||
           cli_fail(c->why, false, "%s", error_text(BELFRY_NOMEM));
}

static bool ask_server(struct client *c, struct snapshot *s)
{
    client_put(&c->out, CLIENT_WORDS(STR("STATS")));
    client_put(&c->out, CLIENT_WORDS(STR("QUEUES"), STR("TENANT"), STR("*")));
    if (client_flush(c) < 0 || !keep_reply(c, RESP_MAP, &s->stats))
        return false;
    s->at_us = time_mono_us();
    s->server = (struct figures){ &s->stats.values, 0 };
    return keep_reply(c, RESP_ARRAY, &s->list);
}

/* Asks with STATS and QUEUES of all tenants. Blocks. NULL after an error, with c->why. */
static struct snapshot *snapshot_new(struct client *c)
{
    struct snapshot *s = calloc(1, sizeof(*s));
    const struct resp_values *v;

    if (!s || !ask_server(c, s)) {
        snapshot_free(s);
        return NULL;
    }
    v = &s->list.values;
    s->queues = calloc(v->at[0].children + 1, sizeof(*s->queues));
    for (size_t at = 1; s->queues && at < v->at[0].next; at = v->at[at].next)
        s->queues[s->n++] = (struct figures){ v, at };
    return s;
}

/* That queue in this snapshot; NULL if it is not there. */
static const struct figures *snapshot_queue(const struct snapshot *s, const struct figures *queue)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(figures_text(&s->queues[i], "queue"), figures_text(queue, "queue")) &&
            str_eq(figures_text(&s->queues[i], "tenant"), figures_text(queue, "tenant")))
            return &s->queues[i];
    return NULL;
}

/* ---- Drawing ---- */

enum kind { COUNT, RATE, DURATION };

/* How a figure is shown, in the lines of the server or in a column of the queues. */
struct show {
    const char *title;
    const char *name; /* of the figure */
    const char *also; /* of a figure that is added to it; NULL: none */
    const char *tone; /* colour of a figure above 0; NULL: none */
    enum kind kind;
    bool if_any; /* a figure of 0 is left out */
};

static const struct show server_shows[] = {
    { "jobs     scheduled ", "scheduled", .kind = COUNT },
    { "  ready ", "ready", .kind = COUNT, .tone = TERM_CYAN },
    { "  leased ", "leased", .kind = COUNT, .tone = TERM_YELLOW },
    { "  done ", "done", .kind = COUNT },
    { "  dead ", "dead", .kind = COUNT, .tone = TERM_RED },
    { "  cancelled ", "cancelled", .kind = COUNT },
    { "  on disk ", "cold_jobs", .kind = COUNT, .if_any = true },
    { "\nper s    in ", "total_scheduled", .kind = RATE },
    { "  picked ", "total_picked", .kind = RATE },
    { "  done ", "total_succeeded", .kind = RATE },
    { "  failed ", "total_failed", .kind = RATE, .also = "total_stalled" },
    { "  commands ", "commands", .kind = RATE },
    { "  commits ", "commits", .kind = RATE },
    { "\nlateness p50 ", "lateness_p50_ms", .kind = DURATION },
    { "  p99 ", "lateness_p99_ms", .kind = DURATION },
    { "  max ", "lateness_max_ms", .kind = DURATION },
    { "   run time p50 ", "runtime_p50_ms", .kind = DURATION },
    { "  p99 ", "runtime_p99_ms", .kind = DURATION },
    { "   wait p50 ", "wait_p50_ms", .kind = DURATION },
    { "  p99 ", "wait_p99_ms", .kind = DURATION },
};

static const struct show queue_shows[] = {
    { "scheduled", "scheduled", .kind = COUNT },
    { "ready", "ready", .kind = COUNT, .tone = TERM_CYAN },
    { "leased", "leased", .kind = COUNT, .tone = TERM_YELLOW },
    { "dead", "dead", .kind = COUNT, .tone = TERM_RED },
    { "waiting", "waiting_workers", .kind = COUNT },
    { "in/s", "total_scheduled", .kind = RATE },
    { "done/s", "total_succeeded", .kind = RATE },
    { "failed/s", "total_failed", .kind = RATE, .also = "total_stalled" },
    { "late p99", "lateness_p99_ms", .kind = DURATION },
    { "run p50", "runtime_p50_ms", .kind = DURATION },
    { "wait p50", "wait_p50_ms", .kind = DURATION },
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static int64_t figure(const struct figures *f, const struct show *s)
{
    return f ? figures_int(f, s->name) + (s->also ? figures_int(f, s->also) : 0) : 0;
}

static double rate_of(const struct top *t, int64_t now, int64_t before)
{
    double seconds = t->before ? (double)(t->now->at_us - t->before->at_us) / 1e6 : 0;

    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

/* `before` is NULL if the last snapshot has no such queue. */
static struct quantity figure_text(const struct top *t, const struct show *s,
                                   const struct figures *now, const struct figures *before)
{
    int64_t v = figure(now, s);
    double rate = s->kind == RATE ? rate_of(t, v, figure(before, s)) : 0;
    struct quantity q;

    if (s->kind == COUNT)
        return quantity_count(v);
    if (s->kind == DURATION)
        time_format_duration(v, q.text);
    else if (rate > 0 && rate < 10)
        snprintf(q.text, sizeof(q.text), "%.1f", rate);
    else
        q = quantity_count((int64_t)(rate + 0.5));
    return q;
}

static void put_server(const struct top *t, struct buf *out)
{
    const struct figures *f = &t->now->server;
    const struct figures *before = t->before ? &t->before->server : NULL;
    int64_t run_bytes = figures_int(f, "run_bytes");
    char clock[16], up[TIME_TEXT];
    time_t now = time(NULL);
    struct tm tm;

    strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
    time_format_duration(figures_int(f, "uptime_ms") / 1000 * 1000, up);
    buf_printf(out, "%sbelfry %.*s%s at %s:%s   up %s   %lld connections   %lld workers waiting",
               t->term.colour ? TERM_BOLD : "", STR_ARG(figures_text(f, "version")),
               t->term.colour ? TERM_PLAIN : "", t->cli->host, t->cli->port, up,
               (long long)figures_int(f, "connections"),
               (long long)figures_int(f, "waiting_workers"));
    buf_printf(out, "   memory %s   journal %s", quantity_bytes(figures_int(f, "rss_bytes")).text,
               quantity_bytes(figures_int(f, "journal_bytes")).text);
    if (run_bytes > 0)
        buf_printf(out, "   runs %s", quantity_bytes(run_bytes).text);
    buf_printf(out, "   %s\n", clock);
    for (const struct show *s = server_shows; s < server_shows + COUNT_OF(server_shows); s++) {
        bool any = figure(f, s) > 0, toned = any && t->term.colour && s->tone;

        if (any || !s->if_any)
            buf_printf(out, "%s%s%s%s", s->title, toned ? s->tone : "",
                       figure_text(t, s, f, before).text, toned ? TERM_PLAIN : "");
    }
    buf_text(out, "\n\n");
}

static void put_row(const struct top *t, struct grid *g, const struct figures *q, bool tenants)
{
    const struct figures *before = t->before ? snapshot_queue(t->before, q) : NULL;
    bool paused = figures_int(q, "paused");
    struct buf name = { 0 };

    if (tenants)
        grid_cell(g, figures_text(q, "tenant"), NULL);
    buf_str(&name, figures_text(q, "queue"));
    buf_text(&name, paused ? " (paused)" : "");
    grid_cell(g, buf_view(&name), paused ? TERM_DIM : NULL);
    buf_fini(&name);
    for (const struct show *s = queue_shows; s < queue_shows + COUNT_OF(queue_shows); s++)
        grid_cell(g, str_of(figure_text(t, s, q, before).text), figure(q, s) > 0 ? s->tone : NULL);
}

static int64_t business(const struct figures *q)
{
    return figures_int(q, "ready") + figures_int(q, "leased") + figures_int(q, "waiting_workers");
}

static int by_business(const void *a, const void *b)
{
    int64_t x = business(a), y = business(b);
    int names = str_compare(figures_text(a, "queue"), figures_text(b, "queue"));

    if (x != y)
        return x < y ? 1 : -1;
    return names ? names : str_compare(figures_text(a, "tenant"), figures_text(b, "tenant"));
}

static bool has_tenants(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!str_eq(figures_text(&s->queues[i], "tenant"), STR(TENANT_DEFAULT)))
            return true;
    return false;
}

static void put_queues(const struct top *t, struct buf *out, size_t lines)
{
    struct grid g = { 0 };
    size_t n = t->now->n < lines ? t->now->n : lines;
    bool tenants = has_tenants(t->now);

    if (tenants)
        grid_column(&g, STR("tenant"), false, false);
    grid_column(&g, STR("queue"), false, false);
    for (size_t i = 0; i < COUNT_OF(queue_shows); i++)
        grid_column(&g, str_of(queue_shows[i].title), true, false);
    for (size_t i = 0; i < n; i++)
        put_row(t, &g, &t->now->queues[i], tenants);
    grid_fit(&g, t->term.width);
    grid_put_head(&g, out, 0, t->term.colour);
    grid_put_rows(&g, out, 0, t->term.colour);
    if (n < t->now->n)
        buf_printf(out, "and %zu more\n", t->now->n - n);
    grid_fini(&g);
}

static void put_all(struct top *t, struct buf *out)
{
    size_t lines = t->term.height > 9 ? t->term.height - 8 : t->term.height ? 1 : SIZE_MAX;

    if (t->client.fd < 0) {
        buf_printf(out, "the server at %s:%s is away: %s\n\n", t->cli->host, t->cli->port,
                   t->client.why);
        if (!t->now)
            return;
    }
    put_server(t, out);
    if (t->term.tty)
        qsort(t->now->queues, t->now->n, sizeof(*t->now->queues), by_business);
    put_queues(t, out, lines);
}

/* ---- Asking ---- */

static bool refresh(struct top *t)
{
    struct snapshot *s = NULL;

    if (t->client.fd >= 0 || client_open_belfry(&t->client, t->cli->host, t->cli->port, 1000) == 0)
        s = snapshot_new(&t->client);
    if (!s) {
        client_close(&t->client);
        return false;
    }
    snapshot_free(t->before);
    t->before = t->now;
    t->now = s;
    return true;
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
    int64_t until = time_mono_ms() + 1000, now;

    while (!interrupted && (now = time_mono_ms()) < until) {
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
    if (!refresh(&t)) {
        cli_say("%s", t.client.why);
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
    snapshot_free(t.now);
    snapshot_free(t.before);
    return code;
}
