/* SPDX-License-Identifier: MIT */
#include "support/drive.h"

bool drive_round(struct partition *p, drive_chore_fn *ended, void *arg)
{
    bool more = partition_work(p, INT64_MAX);

    for (int i = 0; i < CHORE_KINDS; i++) {
        struct chore *c = partition_chore(p, (enum chore_kind)i);
        const char *name = c ? chore_name(c) : NULL;

        if (!c)
            continue;
        ended(arg, name, partition_chore_done(p, c, chore_run(c)));
        more = true;
    }
    return more;
}

int drive_settle(struct partition *p, int rounds_max, drive_chore_fn *ended, void *arg)
{
    for (int i = 0; i < rounds_max; i++) {
        bool more = drive_round(p, ended, arg);
        int err = partition_flush(p);

        if (err || !more)
            return err;
    }
    return BELFRY_BUSY;
}

int drive_fetch(struct partition *p, struct fetch **f)
{
    int err;

    drive_fetch_end(p, f);
    *f = partition_fetch(p);
    if (!*f)
        return BELFRY_NOMEM;
    do
        err = partition_fetched(p, *f, fetch_run(*f));
    while (err == BELFRY_COLD);
    return err;
}

void drive_fetch_end(struct partition *p, struct fetch **f)
{
    if (*f)
        partition_fetch_end(p, *f);
    *f = NULL;
}
