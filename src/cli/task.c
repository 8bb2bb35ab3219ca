/* SPDX-License-Identifier: MIT */
#include "cli/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/json_quote.h"
#include "cli/cli.h"
#include "cli/field.h"

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(int *in, int *out, int *err)
{
    close_end(in);
    close_end(out);
    close_end(err);
}

static void set_number(const char *name, int64_t v)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)v);
    setenv(name, text, 1);
}

/* Sets a variable to these bytes. A variable cannot hold a byte 0. If the bytes have one, they go
 * to NAME_BASE64 instead, and NAME is not set. */
static void set_bytes(const char *name, struct str s)
{
    bool whole = s.len == 0 || !memchr(s.ptr, '\0', s.len);
    struct buf text = { 0 }, other = { 0 };

    buf_printf(&other, "%s_BASE64%c", name, '\0');
    if (whole)
        buf_str(&text, s);
    else
        base64_put(&text, s);
    buf_append(&text, "", 1);
    if (!text.failed && !other.failed) {
        unsetenv(whole ? other.ptr : name);
        setenv(whole ? name : other.ptr, text.ptr, 1);
    }
    buf_fini(&text);
    buf_fini(&other);
}

static void unset_bytes(const char *name)
{
    set_bytes(name, (struct str){ 0 }); /* without NAME_BASE64 */
    unsetenv(name);
}

#define META_PREFIX "BELFRY_META_"

/* Drops the metadata of another job, in case belfry runs for one itself. */
static void unset_metas(void)
{
    for (char **at = environ; *at;) {
        char name[256];
        size_t len = strcspn(*at, "=");

        if (strncmp(*at, META_PREFIX, sizeof(META_PREFIX) - 1) != 0 || len >= sizeof(name)) {
            at++;
            continue;
        }
        memcpy(name, *at, len);
        name[len] = '\0';
        unsetenv(name);
        at = environ; /* it may be another by now */
    }
    unsetenv("TRACEPARENT");
    unsetenv("TRACESTATE");
}

#define META_NAME (sizeof(META_PREFIX) + 128)

