/* SPDX-License-Identifier: MIT */
#include "cli/top_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/quantity.h"
#include "cli/field.h"
#include "cli/grid.h"
#include "cli/text.h"
#include "engine/types.h"

#define INDENT 10 /* of lines that go on */

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
    { "jobs      scheduled ", "scheduled", .kind = COUNT },
    { "  ready ", "ready", .kind = COUNT, .tone = TERM_CYAN },
    { "  leased ", "leased", .kind = COUNT, .tone = TERM_YELLOW },
    { "  done ", "done", .kind = COUNT },
    { "  dead ", "dead", .kind = COUNT, .tone = TERM_RED },
    { "  cancelled ", "cancelled", .kind = COUNT },
    { "  on disk ", "cold_jobs", .kind = COUNT, .if_any = true },
    { "\nper s     in ", "total_scheduled", .kind = RATE },
    { "  picked ", "total_picked", .kind = RATE },
    { "  done ", "total_succeeded", .kind = RATE },
    { "  failed ", "total_failed", .kind = RATE, .also = "total_stalled" },
    { "  commands ", "commands", .kind = RATE },
    { "  commits ", "commits", .kind = RATE },
    { "\nlateness  p50 ", "lateness_p50_ms", .kind = DURATION },
    { "  p99 ", "lateness_p99_ms", .kind = DURATION },
    { "  max ", "lateness_max_ms", .kind = DURATION },
    { "  run time p50 ", "runtime_p50_ms", .kind = DURATION },
    { "  p99 ", "runtime_p99_ms", .kind = DURATION },
    { "  wait p50 ", "wait_p50_ms", .kind = DURATION },
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

