/* SPDX-License-Identifier: MIT */
#include "fsck/records.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store/datadir.h"
#include "store/cellfile.h"

/* How far a new epoch is beyond the journal's last: starts without a commit left no trace in it. */
#define EPOCHS_SKIPPED 1000
/* The new epoch if neither journal nor record tells one: beyond that of any server. */
#define EPOCHS_UNKNOWN (UINT64_C(1) << 20)

int records_keep(struct disk *d, const char *dir, const char *path, const char *name,
                 char ret_kept[PATH_MAX])
{
    unsigned n = 0;
    int err;

    do {
        int at = snprintf(ret_kept, PATH_MAX, "%s/damaged/", dir);

        snprintf(ret_kept + at, PATH_MAX - (size_t)at, "%s.%u", name, ++n);
        for (char *c = ret_kept + at; (c = strchr(c, '/')); c++)
            *c = '+';
    } while (access(ret_kept, F_OK) == 0);
    err = disk_make_parent(d, ret_kept);
    if (!err && rename(path, ret_kept) < 0)
        err = -errno;
    if (!err)
        err = disk_sync_parent(d, ret_kept);
    if (!err)
        err = disk_sync_parent(d, path);
    return err ? disk_fail(err, ret_kept, "move") : 0;
}

/* The path that a failure's detail begins with: "data/records/meta: offset 0: why". */
static bool failed_path(char ret[PATH_MAX])
{
    const char *detail = store_detail(), *end = strstr(detail, ": offset ");

    if (!end || end - detail >= PATH_MAX)
        return false;
    memcpy(ret, detail, (size_t)(end - detail));
    ret[end - detail] = '\0';
    return true;
}

/* The caller has locked the directory, unless `dry`. */
static int set_aside(struct disk *d, const char *dir, bool dry, bool *ret_any)
{
    char records_dir[PATH_MAX], path[PATH_MAX], kept[PATH_MAX];
    const char *name;

    snprintf(records_dir, sizeof(records_dir), "%s/records", dir);
    for (;;) {
        struct cellset set = { 0 };
        int err = cellfile_load(records_dir, false, &set);

        cellset_fini(&set);
        if (err != BELFRY_CORRUPT || !failed_path(path))
            return err;
        *ret_any = true;
        printf("record %s\n", store_detail());
        if (dry)
            return 0;
        name = strrchr(path, '/');
        err = records_keep(d, dir, path, name ? name + 1 : path, kept);
        if (err)
            return err;
        printf("    the damaged file is kept as %s\n", kept);
    }
}

int records_set_aside(const char *dir, bool dry, bool *ret_any)
{
    struct disk d;
    int lock = -1, err = datadir_check(dir); /* opening would make a directory */

    if (err)
        return err == BELFRY_CORRUPT ? BELFRY_INVALID : err;
    disk_init(&d, 0);
    err = dry ? 0 : datadir_open(&d, dir, &lock);
    if (!err)
        err = set_aside(&d, dir, dry, ret_any);
    if (lock >= 0)
        close(lock);
    return err;
}

/* The new owner record, of a journal that is whole by now. */
static void new_owner(const struct journal *j, struct owner_note *ret, uint64_t *ret_version)
{
    uint64_t newest = j->newest_epoch > j->note.epoch ? j->newest_epoch : j->note.epoch;

    *ret_version = j->epoch;
    if (j->ownerless)
        *ret_version = newest + (newest ? EPOCHS_SKIPPED : EPOCHS_UNKNOWN);
    *ret = (struct owner_note){ .known = true, .epoch = j->ownerless ? *ret_version : newest };
    for (size_t i = 0; i < j->segment_count; i++)
        if (j->segments[i].faulty || j->segments[i].whole > 0)
            ret->last = j->segments[i].number;
}

int records_restore_owner(const struct journal *j, bool dry)
{
    char records_dir[PATH_MAX], name[OWNER_NAME], text[OWNER_TEXT];
    struct store_cell r = { 0 };
    struct owner_note note;
    struct disk d;
    int lock, err;

    new_owner(j, &note, &r.version);
    owner_name(j->partition, name);
    owner_text(&note, text);
    r.name = str_of(name);
    r.value = str_of(text);
    if (j->ownerless)
        printf("record %s: %s written anew, with epoch %llu\n", name, dry ? "would be" : "is",
               (unsigned long long)r.version);
    if (dry)
        return 0;
    disk_init(&d, 0);
    err = datadir_open(&d, j->dir, &lock);
    if (err)
        return err;
    snprintf(records_dir, sizeof(records_dir), "%s/records", j->dir);
    err = cellfile_write(&d, records_dir, &r);
    if (!err)
        err = cellfile_place(records_dir, r.name);
    if (!err && (err = disk_sync_dir(&d, records_dir)) < 0)
        err = disk_fail(err, records_dir, "sync");
    close(lock);
    return err;
}