/* BELFRY_META_ and the name in capitals, with _ for all but letters and digits. */
static void meta_variable(struct str meta, char ret[META_NAME])
{
    size_t n = sizeof(META_PREFIX) - 1;

    memcpy(ret, META_PREFIX, n);
    for (size_t i = 0; i < meta.len && n + 1 < META_NAME; i++) {
        char c = meta.ptr[i];

        ret[n++] = (char)(c >= 'a' && c <= 'z'                               ? c - 'a' + 'A'
                          : (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c
                                                                             : '_');
    }
    ret[n] = '\0';
}

/* Whether metadata of another name would have this variable, too. */
static bool is_shared(const struct task_job *job, const struct task_meta *m, const char *variable)
{
    char other[META_NAME];

    for (size_t i = 0; i < job->meta_count; i++) {
        meta_variable(job->metas[i].name, other);
        if (&job->metas[i] != m && strcmp(other, variable) == 0)
            return true;
    }
    return false;
}

/* If two names of metadata would have one variable, the variable is not set. Otherwise the command
 * could take one value for the other. */
static void set_meta(const struct task_job *job, const struct task_meta *m)
{
    char name[META_NAME];

    meta_variable(m->name, name);
    if (!is_shared(job, m, name))
        set_bytes(name, m->value);
    if (str_eq(m->name, STR("traceparent")))
        set_bytes("TRACEPARENT", m->value);
    if (str_eq(m->name, STR("tracestate")))
        set_bytes("TRACESTATE", m->value);
}

static void set_environment(const struct task_job *job)
{
#define SET_TEXT(name, variable)        \
    if (job->name.len > 0)              \
        set_bytes(variable, job->name); \
    else                                \
        unset_bytes(variable);
    TASK_TEXTS(SET_TEXT)
#undef SET_TEXT
#define SET_NUMBER(name, variable, otherwise) set_number(variable, job->name);
    TASK_NUMBERS(SET_NUMBER)
#undef SET_NUMBER
    if (job->recurrence.len == 0)
        unsetenv("BELFRY_NOMINAL_MS");
    unset_metas();
    for (size_t i = 0; i < job->meta_count; i++)
        set_meta(job, &job->metas[i]);
}

/* In the child; does not return. */
static void become(const struct task_job *job, char *const *argv, int in, int out, int err)
{
    sigset_t none;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    set_environment(job);
    dup2(in, STDIN_FILENO);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* A pipe whose end of ours does not block. ours: 0 we read, 1 we write. */
static bool open_pipe(int ours, int *ret_ours, int *ret_theirs)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    fcntl(ends[ours], F_SETFL, O_NONBLOCK);
    *ret_ours = ends[ours];
    *ret_theirs = ends[1 - ours];
    return true;
}

int task_start(struct task *t, const struct task_job *job, char *const *argv,
               enum task_output output, int64_t now_ms)
{
    int in = -1, out = -1, err = -1, failed;
    bool ok;

    *t = (struct task){
        .in = -1, .out = -1, .err = -1, .kill_ms = INT64_MAX, .started_ms = now_ms, .output = output
    };
    snprintf(t->id, sizeof(t->id), "%.*s", STR_ARG(job->id));
    snprintf(t->token, sizeof(t->token), "%.*s", STR_ARG(job->token));
    buf_str(&t->payload, job->payload);
    ok = !t->payload.failed && open_pipe(1, &t->in, &in) && open_pipe(0, &t->err, &err) &&
         (output == TASK_PASSED || open_pipe(0, &t->out, &out));
    if (ok)
        t->pid = fork();
    if (ok && t->pid == 0)
        become(job, argv, in, out, err);
    failed = errno;
    close_ends(&in, &out, &err);
    if (!ok || t->pid < 0) {
        task_clear(t);
        errno = failed;
        return BELFRY_IO;
    }
    setpgid(t->pid, t->pid);
    task_move(t);
    return 0;
}

size_t task_polls(const struct task *t, struct pollfd *ret)
{
    size_t n = 0;

    if (t->in >= 0)
        ret[n++] = (struct pollfd){ .fd = t->in, .events = POLLOUT };
    if (t->out >= 0)
        ret[n++] = (struct pollfd){ .fd = t->out, .events = POLLIN };
    if (t->err >= 0)
        ret[n++] = (struct pollfd){ .fd = t->err, .events = POLLIN };
    return n;
}

static void feed(struct task *t)
{
    while (t->in >= 0) {
        size_t left = t->payload.len - t->written;
        ssize_t n = left ? write(t->in, t->payload.ptr + t->written, left) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0)
            t->written += (size_t)n;
        /* All written, or it does not want to read it. */
        if (n < 0 || t->written == t->payload.len) {
            close_end(&t->in);
            buf_fini(&t->payload);
        }
    }
}

static void keep_tail(struct task *t, const char *data, size_t len)
{
    size_t take = len < TASK_TAIL ? len : TASK_TAIL;
    size_t keep = t->tail_len < TASK_TAIL - take ? t->tail_len : TASK_TAIL - take;

    memmove(t->tail, t->tail + t->tail_len - keep, keep);
    memcpy(t->tail + keep, data + len - take, take);
    t->tail_len = keep + take;
}

