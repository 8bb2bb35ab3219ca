/* SPDX-License-Identifier: MIT */
/*
 * Repairing a journal: each faulty segment is written anew with everything whole that it has. An
 * empty commit takes the place of each lost one. So all other commits keep their numbers, and every
 * segment has the length that the next segment tells.
 */
#include "fsck/fsck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fsck/journal.h"
#include "fsck/records.h"
#include "fsck/runs.h"
#include "store/disk.h"
#include "store/salvage.h"

struct rewrite {
    const struct journal *j;
    size_t index;
    const struct journal_segment *s;
    struct salvage *to;
    uint64_t next;   /* commit to be written */
    uint64_t before; /* commits of the segment before */
    struct commit_head head;
};

/* How many commits the repaired segment has: as many as are known of, and at least one. */
static uint64_t target_commits(const struct journal_segment *s)
{
    uint64_t n = s->limit != JOURNAL_UNKNOWN ? s->limit : s->next;

    return n ? n : 1;
}

static int put_placeholder(struct rewrite *r)
{
    struct buf b = { 0 };
    int err;

    record_head(&b, r->head.epoch, r->head.wall_ms);
    if (r->next == 0) /* next_seq 0 claims nothing: other segments say more */
        record_put_begin(&b, &(struct begin_record){ .previous = r->before });
    if (r->next == 0)
        engine_put_secret(r->j->engine, &b);
    err = b.failed ? BELFRY_NOMEM : salvage_put(r->to, buf_view(&b));
    buf_fini(&b);
    r->next++;
    return err;
}

static int fill_up(struct rewrite *r, uint64_t next)
{
    int err = 0;

    while (r->next < next && !err)
        err = put_placeholder(r);
    return err;
}

static bool is_malformed(const struct rewrite *r, uint64_t seq)
{
    for (size_t i = 0; i < r->j->finding_count; i++) {
        const struct journal_finding *f = &r->j->findings[i];

        if (f->segment == r->index && f->malformed && f->first == seq)
            return true;
    }
    return false;
}

static int keep_element(void *arg, uint64_t seq, struct str element)
{
    struct rewrite *r = arg;
    struct str body;
    int err;

    if (seq >= r->s->limit || is_malformed(r, seq))
        return 0;
    err = fill_up(r, seq);
    if (err)
        return err;
    journal_first_record(element, &r->head, &body);
    r->next++;
    return salvage_put(r->to, element);
}

/* Makes an empty file first, since a salvage takes the place of one. */
static int salvage_missing(const struct journal *j, struct str log, const char *path,
                           struct salvage **ret)
{
    struct disk d;
    int fd, err;

    disk_init(&d, 0);
    err = disk_make_parent(&d, path);
    if (err)
        return disk_fail(err, path, "create directory");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return store_fail(BELFRY_IO, "%s: create: %s", path, strerror(errno));
    close(fd);
    err = salvage_new(j->dir, log, ret);
    if (err)
        unlink(path);
    return err;
}

static int rewrite_segment(const struct journal *j, size_t index, char ret_kept[PATH_MAX])
{
    const struct journal_segment *s = &j->segments[index];
    struct rewrite r = { .j = j, .index = index, .s = s, .head = s->head };
    struct journal_name name = journal_log(j, SEGMENTS, s->number);
    struct str log = str_of(name.text);
    int err;

    r.before = index ? target_commits(s - 1) : 0;
    err = s->missing ? salvage_missing(j, log, journal_path(j, SEGMENTS, s->number).text, &r.to)
                     : salvage_new(j->dir, log, &r.to);
    if (err)
        return err;
    if (!s->missing && !s->headless)
        err = store_salvage(j->dir, log, keep_element, NULL, &r);
    if (!err)
        err = fill_up(&r, target_commits(s));
    if (!err)
        err = salvage_commit(r.to, ret_kept);
    salvage_free(r.to);
    return err;
}

