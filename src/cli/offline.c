/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/error.h"
#include "fsck/fsck.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/progress.h"

const struct flag_row repair_flags[] = {
    { "dry-run", NULL, "say what would be done and lost; change nothing",
      FLAG_SET(struct fsck_options, dry) },
    { 0 },
};

/* Reads the options and the directory. -1 to go on; or an exit code, with messages written. */
static int read_options(struct flags *f, const char *command, struct fsck_options *ret)
{
    const char *env = getenv("BELFRY_DATA");
    int which;

    while ((which = flag_read(f, ret)) == FLAG_WORD && !ret->dir)
        ret->dir = f->value;
    if (which != FLAG_END) {
        cli_say("%s; see belfry help %s", which == FLAG_BAD ? f->why : "one directory at a time",
                command);
        return CHECK_UNREADABLE; /* not the 2 of a wrong command line: that means damage */
    }
    if (f->cli->help)
        return help_topic(command);
    if (!ret->dir)
        ret->dir = env && *env ? env : "data";
    return -1;
}

/* Says why there is no verdict, and answers the exit code. */
static int say_failure(const char *dir, int err)
{
    cli_say("%s%s", fsck_detail(err),
            err == BELFRY_LOCKED ? "; stop the server first, then repair" : "");
    if (err != BELFRY_CORRUPT)
        return CHECK_UNREADABLE;
    cli_say("%s is damaged; see `belfry repair %s`", dir, dir);
    return CHECK_DAMAGED;
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
    struct progress *p = arg;

    if (done == 0)
        progress_begin(p, "runs", total, false);
    else if (done == total)
        progress_end(p);
    else
        progress_show(p, done);
}

static int run_offline(struct cli *cli, int argc, char **argv, const struct flag_row *rows,
                       const char *command, int (*work)(const struct fsck_options *o))
{
    struct flags f = { .cli = cli, .rows = rows, .argc = argc, .argv = argv };
    struct fsck_options o = { 0 };
    struct progress progress;
    int result = read_options(&f, command, &o);

    if (result >= 0)
        return result;
    o.json = cli->json;
    o.progress = o.json ? NULL : show_progress;
    o.arg = &progress;
    result = work(&o);
    if (result < 0)
        return say_failure(o.dir, result);
    return result == FSCK_FINE ? CHECK_FINE : CHECK_DAMAGED;
}

int check_run(struct cli *cli, int argc, char **argv)
{
    return run_offline(cli, argc, argv, NULL, "check", fsck_check);
}

int repair_run(struct cli *cli, int argc, char **argv)
{
    return run_offline(cli, argc, argv, repair_flags, "repair", fsck_repair);
}