static void pass_on(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* Writes a line of the command behind its job's id. */
static void put_line(const struct task *t, int fd, struct str line)
{
    struct buf out = { 0 };

    if (fd == STDERR_FILENO && cli_speaks_json()) {
        buf_printf(&out, "{\"event\":\"output\",\"id\":\"%s\"", t->id);
        json_quote_in(&out, ",\"text\":", line, "}\n");
    } else {
        buf_printf(&out, "%s | ", t->id);
        buf_str(&out, line);
        buf_text(&out, "\n");
    }
    pass_on(fd, out.ptr, out.len);
    buf_fini(&out);
}

/* Passes on whole lines, and at the end the rest. A line is cut where it is longer than
 * TASK_LINE_MAX. */
static void pass_lines(struct task *t, int fd, struct str data, bool end)
{
    struct buf *pending = &t->lines[fd == STDERR_FILENO];

    buf_str(pending, data);
    while (pending->len > 0) {
        const char *stop = memchr(pending->ptr, '\n', pending->len);
        size_t len = stop ? (size_t)(stop - pending->ptr) : pending->len;

        if (!stop && !end && pending->len < TASK_LINE_MAX)
            break;
        put_line(t, fd, (struct str){ pending->ptr, len });
        buf_consume(pending, len + (stop != NULL));
    }
}

/* Takes bytes of standard error. */
static void take_error(struct task *t, const char *data, size_t len)
{
    if (t->output == TASK_PREFIXED || cli_speaks_json())
        pass_lines(t, STDERR_FILENO, (struct str){ data, len }, false);
    else
        pass_on(STDERR_FILENO, data, len);
    keep_tail(t, data, len);
}

/* Reads the bytes that have come from one of the two outputs. */
static void drain(struct task *t, int *fd, bool is_error)
{
    char data[16384];

    while (*fd >= 0) {
        ssize_t n = read(*fd, data, sizeof(data));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close_end(fd);
        } else if (is_error) {
            take_error(t, data, (size_t)n);
        } else if (t->output == TASK_PREFIXED) {
            pass_lines(t, STDOUT_FILENO, (struct str){ data, (size_t)n }, false);
        } else {
            size_t room = TASK_RESULT_MAX - t->result.len;

            t->cut = t->cut || (size_t)n > room;
            buf_append(&t->result, data, (size_t)n < room ? (size_t)n : room);
        }
    }
}

void task_move(struct task *t)
{
    feed(t);
    drain(t, &t->out, false);
    drain(t, &t->err, true);
}

void task_end(struct task *t, enum task_fate why, int64_t now_ms)
{
    if (t->fate != TASK_WANTED)
        return;
    t->fate = why;
    t->kill_ms = now_ms + TASK_GRACE_MS;
    kill(-t->pid, SIGTERM);
}

void task_kill(struct task *t)
{
    t->kill_ms = INT64_MAX;
    kill(-t->pid, SIGKILL);
}

bool task_reap(struct task *t)
{
    if (waitpid(t->pid, &t->status, WNOHANG) != t->pid)
        return false;
    task_move(t);
    pass_lines(t, STDOUT_FILENO, (struct str){ 0 }, true);
    pass_lines(t, STDERR_FILENO, (struct str){ 0 }, true);
    close_ends(&t->in, &t->out, &t->err);
    return true;
}

void task_why(const struct task *t, struct buf *out)
{
    if (t->fate == TASK_TIMED_OUT)
        buf_printf(out, "timed out after %s", field_duration(t->limit_ms).text);
    else if (WIFSIGNALED(t->status))
        buf_printf(out, "killed by signal %d", WTERMSIG(t->status));
    else
        buf_printf(out, "exit status %d", WEXITSTATUS(t->status));
}

void task_error(const struct task *t, struct buf *out)
{
    struct str tail = { t->tail, t->tail_len };
    size_t head = out->len;

    task_why(t, out);
    while (tail.len > 0 && strchr(" \t\r\n", tail.ptr[tail.len - 1]))
        tail.len--;
    if (tail.len == 0)
        return;
    buf_text(out, ": ");
    /* The server keeps so many bytes: the end of the text is worth more, from a whole character on.
     */
    if (tail.len > TASK_TAIL - (out->len - head)) {
        size_t drop = tail.len - (TASK_TAIL - (out->len - head));
        tail = str_from(tail, drop);
    }
    while (tail.len > 0 && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
        tail = str_from(tail, 1);
    buf_str(out, tail);
}

void task_clear(struct task *t)
{
    close_ends(&t->in, &t->out, &t->err);
    buf_fini(&t->payload);
    buf_fini(&t->result);
    buf_fini(&t->lines[0]);
    buf_fini(&t->lines[1]);
    *t = (struct task){ .in = -1, .out = -1, .err = -1 };
}