static double rate_of(const struct top_view *t, int64_t now, int64_t before)
{
    double seconds = t->before ? (double)(t->now->at_us - t->before->at_us) / 1e6 : 0;

    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

/* `before` is NULL if the last snapshot has no such queue. */
static struct quantity figure_text(const struct top_view *t, const struct show *s,
                                   const struct figures *now, const struct figures *before)
{
    int64_t v = figure(now, s);
    double rate = s->kind == RATE ? rate_of(t, v, figure(before, s)) : 0;
    struct quantity q;

    if (s->kind == COUNT)
        return quantity_count(v);
    if (s->kind == DURATION)
        snprintf(q.text, sizeof(q.text), "%.31s", field_duration(v).text);
    else if (rate > 0 && rate < 10)
        snprintf(q.text, sizeof(q.text), "%.1f", rate);
    else
        q = quantity_count((int64_t)(rate + 0.5));
    return q;
}

/* ---- The server ---- */

/* Appends a part of a line, on the next line if it does not fit. `at` is the column. */
static void put_part(const struct top_view *t, struct buf *out, size_t *at, struct str part)
{
    bool breaks = part.len && part.ptr[0] == '\n';
    size_t wide = text_columns(breaks ? str_from(part, 1) : part);

    if (breaks) {
        part = str_from(part, 1);
        buf_text(out, "\n");
        *at = 0;
    } else if (t->term.width && *at > 0 && *at + wide > t->term.width) {
        while (part.len && part.ptr[0] == ' ')
            part = str_from(part, 1);
        buf_text(out, "\n");
        text_spaces(out, INDENT);
        *at = INDENT;
        wide = text_columns(part);
    }
    buf_str(out, part);
    *at += wide;
}

static void put_text(const struct top_view *t, struct buf *out, size_t *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put_text(const struct top_view *t, struct buf *out, size_t *at, const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_part(t, out, at, str_of(text));
}

static void put_head(const struct top_view *t, struct buf *out)
{
    const struct figures *f = &t->now->server;
    int64_t run_bytes = figures_int(f, "run_bytes");
    time_t now = time(NULL);
    char clock[16];
    struct tm tm;
    size_t at = 0;

    strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
    put_text(t, out, &at, "belfry %.*s", STR_ARG(figures_text(f, "version")));
    put_text(t, out, &at, " at %s:%s", t->cli->host, t->cli->port);
    put_text(t, out, &at, "  up %s",
             field_duration(figures_int(f, "uptime_ms") / 1000 * 1000).text);
    put_text(t, out, &at, "  %lld connections", (long long)figures_int(f, "connections"));
    put_text(t, out, &at, "  %lld workers waiting", (long long)figures_int(f, "waiting_workers"));
    put_text(t, out, &at, "  memory %s", quantity_bytes(figures_int(f, "rss_bytes")).text);
    put_text(t, out, &at, "  journal %s", quantity_bytes(figures_int(f, "journal_bytes")).text);
    if (run_bytes > 0)
        put_text(t, out, &at, "  runs %s", quantity_bytes(run_bytes).text);
    put_text(t, out, &at, "  %s", clock);
    buf_text(out, "\n");
}

static void put_server(const struct top_view *t, struct buf *out)
{
    const struct figures *f = &t->now->server;
    const struct figures *before = t->before ? &t->before->server : NULL;
    size_t at = 0;

    put_head(t, out);
    for (const struct show *s = server_shows; s < server_shows + COUNT_OF(server_shows); s++) {
        bool any = figure(f, s) > 0, toned = any && t->term.colour && s->tone;
        char part[96];

        if (!any && s->if_any)
            continue;
        snprintf(part, sizeof(part), "%s%s", s->title, figure_text(t, s, f, before).text);
        put_part(t, out, &at, str_of(part));
        if (toned) { /* the figure again, in its colour */
            size_t len = strlen(figure_text(t, s, f, before).text);
            out->len -= len;
            buf_printf(out, "%s%s%s", s->tone, figure_text(t, s, f, before).text, TERM_PLAIN);
        }
    }
    buf_text(out, "\n\n");
}

/* ---- Queues ---- */

static void put_row(const struct top_view *t, struct grid *g, const struct figures *q, bool tenants)
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

/* The number by which a queue is sorted. */
static int64_t weight_of(const struct top_view *t, const struct figures *q)
{
    const struct show *s = &queue_shows[t->order < 0 ? 0 : t->order];
    const struct figures *before =
        t->before && s->kind == RATE ? snapshot_queue(t->before, q) : NULL;

    if (t->order < 0)
        return t->order == TOP_BY_BUSINESS ? business(q) : 0;
    return figure(q, s) - figure(before, s);
}

static int compare(const void *a, const void *b, void *arg)
{
    int64_t x = weight_of(arg, a), y = weight_of(arg, b);
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

static const char *order_name(int order)
{
    return order == TOP_BY_BUSINESS ? "busy"
           : order == TOP_BY_NAME   ? "name"
                                    : queue_shows[order].title;
}

int top_view_next_order(int order)
{
    return order + 1 < (int)COUNT_OF(queue_shows) ? order + 1 : TOP_BY_BUSINESS;
}

bool top_view_find_order(struct str name, int *ret)
{
    for (int order = TOP_BY_BUSINESS; order < (int)COUNT_OF(queue_shows); order++) {
        if (str_ieq(name, order_name(order))) {
            *ret = order;
            return true;
        }
    }
    return false;
}

static void put_rest(const struct top_view *t, struct buf *out, size_t shown, size_t hidden)
{
    size_t above = t->skip, below = t->now->n - shown - above;
    const char *comma = "";

    if (above + below + hidden == 0 && t->term.height == 0)
        return;
    if (t->term.height > 0) {
        buf_printf(out, "by %s", order_name(t->order));
        comma = "; ";
    }
    if (above + below > 0) {
        buf_printf(out, "%s%zu queues above, %zu below", comma, above, below);
        comma = "; ";
    }
    if (hidden > 0)
        buf_printf(out, "%s%zu columns need a wider terminal", comma, hidden);
    buf_text(out, "\n");
}

static void put_queues(struct top_view *t, struct buf *out)
{
    size_t lines = top_view_lines(t), n, hidden;
    bool tenants = has_tenants(t->now);
    struct grid g = { 0 };

    if (t->skip + lines > t->now->n)
        t->skip = t->now->n > lines ? t->now->n - lines : 0;
    n = t->now->n - t->skip < lines ? t->now->n - t->skip : lines;
    if (tenants)
        grid_column(&g, STR("tenant"), false, false);
    grid_column(&g, STR("queue"), false, false);
    for (size_t i = 0; i < COUNT_OF(queue_shows); i++)
        grid_column(&g, str_of(queue_shows[i].title), true, true);
    for (size_t i = 0; i < n; i++)
        put_row(t, &g, &t->now->queues[t->skip + i], tenants);
    hidden = grid_fit(&g, t->term.width);
    grid_put_head(&g, out, 0, t->term.colour);
    grid_put_rows(&g, out, 0, t->term.colour);
    put_rest(t, out, n, hidden);
    grid_fini(&g);
}

size_t top_view_lines(const struct top_view *t)
{
    /* The head and the figures of the server, which take two lines each on a narrow terminal. */
    size_t rest = t->term.width && t->term.width < 110 ? 13 : 9;

    return t->term.height == 0 ? SIZE_MAX / 2 : t->term.height > rest ? t->term.height - rest : 1;
}

void top_view_put(struct top_view *t, struct buf *out)
{
    if (t->away) {
        buf_printf(out, "the server at %s:%s is away: %s\n\n", t->cli->host, t->cli->port, t->away);
        if (!t->now)
            return;
    }
    put_server(t, out);
    qsort_r(t->now->queues, t->now->n, sizeof(*t->now->queues), compare, t);
    put_queues(t, out);
}
