/* SPDX-License-Identifier: MIT */
/*
 * A partition's runs as they lie in a data directory: what `belfry check` shows and `belfry repair`
 * works from. Which of them count is what the journal says; each of those is read whole. Reading
 * changes nothing, and a server may be running: what is removed meanwhile is not missed.
 *
 * Damage in a run does not keep a server from starting. It leaves out what it cannot read.
 */
#ifndef FSCK_RUNS_H
#define FSCK_RUNS_H

#include "fsck/fsck.h"
#include "fsck/journal.h"
#include "fsck/rebuild.h"

struct runs_kind {
    char family;
    const char *name;  /* for programs */
    const char *words; /* for people: what is in it */
};

#define RUNS_KINDS 7 /* the last is for those that this version does not know */

extern const struct runs_kind runs_kinds[RUNS_KINDS];

struct runs_sum {
    uint64_t runs;
    uint64_t entries;
    uint64_t bytes;
};

struct runs_finding {
    const struct run_desc *d; /* the journal's, borrowed from it */
    bool missing;
    bool unusable;     /* not even its index can be read: what can a server cannot count on */
    bool mendable;     /* the data is whole: repair can write the rest anew */
    uint64_t readable; /* entries, by the index */
    uint64_t blocks;   /* that were left out */
    uint64_t whole;    /* unusable: entries that stand in the file all the same */
    char what[200];    /* the first thing that is wrong; with its offset */
};

struct runs {
    const struct journal *j; /* borrowed; outlives this */
    struct runs_sum sums[RUNS_KINDS];
    struct runs_finding *findings;
    size_t finding_count;
    size_t finding_cap;
    size_t mended;     /* runs that a server found damaged and that are whole now */
    struct buf strays; /* logs that no record knows, each with a zero behind it */
    size_t stray_count;
    uint64_t stray_bytes;
    const struct fsck_options *o; /* borrowed: who is told of progress */
    uint64_t done, total;         /* entries that were read, and that there are */
};

/* Reads all runs of a journal that was loaded. Damage is no error but a finding. IO, NOMEM, with
 * store_detail(). runs_fini is right after either. */
int runs_load(struct runs *r, struct store *store, const struct journal *j,
              const struct fsck_options *o);
void runs_fini(struct runs *r);

/* Whether runs that no record knows may be of value: the journal is damaged. */
bool runs_strays_matter(const struct runs *r);

const struct runs_kind *runs_kind(char family);

/* ---- runs_report.c ---- */

/* What `check` shows of them. */
void runs_put_text(struct buf *out, const struct runs *r);
void runs_put_json(struct buf *out, const struct runs *r); /* members of an object, with a comma */
/* A member of a JSON object, with a comma; for the journal's report, too. */
void runs_put_number(struct buf *out, const char *name, uint64_t value);
/* How much of a run can be read, in words; for both commands. */
void runs_put_loss(struct buf *out, const struct runs_finding *f);
/* What to do about runs that cannot be mended, and what a server does. */
extern const char runs_advice[];

/* ---- runs_repair.c ---- */

/* Puts strays that matter in safety, before the journal is repaired: a server would remove them.
 * With `dry` it only says so. *ret_any is set if there were any. LOCKED, IO. */
int runs_keep_strays(const struct runs *r, bool dry, bool *ret_any);
/* Mends what can be mended, and says what becomes of the rest, which *left counts. */
int runs_repair(const struct runs *r, bool dry, bool *ret_any, size_t *left);

#endif
