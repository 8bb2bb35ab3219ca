/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_quote.h"
#include "base/time.h"
#include "cli/field.h"
#include "cli/term.h"

/* Whether both outputs are one file that ends within a line. */
static bool ends_within_line(void)
{
    struct stat out, err;
    char last = '\n';
    int fd;

    if (fstat(STDOUT_FILENO, &out) < 0 || fstat(STDERR_FILENO, &err) < 0 || !S_ISREG(out.st_mode) ||
        out.st_size == 0 || out.st_dev != err.st_dev || out.st_ino != err.st_ino)
        return false;
    fd = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC); /* it may be open for writing only */
    if (fd < 0)
        return false;
    if (pread(fd, &last, 1, out.st_size - 1) != 1)
        last = '\n';
    close(fd);
    return last != '\n';
}

/* The cursor of a terminal goes to the beginning of a line. As many blanks as the terminal has
 * columns stay in an empty line, and lead to the next line from any other place than its beginning.
 */
static void put_blanks(FILE *out)
{
    const char *kind = getenv("TERM");
    struct term t = term_look(STDERR_FILENO);

    if (kind && strcmp(kind, "dumb") != 0)
        fprintf(out, "%*s\r\033[K", (int)t.width, "");
}

/* The last output of a command, which went past this program, may be no whole line. */
static void begin_line(void)
{
    if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
        put_blanks(stderr);
    else if (ends_within_line())
        fputc('\n', stderr);
}

/* Writes a line, unless the user wants none. */
static void put_line(const struct report *r, struct buf *line)
{
    buf_text(line, "\n");
    if (!r->o->quiet) {
        fflush(stdout);
        begin_line();
        fwrite(line->ptr, 1, line->len, stderr);
    }
    buf_fini(line);
}

/* {"event":"done","id":"01…","took_ms":12 */
static void begin_json(struct buf *line, const char *event, const struct task *t, int64_t took_ms)
{
    buf_printf(line, "{\"event\":\"%s\",\"id\":\"%s\",\"took_ms\":%lld", event, t->id,
               (long long)took_ms);
}

static void put_member(struct buf *line, const char *name, uint64_t n)
{
    buf_printf(line, ",\"%s\":%llu", name, (unsigned long long)n);
}

void report_begin(struct report *r, const struct worker_options *o, int64_t now_ms)
{
    struct buf line = { 0 };

    *r = (struct report){ .o = o, .began_ms = now_ms };
    if (cli_speaks_json()) {
        json_quote_in(&line, "{\"event\":\"started\",\"queues\":", o->queues, "");
        json_quote_in(&line, ",\"worker\":", str_of(o->name), "");
        put_member(&line, "jobs", (uint64_t)o->slots);
        buf_text(&line, "}");
    } else {
        buf_printf(&line, "belfry: working on %.*s at %s:%s, %d at a time, as %s; ^C stops",
                   STR_ARG(o->queues), o->cli->host, o->cli->port, o->slots, o->name);
    }
    put_line(r, &line);
}

static void put_count(struct buf *line, uint64_t n, const char *text)
{
    if (n > 0)
        buf_printf(line, ", %llu %s", (unsigned long long)n, text);
}

void report_end(const struct report *r, int64_t now_ms)
{
    uint64_t jobs = r->done + r->failed + r->released + r->lost;
    struct buf line = { 0 };

    if (cli_speaks_json()) {
        buf_printf(&line, "{\"event\":\"stopped\",\"took_ms\":%lld",
                   (long long)(now_ms - r->began_ms));
        put_member(&line, "done", r->done);
        put_member(&line, "failed", r->failed);
        put_member(&line, "dead", r->dead);
        put_member(&line, "released", r->released);
        put_member(&line, "lost", r->lost);
        buf_text(&line, "}");
    } else {
        buf_printf(&line, "belfry: %llu %s in %s: %llu done, %llu failed", (unsigned long long)jobs,
                   jobs == 1 ? "attempt" : "attempts", field_duration(now_ms - r->began_ms).text,
                   (unsigned long long)r->done, (unsigned long long)r->failed);
        put_count(&line, r->dead, "dead");
        put_count(&line, r->released, "given back");
        put_count(&line, r->lost, "lost");
    }
    put_line(r, &line);
}

