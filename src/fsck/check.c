/* SPDX-License-Identifier: MIT */
#include "fsck/fsck.h"

#include <stdio.h>

#include "base/json_quote.h"
#include "base/quantity.h"
#include "fsck/journal.h"
#include "fsck/runs.h"

static struct journal_path path_of(const struct journal *j, const struct journal_finding *f)
{
    return journal_path(j, SEGMENTS, j->segments[f->segment].number);
}

static void put_json_finding(struct buf *out, const struct journal *j,
                             const struct journal_finding *f)
{
    json_quote_in(out, "{\"file\":", str_of(path_of(j, f).text), ",");
    runs_put_number(out, "segment", j->segments[f->segment].number);
    if (f->bytes) {
        runs_put_number(out, "offset", f->offset);
        runs_put_number(out, "bytes", f->bytes);
    }
    if (f->lost)
        runs_put_number(out, "first_commit", f->first);
    runs_put_number(out, "commits_lost", f->lost);
    json_quote_in(out, "\"what\":", str_of(f->what), "}");
}

static void put_json_record(struct buf *out, const struct journal *j)
{
    if (!j->record_fault[0] && !j->ownerless)
        return;
    json_quote_in(out, "\"damaged_record\":",
                  str_of(j->record_fault[0] ? j->record_fault : "the owner's record is behind"),
                  ",");
}

static void put_json(struct buf *out, const struct runs *r)
{
    const struct journal *j = &r->j;
    struct engine_stats stats;

    engine_stats(j->engine, &stats);
    buf_text(out, "{");
    runs_put_number(out, "partition", j->partition);
    runs_put_number(out, "epoch", j->epoch);
    buf_printf(out, "\"clean\":%s,", j->clean ? "true" : "false");
    runs_put_number(out, "segments", j->segment_count);
    runs_put_number(out, "commits", j->commits);
    runs_put_number(out, "bytes", j->bytes);
    runs_put_number(out, "queues", stats.queues);
    buf_text(out, "\"jobs\":{");
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        buf_printf(out, "%s\"%s\":%llu", i ? "," : "", job_state_name((enum job_state)i),
                   (unsigned long long)stats.jobs[i]);
    buf_text(out, "},");
    if (j->torn_bytes) {
        runs_put_number(out, "torn_bytes", j->torn_bytes);
        json_quote_in(out, "\"torn_at\":", str_of(j->where), ",");
    }
    put_json_record(out, j);
    runs_put_json(out, r);
    buf_text(out, "\"damage\":[");
    for (size_t i = 0; i < j->finding_count; i++) {
        buf_text(out, i ? "," : "");
        put_json_finding(out, j, &j->findings[i]);
    }
    buf_text(out, "]}");
}

static void put_commits(struct buf *out, const struct journal_finding *f)
{
    if (f->lost == 1)
        buf_printf(out, "; commit %llu is lost", (unsigned long long)f->first);
    else if (f->lost > 1)
        buf_printf(out, "; commits %llu to %llu are lost", (unsigned long long)f->first,
                   (unsigned long long)(f->first + f->lost - 1));
}

static void put_jobs(struct buf *out, const struct engine_stats *stats)
{
    bool any = false;

    buf_text(out, "  jobs      ");
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        if (!stats->jobs[i])
            continue;
        buf_printf(out, "%s%s %s", any ? ", " : "", quantity_count((int64_t)stats->jobs[i]).text,
                   job_state_name((enum job_state)i));
        any = true;
    }
    buf_text(out, any ? "\n" : "none\n");
}

static void put_damage(struct buf *out, const struct journal *j)
{
    if (j->record_fault[0])
        buf_printf(out, "  DAMAGE    %s\n", j->record_fault);
    else if (j->ownerless)
        buf_printf(out,
                   "  DAMAGE    record p%04x/owner is missing or behind the journal, which has "
                   "epoch %llu: tokens would be given twice\n",
                   j->partition, (unsigned long long)j->newest_epoch);
    for (size_t i = 0; i < j->finding_count; i++) {
        const struct journal_finding *f = &j->findings[i];

        buf_printf(out, "  DAMAGE    %s", path_of(j, f).text);
        if (f->bytes)
            buf_printf(out, ": offset %llu, %llu bytes", (unsigned long long)f->offset,
                       (unsigned long long)f->bytes);
        buf_printf(out, ": %s", f->what);
        put_commits(out, f);
        buf_text(out, "\n");
    }
}

