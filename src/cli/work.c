/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/program.h"
#include "cli/worker.h"
#include "engine/types.h"

static bool take_tenant(struct flags *f, void *ret)
{
    struct str name = str_of(f->value);

    if (!name_valid(name) && !str_eq(name, STR(TENANT_ALL)))
        return flag_refuse(f, "tenant: expected 1-128 characters of A-Z a-z 0-9 . _ - : /, or *");
    return flag_take_text(f, ret);
}

/* The worker sends the length of a lease as it was given. */
static bool take_length(struct flags *f, void *ret)
{
    int64_t ms;

    return flag_take_duration(f, &ms) && flag_take_text(f, ret);
}

const struct flag_row work_flags[] = {
    { "jobs", "N", "how many commands run at a time; 1 if not given", .letter = 'j',
      FLAG_INT(struct worker_options, slots, 1, WORKER_SLOTS_MAX) },
    { "tenant", "NAME", "the tenant; `default` if not given; `*` for all tenants, which take turns",
      .take = take_tenant, FLAG_MEMBER(struct worker_options, tenant) },
    { "for", "DURATION",
      "length of a lease; if not given, that of the job, or else that of the queue. It is extended "
      "after each third of it",
      .take = take_length, FLAG_MEMBER(struct worker_options, lease_for) },
    { "worker", "NAME", "name of the worker in the history of jobs; host:pid if not given",
      FLAG_TEXT(struct worker_options, name) },
    { "timeout", "DURATION",
      "how long a command may run; then it gets SIGTERM, SIGKILL 5s later, and the attempt has "
      "failed",
      FLAG_DURATION(struct worker_options, timeout_ms, 1) },
    { "shell", "TEXT", "run this text with `sh -c`, in place of a COMMAND",
      FLAG_TEXT(struct worker_options, shell) },
    { "no_prefix", NULL,
      "with -j: pass the output of commands as it is, without the id of the job before each line",
      FLAG_SET(struct worker_options, no_prefix) },
    { "result", NULL, "keep standard output as the job's result (up to 64 KiB)",
      FLAG_SET(struct worker_options, capture) },
    { "once", NULL, "run one job, wait for it if there is none, then stop",
      FLAG_SET(struct worker_options, once) },
    { "drain", NULL, "stop when there is no work", FLAG_SET(struct worker_options, drain) },
    { "quiet", NULL, "say nothing of start, end and jobs that end", .letter = 'q',
      FLAG_SET(struct worker_options, quiet) },
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

/* The first word names the queues; the second begins the command, which is left alone. */
static int read_flags(struct worker_options *o, struct flags *f)
{
    int which = flag_read(f, o);

    if (which == FLAG_WORD) {
        o->queues = str_of(f->value);
        which = flag_read(f, o);
    }
    if (which == FLAG_WORD)
        o->argv = &f->argv[f->i - 1];
    return which == FLAG_BAD ? cli_usage("work: %s", f->why) : CLI_OK;
}

int work_run(struct cli *cli, int argc, char **argv)
{
    struct worker_options o = { .cli = cli, .slots = 1 };
    struct flags f = { .cli = cli, .rows = work_flags, .argc = argc, .argv = argv };
    char host[64] = "?", name[96];
    char sh[] = "sh", c[] = "-c";
    int code = read_flags(&o, &f);
    char *shell[] = { sh, c, (char *)(uintptr_t)o.shell, NULL };

    if (code != CLI_OK)
        return code;
    if (cli->help)
        return help_topic("work");
    if (o.queues.len == 0)
        return cli_usage("work: no queue given; see belfry help work");
    if (o.shell && o.argv)
        return cli_usage("work: --shell and COMMAND are two commands: leave one out");
    if (o.shell)
        o.argv = shell;
    if (!o.argv)
        return cli_usage("work: no command given: belfry work %.*s -- COMMAND", STR_ARG(o.queues));
    if (!command_exists(o.argv[0]))
        return cli_usage("work: command not found: %s", o.argv[0]);
    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "%s:%d", host, (int)getpid());
    o.name = o.name ? o.name : name;
    return worker_run(&o);
}