void report_done(struct report *r, const struct task *t, int64_t took_ms)
{
    struct buf line = { 0 };

    r->done++;
    if (cli_speaks_json()) {
        begin_json(&line, "done", t, took_ms);
        buf_text(&line, t->cut ? ",\"cut\":true}" : "}");
    } else {
        buf_printf(&line, "belfry: %s: done in %s%s", t->id, field_duration(took_ms).text,
                   t->cut ? "; its result was cut to 64 KiB" : "");
    }
    put_line(r, &line);
}

void report_released(struct report *r, const struct task *t, int64_t took_ms, bool later)
{
    struct buf line = { 0 };

    r->released++;
    if (cli_speaks_json()) {
        begin_json(&line, "released", t, took_ms);
        buf_text(&line, "}");
    } else if (later) {
        buf_printf(&line, "belfry: %s: not now (exit status %d): again in %s", t->id,
                   WORKER_RELEASE, WORKER_RELEASE_FOR);
    } else {
        buf_printf(&line, "belfry: %s: given back after %s", t->id, field_duration(took_ms).text);
    }
    put_line(r, &line);
}

void report_lost(struct report *r, const struct task *t, int64_t took_ms)
{
    struct buf line = { 0 };

    r->lost++;
    if (cli_speaks_json()) {
        begin_json(&line, "lost", t, took_ms);
        buf_text(&line, "}");
    } else {
        buf_printf(&line, "belfry: %s: ended after %s, without its lease", t->id,
                   field_duration(took_ms).text);
    }
    put_line(r, &line);
}

void report_failed(struct report *r, const struct task *t, int64_t took_ms, struct buf *ret_note)
{
    struct buf error = { 0 };

    r->failed++;
    if (cli_speaks_json()) {
        task_error(t, &error);
        begin_json(ret_note, "failed", t, took_ms);
        json_quote_in(ret_note, ",\"error\":", buf_view(&error), "");
    } else {
        task_why(t, &error);
        buf_printf(ret_note, "belfry: %s: failed after %s: %.*s", t->id,
                   field_duration(took_ms).text, STR_ARG(buf_view(&error)));
    }
    buf_fini(&error);
}

/* "; attempt 2 of 3, retry in 1s", "; attempt 3 of 3, dead" */
static void put_next(struct buf *line, struct str state, int64_t attempt, int64_t attempts,
                     int64_t in_ms)
{
    if (attempt > 0)
        buf_printf(line, "; attempt %lld", (long long)attempt);
    if (attempt > 0 && attempts > 0)
        buf_printf(line, " of %lld", (long long)attempts);
    if (in_ms > 0)
        buf_printf(line, ", retry in %s", field_duration(in_ms).text);
    else if (str_eq(state, STR("scheduled")))
        buf_text(line, ", retry now");
    else
        buf_printf(line, ", %.*s", STR_ARG(state));
}

void report_next(struct report *r, struct str note, const struct resp_values *v)
{
    struct str state = v ? client_text(v, 0, "state") : STR("unknown");
    int64_t attempt = v ? client_int(v, 0, "attempt", 0) : 0;
    int64_t attempts = v ? client_int(v, 0, "attempts", 0) : 0;
    int64_t at_ms = v ? client_int(v, 0, "at_ms", 0) : 0;
    int64_t in_ms = at_ms > 0 ? at_ms - time_wall_ms() : 0;
    struct buf line = { 0 };

    r->dead += str_eq(state, STR("dead"));
    buf_str(&line, note);
    if (cli_speaks_json()) {
        json_quote_in(&line, ",\"state\":", state, "");
        if (attempt > 0)
            buf_printf(&line, ",\"attempt\":%lld,\"attempts\":%lld", (long long)attempt,
                       (long long)attempts);
        if (at_ms > 0)
            buf_printf(&line, ",\"at_ms\":%lld", (long long)at_ms);
        buf_text(&line, "}");
    } else if (v) {
        put_next(&line, state, attempt, attempts, in_ms);
    } else {
        buf_text(&line, "; the server is told when it is back");
    }
    put_line(r, &line);
}
