/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/call.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/top_view.h"

struct top {
    struct client client; /* fd -1: away; it says why */
    struct snapshot *before;
    struct top_view view;
    int64_t interval_ms;
    bool paused;
    bool once;
};

static bool take_order(struct flags *f, void *ret)
{
    return top_view_find_order(str_of(f->value), ret) ||
           flag_refuse(f, "'%s' is no column; expected busy, name, or the title of a column",
                       f->value);
}

const struct flag_row top_flags[] = {
    { "once", NULL, "print once and end", FLAG_SET(struct top, once) },
    { "interval", "DURATION", "time between two looks; 1s if not given", .letter = 'i',
      FLAG_DURATION(struct top, interval_ms, 100) },
    { "sort", "COLUMN", "order of the queues: `busy` (the default), `name`, `ready`, `done/s`, …",
      .take = take_order, FLAG_MEMBER(struct top, view.order) },
    { 0 },
};

static bool refresh(struct top *t)
{
    const struct cli *cli = t->view.cli;
    struct snapshot *s = NULL;

    if (t->client.fd >= 0 || client_open_belfry(&t->client, cli->host, cli->port, 1000) == 0)
        s = snapshot_new(&t->client);
    t->view.away = s ? NULL : t->client.why;
    if (!s) {
        client_close(&t->client);
        return false;
    }
    snapshot_free(t->before);
    t->before = t->view.now;
    t->view.before = t->before;
    t->view.now = s;
    return true;
}

/* ---- The screen ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* The size is looked at for each picture; this ends the wait for a key. */
static void on_resize(int number)
{
    (void)number;
}

/* Writes the lines over those of the last time, cutting them at the edge. */
static void draw(const struct top *t, const struct buf *lines)
{
    const struct term *term = &t->view.term;
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
    if (term->height > 0)
        buf_printf(&out, "\033[%u;1Hq quits, arrows scroll, s sorts, space looks now, p %s",
                   term->height, t->paused ? "goes on (paused)" : "pauses");
    fwrite(out.ptr, 1, out.len, stdout);
    fflush(stdout);
    buf_fini(&out);
}

enum action { TOP_QUIT, TOP_DRAW, TOP_LOOK };

static void scroll(struct top *t, int64_t by)
{
    int64_t to = (int64_t)t->view.skip + by;

    t->view.skip = to < 0 ? 0 : (size_t)to;
}

/* Does the work of a key, which may be a sequence that begins with ESC. */
static enum action press(struct top *t, struct str key)
{
    int64_t page = (int64_t)top_view_lines(&t->view);
    static const struct {
        const char *keys[3];
        int pages, lines;
    } moves[] = {
        { { "\033[A", "\033OA", "k" }, 0, -1 },      { { "\033[B", "\033OB", "j" }, 0, 1 },
        { { "\033[5~", "b", "b" }, -1, 0 },          { { "\033[6~", "f", "f" }, 1, 0 },
        { { "\033[H", "\033OH", "g" }, -100000, 0 }, { { "\033[F", "\033OF", "G" }, 100000, 0 },
    };

    for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
        for (size_t k = 0; k < 3; k++)
            if (str_eq(key, str_of(moves[i].keys[k])))
                scroll(t, moves[i].pages * page + moves[i].lines);
    if (str_ieq(key, "q") || str_eq(key, STR("\003")))
        return TOP_QUIT;
    if (str_ieq(key, "s"))
        t->view.order = top_view_next_order(t->view.order);
    if (str_ieq(key, "p"))
        t->paused = !t->paused;
    return str_eq(key, STR(" ")) ? TOP_LOOK : TOP_DRAW;
}

/* Waits for a key, or for the time of the next look. */
static enum action wait_key(struct top *t, int64_t until_ms)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    int64_t left = until_ms - time_mono_ms();
    char key[8];
    ssize_t n;

    if (interrupted)
        return TOP_QUIT;
    if (left <= 0 && !t->paused)
        return TOP_LOOK;
    if (poll(&p, 1, t->paused ? 60000 : (int)(left < 60000 ? left : 60000)) <= 0)
        return interrupted ? TOP_QUIT : TOP_DRAW;
    n = read(STDIN_FILENO, key, sizeof(key));
    return n <= 0 ? TOP_QUIT : press(t, (struct str){ key, (size_t)n });
}

static void run_screen(struct top *t)
{
    int64_t look_ms = time_mono_ms() + t->interval_ms;
    struct buf out = { 0 };
    enum action action;

    do {
        t->view.term = term_look(STDOUT_FILENO);
        out.len = 0;
        top_view_put(&t->view, &out);
        draw(t, &out);
        action = wait_key(t, look_ms);
        if (action == TOP_LOOK) {
            refresh(t);
            look_ms = time_mono_ms() + t->interval_ms;
        }
    } while (action != TOP_QUIT);
    buf_fini(&out);
}

static int live(struct top *t)
{
    struct sigaction act = { .sa_handler = on_signal };
    struct termios before, raw;
    bool keys = tcgetattr(STDIN_FILENO, &before) == 0;

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGWINCH, &(struct sigaction){ .sa_handler = on_resize }, NULL);
    if (keys) {
        raw = before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    run_screen(t);
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    return CLI_OK;
}

int top_run(struct cli *cli, int argc, char **argv)
{
    struct flags f = { .cli = cli, .rows = top_flags, .argc = argc, .argv = argv };
    struct top t = { .client.fd = -1,
                     .interval_ms = 1000,
                     .view = { .cli = cli, .order = TOP_BY_BUSINESS } };
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
    t.view.term = term_look(STDOUT_FILENO);
    if (!refresh(&t)) {
        code = cli_error(CLI_OFFLINE, "OFFLINE", 0, NULL, "%s", t.client.why);
    } else if (t.once || !t.view.term.tty) {
        t.view.term.height = 0;
        top_view_put(&t.view, &out);
        call_print(&out);
    } else {
        code = live(&t);
    }
    buf_fini(&out);
    client_close(&t.client);
    snapshot_free(t.view.now);
    snapshot_free(t.before);
    return code;
}
