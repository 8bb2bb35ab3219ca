/* SPDX-License-Identifier: MIT */
#include "cli/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/worker.h"
#include "engine/types.h"

enum { JOBS, TENANT, FOR, WORKER, RESULT, ONCE, DRAIN, QUIET };

const struct flag_row work_flags[] = {
    [JOBS] = { .name = "jobs",
               .value = "N",
               .help = "how many commands run at a time; 1 if not given",
               .letter = 'j' },
    [TENANT] = { .name = "tenant",
                 .value = "NAME",
                 .help = "the tenant; `default` if not given; `*` for all tenants, which take "
                         "turns" },
    [FOR] = { .name = "for",
              .value = "DURATION",
              .help = "length of a lease; if not given, that of the job, or else that of the "
                      "queue. It is extended after each third of it" },
    [WORKER] = { .name = "worker",
                 .value = "NAME",
                 .help = "name of the worker in the history of jobs; host:pid if not given" },
    [RESULT] = { .name = "result",
                 .help = "keep standard output as the job's result (up to 64 KiB)" },
    [ONCE] = { .name = "once", .help = "run one job, wait for it if there is none, then stop" },
    [DRAIN] = { .name = "drain", .help = "stop when there is no work" },
    [QUIET] = { .name = "quiet", .help = "say nothing about jobs that end", .letter = 'q' },
    { 0 },
};

static bool executable(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* As execvp would look for it. */
static bool command_exists(const char *name)
{
    const char *path = getenv("PATH");
    char full[4096];

    if (strchr(name, '/'))
        return executable(name);
    for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':')) {
        path += *path == ':';
        size_t len = strcspn(path, ":");
        snprintf(full, sizeof(full), "%.*s%s%s", (int)len, path, len ? "/" : "", name);
        if (executable(full))
            return true;
    }
    return false;
}

static bool tenant_is_valid(struct flags *f)
{
    struct str name = str_of(f->value);

    if (name_valid(name) || str_eq(name, STR(TENANT_ALL)))
        return true;
    snprintf(f->why, sizeof(f->why),
             "tenant: expected 1-128 characters of A-Z a-z 0-9 . _ - : /, or *");
    return false;
}

static bool take_flag(struct worker_options *o, struct flags *f, int which)
{
    int64_t n = 0;

    switch (which) {
    case JOBS:
        if (!flag_int(f, 1, WORKER_SLOTS_MAX, &n))
            return false;
        o->slots = (int)n;
        break;
    case TENANT: o->tenant = f->value; return tenant_is_valid(f);
    case FOR: o->lease_for = f->value; return flag_duration(f, &n);
    case WORKER: o->name = f->value; break;
    case RESULT: o->capture = true; break;
    case ONCE: o->once = true; break;
    case DRAIN: o->drain = true; break;
    case QUIET: o->quiet = true; break;
    default: return false;
    }
    return true;
}

/* The first word names the queues; the second begins the command, which is left alone. */
static int read_flags(struct worker_options *o, struct flags *f)
{
    int which;

    while ((which = flag_next(f)) != FLAG_END) {
        if (which == FLAG_WORD && o->queues.len == 0) {
            o->queues = str_of(f->value);
        } else if (which == FLAG_WORD) {
            o->argv = &f->argv[f->i - 1];
            break;
        } else if (which == FLAG_BAD || !take_flag(o, f, which)) {
            return cli_usage("work: %s", f->why);
        }
    }
    return CLI_OK;
}

int work_run(struct cli *cli, int argc, char **argv)
{
    struct worker_options o = { .cli = cli, .slots = 1 };
    struct flags f = { .cli = cli, .rows = work_flags, .argc = argc, .argv = argv };
    char host[64] = "?", name[96];
    int code = read_flags(&o, &f);

    if (code != CLI_OK)
        return code;
    if (cli->help)
        return help_topic("work");
    if (o.queues.len == 0)
        return cli_usage("work: no queue given; see belfry help work");
    if (!o.argv)
        return cli_usage("work: no command given: belfry work %.*s -- COMMAND", STR_ARG(o.queues));
    if (!command_exists(o.argv[0]))
        return cli_usage("work: command not found: %s", o.argv[0]);
    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "%s:%d", host, (int)getpid());
    o.name = o.name ? o.name : name;
    return worker_run(&o);
}
