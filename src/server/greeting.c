/* SPDX-License-Identifier: MIT */
#include "server/greeting.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_PORT 2355
#define LOOPBACK     "127.0.0.1"

/* The address by which programs of this machine reach the server. */
static const char *host_of(const struct greeting *g)
{
    static const char *const any[] = { "0.0.0.0", "::", "localhost" };

    for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
        if (strcmp(g->bind, any[i]) == 0)
            return LOOPBACK;
    return g->bind;
}

static void put_url(const struct greeting *g, const char *path, struct buf *out)
{
    const char *host = host_of(g);
    bool colons = strchr(host, ':');

    buf_printf(out, "%s://%s%s%s:%d%s", g->tls_only ? "https" : "http", colons ? "[" : "", host,
               colons ? "]" : "", g->port, path);
}

/* The program with the flags that every command needs here. */
static void put_call(const struct greeting *g, const char *words, struct buf *out)
{
    buf_printf(out, "    %s", g->program);
    if (strcmp(host_of(g), LOOPBACK) != 0)
        buf_printf(out, " --host %s", host_of(g));
    if (g->port != DEFAULT_PORT)
        buf_printf(out, " --port %d", g->port);
    if (g->tls_only)
        buf_text(out, " --tls");
    buf_printf(out, " %s\n", words);
}

static void put_redis(const struct greeting *g, const char *words, struct buf *out)
{
    buf_text(out, "    redis-cli");
    if (g->tls_only)
        buf_text(out, " --tls");
    if (strcmp(host_of(g), LOOPBACK) != 0)
        buf_printf(out, " -h %s", host_of(g));
    buf_printf(out, " -p %d %s\n", g->port, words);
}

void greeting_put(const struct greeting *g, struct buf *out)
{
    buf_printf(out, "\nBelfry %s runs jobs at their time. In another terminal:\n\n",
               BELFRY_VERSION);
    put_call(g, "schedule hello --in 2s --payload hi", out);
    put_call(g, "work hello -- cat", out);
    buf_text(out, "\nThe worker runs until ^C. Or with any Redis client:\n\n");
    put_redis(g, "SCHEDULE hello hi IN 2s", out);
    put_redis(g, "LEASE hello WAIT 5s", out);
    put_redis(g, "COMPLETE <id> <token>", out);
    buf_text(out, "\nId and token are in the answer of LEASE.\n\n");
    if (g->dashboard) {
        buf_text(out, "The dashboard is at ");
        put_url(g, "/", out);
        buf_text(out, "\n");
    }
    buf_text(out, "HTTP is described at ");
    put_url(g, "/docs", out);
    if (g->tokens)
        buf_text(out, "\nEvery client needs a token: put it into a file that BELFRY_AUTH_FILE "
                      "names.");
    buf_text(out, "\n^C stops the server.\n\n");
}

/* Whether a directory of PATH has the program, before any other directory has one of its name. */
static bool is_on_path(const char *program, const char *path)
{
    char found[PATH_MAX], real[PATH_MAX];

    while (path && *path) {
        size_t n = strcspn(path, ":");

        snprintf(found, sizeof(found), "%.*s/belfry", (int)n, path);
        if (n > 0 && access(found, X_OK) == 0)
            return realpath(found, real) && strcmp(real, program) == 0;
        path += n + (path[n] == ':');
    }
    return false;
}

void greeting_program(const char *self, const char *cwd, const char *path, struct buf *out)
{
    const char *slash = strrchr(self, '/');
    char beside[PATH_MAX], real[PATH_MAX];
    size_t below = strlen(cwd);

    snprintf(beside, sizeof(beside), "%.*s/belfry", slash ? (int)(slash - self) : 0, self);
    if (!slash || !realpath(beside, real) || is_on_path(real, path))
        buf_text(out, "belfry");
    else if (strncmp(beside, cwd, below) == 0 && beside[below] == '/')
        buf_printf(out, "%s%s", strchr(beside + below + 1, '/') ? "" : "./", beside + below + 1);
    else
        buf_text(out, beside);
}