/* Tells the fate of one segment, with a line for each finding. */
static void tell_segment(const struct journal *j, size_t index, const char *kept)
{
    const struct journal_segment *s = &j->segments[index];
    unsigned long long n = target_commits(s), lost = n - s->whole, bytes = 0;

    for (size_t i = 0; i < j->finding_count; i++)
        if (j->findings[i].segment == index)
            bytes += j->findings[i].bytes;
    if (s->missing && s->limit == JOURNAL_UNKNOWN)
        printf("segment %u: an empty one %s its place; nobody knows how many commits it had\n",
               s->number, kept ? "takes" : "can take");
    else
        printf("segment %u: %llu of %llu commits %s, %llu lost (%llu bytes damaged)\n", s->number,
               (unsigned long long)s->whole, n, kept ? "kept" : "can be kept", lost, bytes);
    for (size_t i = 0; i < j->finding_count; i++) {
        const struct journal_finding *f = &j->findings[i];

        if (f->segment != index)
            continue;
        printf("    %s", f->what);
        if (f->bytes)
            printf(", offset %llu, %llu bytes", (unsigned long long)f->offset,
                   (unsigned long long)f->bytes);
        if (f->lost)
            printf(": commit%s %llu to %llu", f->lost > 1 ? "s" : "", (unsigned long long)f->first,
                   (unsigned long long)(f->first + f->lost - 1));
        printf("\n");
    }
    if (kept && !s->missing)
        printf("    the damaged file is kept as %s\n", kept);
}

/* Repairs one partition's segments; *lost counts commits. */
static int repair_segments(const struct journal *j, bool dry, unsigned long long *lost)
{
    for (size_t i = 0; i < j->segment_count; i++) {
        char kept[PATH_MAX];
        int err;

        if (!j->segments[i].faulty)
            continue;
        err = dry ? 0 : rewrite_segment(j, i, kept);
        if (err)
            return err;
        tell_segment(j, i, dry ? NULL : kept);
        *lost += target_commits(&j->segments[i]) - j->segments[i].whole;
    }
    return 0;
}

/* The findings and repairs in all partitions. */
struct outcome {
    bool any;                /* something was to be repaired */
    unsigned long long lost; /* commits */
    size_t left;             /* runs that stay damaged */
};

static void tell_meaning(const char *dir, bool dry, const struct outcome *o)
{
    if (o->lost)
        printf(
            "\nWhat a lost commit can mean: jobs that were created in it are gone; jobs that were\n"
            "completed, cancelled or moved in it are as they were before, and may run again;\n"
            "settings of a queue that were changed in it are the old ones.\n");
    if (o->left)
        printf("\nRepair has no way to bring back what is lost in %zu run%s.\n%s", o->left,
               o->left == 1 ? "" : "s", runs_advice);
    if (!o->any)
        printf("\nNothing was changed.\n");
    else if (dry)
        printf("\nNothing was changed. To do it: belfry repair %s\n", dir);
    else
        printf("\n%s is repaired%s: a server can start on it.\n", dir,
               o->left ? " but for the runs" : "");
}

/* Strays come first: once the journal is whole again, a server would remove them. */
static int repair_loaded(const struct runs *r, bool dry, struct outcome *o)
{
    const struct journal *j = &r->j;
    int err = runs_keep_strays(r, dry, &o->any);

    if (!err && journal_faults(j)) {
        o->any = true;
        err = repair_segments(j, dry, &o->lost);
        if (!err)
            err = records_restore_owner(j, dry);
    }
    return err ? err : runs_repair(r, dry, &o->any, &o->left);
}

static int repair_partition(const struct fsck_options *o, struct store *store, uint16_t partition,
                            struct outcome *out)
{
    struct runs r;
    int err = runs_load(&r, store, partition, o);

    if (!err)
        err = repair_loaded(&r, o->dry, out);
    runs_fini(&r);
    return err;
}

int fsck_repair(const struct fsck_options *o)
{
    struct store *store;
    uint16_t partitions;
    struct outcome out = { 0 };
    int err = records_set_aside(o->dir, o->dry, &out.any);

    if (!err)
        err = journal_store(o->dir, &store, &partitions);
    if (err)
        return err;
    for (uint16_t i = 0; i < partitions && !err; i++)
        err = repair_partition(o, store, i, &out);
    store_close(store);
    if (err)
        return err;
    if (out.any || out.left)
        tell_meaning(o->dir, o->dry, &out);
    else
        printf("%s: nothing to repair\n", o->dir);
    return out.left ? FSCK_DAMAGED : FSCK_FINE;
}
