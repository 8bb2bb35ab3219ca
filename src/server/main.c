/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/warm.h"
#include "host/threadpool.h"
#include "server/greeting.h"
#include "server/http/http.h"
#include "server/offline_token.h"
#include "server/push/push.h"
#include "server/server.h"
#include "server/tls.h"

#define LARGE_BYTES (1 << 20)

extern char **environ;

static void greet(const struct server *s)
{
    char self[PATH_MAX], cwd[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    struct buf program = { 0 }, text = { 0 };
    struct greeting g = { .bind = s->options.bind,
                          .port = s->port,
                          .tls_only = s->options.tls.mode == TLS_ONLY,
                          .dashboard = s->options.ui.on,
                          .tokens = engine_token_count(s->host.engine) > 0 };

    if (!isatty(STDOUT_FILENO) && !getenv("BELFRY_GREETING"))
        return;
    self[n > 0 ? n : 0] = '\0';
    greeting_program(self, getcwd(cwd, sizeof(cwd)) ? cwd : "", getenv("PATH"), &program);
    buf_append(&program, "", 1);
    g.program = program.failed ? "belfry" : program.ptr;
    greeting_put(&g, &text);
    if (!text.failed)
        fwrite(text.ptr, 1, text.len, stdout);
    fflush(stdout);
    buf_fini(&program);
    buf_fini(&text);
}

/* Other programs may have variables of such names, so the server starts nevertheless. */
static void tell_unknown(void *arg, const char *name, const char *nearest)
{
    const struct server *s = arg;

    if (*nearest)
        log_warn(&s->log, "an environment variable is no option, and is ignored", "name", name,
                 "nearest", nearest);
    else
        log_warn(&s->log, "an environment variable is no option, and is ignored", "name", name);
}

static int run(struct server *s)
{
    int code = 1;

    s->log.options = &s->options;
    log_start(&s->log);
    options_unknown_env(environ, tell_unknown, s);
    warm_start();
    if (server_init(s) == 0) {
        greet(s);
        code = server_run(s);
    }
    server_fini(s);
    warm_stop();
    if (code == 0)
        log_info(&s->log, "stopped");
    log_stop(&s->log);
    return code;
}

static void print_unknown(void *arg, const char *name, const char *nearest)
{
    fprintf(arg, "belfryd: environment variable %s is no option, and is ignored%s%s%s\n", name,
            *nearest ? ": did you mean " : "", nearest, *nearest ? "?" : "");
}

/* Looks at everything that a start would refuse before it opens the data directory. */
static int check(struct server *s)
{
    int err, pushes, pages;

    s->log.options = &s->options;
    s->log.terminal = true;
    s->options.log.format = LOG_FORMAT_AUTO;
    s->options.log.level = LOG_LEVEL_WARN;
    options_unknown_env(environ, print_unknown, stderr);
    err = tls_open(s);
    pushes = push_check(s);
    pages = http_check(s);
    tls_close(s);
    return err || pushes || pages ? 2 : 0;
}

/* A line for each error. */
static void print_errors(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        fprintf(stderr, "belfryd: %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* Prints, checks or serves, as the options say. Answers the exit code. */
static int obey(struct server *s)
{
    if (s->options.shows.help) {
        options_print_help(stdout);
        return 0;
    }
    if (s->options.shows.version) {
        puts("belfryd " BELFRY_VERSION);
        return 0;
    }
    if (!s->options.shows.check)
        return run(s);
    options_print(&s->options, stdout);
    fflush(stdout);
    return check(s);
}

int main(int argc, char **argv)
{
    struct server *s = calloc(1, sizeof(*s));
    struct option_error err;
    char threads[16];
    int code = 2;

    signal(SIGPIPE, SIG_IGN);
    snprintf(threads, sizeof(threads), "%d", THREADPOOL_DEFAULT);
    setenv(THREADPOOL_VARIABLE, threads, 0);
#ifdef __GLIBC__
    /* Large blocks go back to the system when they are freed. Otherwise each thread of the pool
     * keeps the buffers of its largest merge, beside the budget of `memory`. Other libraries give
     * them back by themselves. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
    if (offline_token_is_meant(argc, argv)) {
        free(s);
        return offline_token_run(argc, argv);
    }
    if (!s || options_init(&s->options) < 0) {
        fputs("belfryd: out of memory\n", stderr);
        return 1;
    }
    if (options_load(&s->options, argc, argv, getenv, &err) < 0)
        print_errors(err.text);
    else
        code = obey(s);
    options_fini(&s->options);
    free(s);
    return code;
}