static void put_text(struct buf *out, const struct runs *r)
{
    const struct journal *j = &r->j;
    struct engine_stats stats;

    engine_stats(j->engine, &stats);
    buf_printf(out, "partition %u of %s\n", j->partition, j->dir);
    buf_printf(out, "  journal   %zu segment%s, %s commit%s, %s\n", j->segment_count,
               j->segment_count == 1 ? "" : "s", quantity_count((int64_t)j->commits).text,
               j->commits == 1 ? "" : "s", quantity_bytes((int64_t)j->bytes).text);
    buf_printf(out, "  epoch     %llu, %s\n", (unsigned long long)j->epoch,
               j->clean ? "closed in order" : "not closed in order, or a server is running");
    put_jobs(out, &stats);
    buf_printf(out, "  queues    %llu\n", (unsigned long long)stats.queues);
    if (j->torn_bytes)
        buf_printf(out, "  torn end  %s: %llu bytes %s; the next start cuts them off\n", j->where,
                   (unsigned long long)j->torn_bytes,
                   j->clean && j->note.known
                       ? "behind the last commit, which are none: nothing is lost"
                       : "of a commit that is not whole: it was being written when the server "
                         "ended, or is damaged");
    put_damage(out, j);
    runs_put_text(out, r);
}

/* How many places are damaged: those that keep a server from starting, and runs. */
struct damage {
    size_t fatal;
    size_t runs;
    size_t mendable; /* of the runs */
};

static void put_verdict(struct buf *out, const char *dir, const struct damage *d)
{
    size_t places = d->fatal + d->runs;

    if (places == 0) {
        buf_text(out, "fine\n");
        return;
    }
    buf_printf(out, "damaged in %zu place%s: a server %s on it\n", places, places == 1 ? "" : "s",
               d->fatal ? "will not start" : "starts");
    if (d->runs > d->mendable)
        buf_text(out, runs_advice);
    if (d->fatal || d->mendable)
        buf_printf(out,
                   "To %s: stop the server, make a copy of %s, and run\n\n"
                   "    belfry repair %s\n",
                   d->fatal ? "keep what is whole" : "mend what can be mended", dir, dir);
}

static int check_partition(const struct fsck_options *o, struct store *store, uint16_t partition,
                           struct buf *out, struct damage *damage)
{
    struct runs r;
    int err = runs_load(&r, store, partition, o);

    if (!err && o->json)
        put_json(out, &r);
    else if (!err)
        put_text(out, &r);
    damage->fatal += journal_faults(&r.j);
    damage->runs += r.finding_count;
    for (size_t i = 0; i < r.finding_count; i++)
        damage->mendable += r.findings[i].mendable;
    runs_fini(&r);
    return err;
}

static int check_partitions(const struct fsck_options *o, struct store *store, uint16_t partitions,
                            struct buf *out)
{
    struct damage damage = { 0 };
    bool whole;
    int err = 0;

    buf_text(out, o->json ? "{\"partitions\":[" : "");
    for (uint16_t i = 0; i < partitions && !err; i++) {
        buf_text(out, o->json && i ? "," : "");
        err = check_partition(o, store, i, out, &damage);
    }
    if (err)
        return err;
    whole = damage.fatal + damage.runs == 0;
    if (o->json)
        buf_printf(out, "],\"ok\":%s}\n", whole ? "true" : "false");
    else
        put_verdict(out, o->dir, &damage);
    return whole ? FSCK_FINE : FSCK_DAMAGED;
}

const char *fsck_detail(int err)
{
    return err == BELFRY_NOMEM ? error_text(err) : store_detail();
}

int fsck_check(const struct fsck_options *o)
{
    struct buf out = { 0 };
    struct store *store;
    uint16_t partitions;
    int result = journal_store(o->dir, &store, &partitions);

    if (result < 0)
        return result;
    result = check_partitions(o, store, partitions, &out);
    store_close(store);
    if (result >= 0)
        fwrite(out.ptr, 1, out.len, stdout);
    buf_fini(&out);
    return result;
}
