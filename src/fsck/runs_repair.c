/* SPDX-License-Identifier: MIT */
/* How `belfry repair` treats runs. A server goes on without the entries that it cannot read, and
 * repair never takes readable entries away. A run whose data is whole gets its header, index,
 * filter and root back. */
#include <stdio.h>
#include <unistd.h>

#include "fsck/records.h"
#include "fsck/runs.h"
#include "store/datadir.h"

int runs_keep_strays(const struct runs *r, bool dry, bool *ret_any)
{
    char path[PATH_MAX], kept[PATH_MAX];
    struct disk d;
    int lock, err;

    if (!runs_strays_matter(r))
        return 0;
    *ret_any = true;
    printf("%zu file%s of runs that no record knows: a server would remove them, but the records\n"
           "may be among what is damaged, so they %s moved to %s/damaged\n",
           r->stray_count, r->stray_count == 1 ? "" : "s", dry ? "would be" : "are", r->j.dir);
    if (dry)
        return 0;
    disk_init(&d, 0);
    err = datadir_open(&d, r->j.dir, &lock);
    if (err)
        return err;
    for (size_t at = 0; at < r->strays.len && !err; at += strlen(r->strays.ptr + at) + 1) {
        const char *log = r->strays.ptr + at;

        datadir_log_path(r->j.dir, str_of(log), path);
        err = records_keep(&d, r->j.dir, path, log, kept);
        if (!err)
            printf("    kept as %s\n", kept);
    }
    close(lock);
    return err;
}

static void tell_run(const struct runs *r, const struct runs_finding *f)
{
    struct buf loss = { 0 };

    runs_put_loss(&loss, f);
    printf("run %u, %s: %s: %s\n    %.*s\n", f->d->file, runs_kind(f->d->family)->words,
           journal_path(&r->j, RUNS, f->d->file).text, f->what, STR_ARG(buf_view(&loss)));
    buf_fini(&loss);
}

static int mend_run(const struct runs *r, const struct runs_finding *f, bool dry)
{
    struct journal_name log = journal_log(&r->j, RUNS, f->d->file);
    struct rebuild b = { .dir = r->j.dir, .log = str_of(log.text), .d = f->d };
    char kept[PATH_MAX];
    int err;

    if (dry) {
        printf("    what is damaged of it can be written anew: nothing is lost\n");
        return 0;
    }
    err = rebuild_look(&b);
    if (!err)
        err = rebuild_run(&b, kept);
    if (err)
        return err;
    printf("    what was damaged of it is written anew: nothing is lost\n"
           "    the damaged file is kept as %s\n",
           kept);
    return 0;
}

int runs_repair(const struct runs *r, bool dry, bool *ret_any, size_t *left)
{
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct runs_finding *f = &r->findings[i];
        int err = 0;

        tell_run(r, f);
        if (f->mendable) {
            *ret_any = true;
            err = mend_run(r, f, dry);
        } else {
            printf("    it stays as it is\n");
            ++*left;
        }
        if (err)
            return err;
    }
    return 0;
}
