/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/warm.h"
#include "host/threadpool.h"
#include "server/server.h"

#define LARGE_BYTES (1 << 20)

/* Tells a person who starts the server by hand how to go on. */
static void greet(const struct server *s)
{
    if (!isatty(STDOUT_FILENO) && !getenv("BELFRY_GREETING"))
        return;
    printf("\nBelfry %s runs jobs at their time. In another terminal:\n\n"
           "    build/belfry schedule hello --in 2s --payload hi\n"
           "    build/belfry work hello -- cat\n\n"
           "or with any Redis client:\n\n"
           "    redis-cli -p %d SCHEDULE hello hi IN 2s\n"
           "    redis-cli -p %d LEASE hello WAIT 5s\n\n",
           BELFRY_VERSION, s->port, s->port);
    fflush(stdout);
}

static int run(struct server *s)
{
    int code = 1;

    s->log.options = &s->options;
    log_start(&s->log);
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

int main(int argc, char **argv)
{
    struct server *s = calloc(1, sizeof(*s));
    struct option_error err;
    char threads[16];
    int code;

    signal(SIGPIPE, SIG_IGN);
    snprintf(threads, sizeof(threads), "%d", THREADPOOL_DEFAULT);
    setenv(THREADPOOL_VARIABLE, threads, 0);
    /* Large blocks go back to the system when they are freed. Otherwise each thread of the pool
     * keeps the buffers of its largest merge, beside the budget of `memory`. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    if (!s || options_init(&s->options) < 0) {
        fputs("belfryd: out of memory\n", stderr);
        return 1;
    }
    if (options_load(&s->options, argc, argv, getenv, &err) < 0) {
        fprintf(stderr, "belfryd: %s\n", err.text);
        code = 2;
    } else if (s->options.help) {
        options_print_help(stdout);
        code = 0;
    } else if (s->options.version) {
        puts("belfryd " BELFRY_VERSION);
        code = 0;
    } else {
        code = run(s);
    }
    options_fini(&s->options);
    free(s);
    return code;
}
