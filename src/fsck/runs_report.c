/* SPDX-License-Identifier: MIT */
/* The report of `belfry check` on runs. */
#include "base/json_quote.h"
#include "base/quantity.h"
#include "fsck/runs.h"

const char runs_advice[] =
    "A server starts on damaged runs and serves the rest: it leaves out what it cannot read and\n"
    "keeps the file. To have that back stop the server and put the file from a backup in its\n"
    "place: a run never changes. Do it soon: what the server has passed over stays left out.\n";

static void put_amounts(struct buf *out, const struct runs_sum *s)
{
    buf_printf(out, "%s run%s, %s entr%s, %s\n", quantity_count((int64_t)s->runs).text,
               s->runs == 1 ? "" : "s", quantity_count((int64_t)s->entries).text,
               s->entries == 1 ? "y" : "ies", quantity_bytes((int64_t)s->bytes).text);
}

static void put_sums(struct buf *out, const struct runs *r)
{
    struct runs_sum all = { 0 };

    for (size_t i = 0; i < RUNS_KINDS; i++) {
        all.runs += r->sums[i].runs;
        all.entries += r->sums[i].entries;
        all.bytes += r->sums[i].bytes;
    }
    buf_text(out, "  runs      ");
    if (all.runs == 0) {
        buf_text(out, "none\n");
        return;
    }
    put_amounts(out, &all);
    for (size_t i = 0; i < RUNS_KINDS; i++) {
        if (r->sums[i].runs == 0)
            continue;
        buf_printf(out, "              %s: ", runs_kinds[i].words);
        put_amounts(out, &r->sums[i]);
    }
}

static void put_strays(struct buf *out, const struct runs *r)
{
    if (r->stray_count == 0)
        return;
    buf_printf(out, "  unused    %zu file%s of runs that no record knows, %s", r->stray_count,
               r->stray_count == 1 ? "" : "s", quantity_bytes((int64_t)r->stray_bytes).text);
    if (runs_strays_matter(r))
        buf_text(out, ": the records may be among what is damaged; repair keeps the files\n");
    else if (r->j.clean)
        buf_text(out, ": left by a crash, harmless; the next start removes them\n");
    else
        buf_text(out, ": being written or left by a crash, harmless; a start removes them\n");
}

void runs_put_loss(struct buf *out, const struct runs_finding *f)
{
    struct quantity all = quantity_count((int64_t)f->d->entries);
    int64_t lost = (int64_t)(f->d->entries - f->readable);

    if (f->missing) {
        buf_printf(out, "none of its %s entries can be read", all.text);
    } else if (f->unusable) {
        buf_printf(out, "a server cannot count on any of its %s entries; %s are whole in the file",
                   all.text, quantity_count((int64_t)f->whole).text);
    } else {
        buf_printf(out, "%s of %s entries can be read", quantity_count((int64_t)f->readable).text,
                   all.text);
        if (lost > 0)
            buf_printf(out, ", %s cannot", quantity_count(lost).text);
        if (f->blocks)
            buf_printf(out, " (%llu block%s)", (unsigned long long)f->blocks,
                       f->blocks == 1 ? "" : "s");
    }
}

static void put_finding(struct buf *out, const struct runs *r, const struct runs_finding *f)
{
    buf_printf(out, "  DAMAGE    %s: %s\n            run %u, %s: ",
               journal_path(&r->j, RUNS, f->d->file).text, f->what, f->d->file,
               runs_kind(f->d->family)->words);
    runs_put_loss(out, f);
    if (f->mendable)
        buf_text(out, ": repair can write the rest of it anew, nothing is lost");
    if (f->missing && r->j.finding_count)
        buf_text(out, "; or it was dropped by a record that is lost");
    buf_text(out, "\n");
}

void runs_put_text(struct buf *out, const struct runs *r)
{
    put_sums(out, r);
    put_strays(out, r);
    if (r->mended)
        buf_printf(
            out,
            "  mended    %zu run%s that a server could not read once; whole now, but what it "
            "has passed over stays left out\n",
            r->mended, r->mended == 1 ? "" : "s");
    for (size_t i = 0; i < r->finding_count; i++)
        put_finding(out, r, &r->findings[i]);
}

void runs_put_number(struct buf *out, const char *name, uint64_t value)
{
    buf_printf(out, "\"%s\":%llu,", name, (unsigned long long)value);
}

static void put_json_finding(struct buf *out, const struct runs *r, const struct runs_finding *f)
{
    buf_text(out, "{\"file\":");
    json_quote(out, str_of(journal_path(&r->j, RUNS, f->d->file).text));
    buf_printf(out, ",\"family\":\"%s\",", runs_kind(f->d->family)->name);
    runs_put_number(out, "run", f->d->file);
    runs_put_number(out, "entries", f->d->entries);
    runs_put_number(out, "readable", f->unusable || f->missing ? 0 : f->readable);
    runs_put_number(out, "damaged_blocks", f->blocks);
    if (f->unusable && !f->missing)
        runs_put_number(out, "whole_in_file", f->whole);
    buf_printf(out, "\"repairable\":%s,\"what\":", f->mendable ? "true" : "false");
    json_quote(out, str_of(f->what));
    buf_text(out, "}");
}

void runs_put_json(struct buf *out, const struct runs *r)
{
    bool any = false;

    buf_text(out, "\"runs\":{");
    for (size_t i = 0; i < RUNS_KINDS; i++) {
        const struct runs_sum *s = &r->sums[i];

        if (s->runs == 0)
            continue;
        buf_printf(out, "%s\"%s\":{\"runs\":%llu,\"entries\":%llu,\"bytes\":%llu}", any ? "," : "",
                   runs_kinds[i].name, (unsigned long long)s->runs, (unsigned long long)s->entries,
                   (unsigned long long)s->bytes);
        any = true;
    }
    buf_text(out, "},");
    runs_put_number(out, "unused_runs", r->stray_count);
    runs_put_number(out, "mended_runs", r->mended);
    buf_text(out, "\"run_damage\":[");
    for (size_t i = 0; i < r->finding_count; i++) {
        buf_text(out, i ? "," : "");
        put_json_finding(out, r, &r->findings[i]);
    }
    buf_text(out, "],");
}
