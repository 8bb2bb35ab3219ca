/* SPDX-License-Identifier: MIT */
/* A partition's runs in a data directory. `belfry check` shows them, and `belfry repair` works from
 * them. The journal says which runs count; each of these is read whole. Reading changes nothing. A
 * server may be running: a run that it removes meanwhile is not missed. Damage in a run does not
 * keep a server from starting. The server leaves out the entries that it cannot read. */
#ifndef FSCK_RUNS_H
#define FSCK_RUNS_H

#include "engine/cold.h"
#include "fsck/fsck.h"
#include "fsck/journal.h"

struct runs_kind {
    char family;
    const char *name;  /* of the family, for programs */
    const char *words; /* contents of the family, for people */
};

#define RUNS_KINDS 7 /* the last is for families that this version does not know */

extern const struct runs_kind runs_kinds[RUNS_KINDS];

struct runs_sum {
    uint64_t runs;
    uint64_t entries;
    uint64_t bytes;
};

struct runs_finding {
    const struct run_desc *d; /* how the journal describes the run; borrowed from the journal */
    bool missing;             /* its file is gone */
    bool unusable;            /* its index cannot be read: a server counts on no entry of it */
    bool mendable;            /* its data is whole: repair can write the rest anew */
    uint64_t readable;        /* entries that can be read by the index */
    uint64_t blocks;          /* damaged blocks */
    uint64_t whole;           /* if it is unusable: entries that are whole in the file */
    char what[200];           /* the first fault, with its offset */
};

struct runs {
    struct journal j;
    struct runs_sum sums[RUNS_KINDS];
    struct runs_finding *findings;
    size_t finding_count;
    size_t finding_cap;
    size_t mended;     /* runs that a server found damaged and that are whole now */
    struct buf strays; /* names of logs that no record knows, each with a zero behind it */
    size_t stray_count;
    uint64_t stray_bytes;
    const struct fsck_options *o; /* borrowed; for its progress function */
    uint64_t done;                /* entries that were read */
    uint64_t total;               /* entries that there are */
};

/* Reads the journal of a partition and all its runs; `store` is the directory, opened for reading.
 * Damage is no error but a finding. An error as of journal_load(). The caller calls runs_fini()
 * also after an error. */
int runs_load(struct runs *r, struct store *store, uint16_t partition,
              const struct fsck_options *o);
void runs_fini(struct runs *r);

/* Whether strays may be of value: the journal is damaged, and may have lost their records. */
bool runs_strays_matter(const struct runs *r);

const struct runs_kind *runs_kind(char family);

/* ---- runs_report.c ---- */

/* The report of `check` on runs: lines for people, or members of a JSON object. */
void runs_put_text(struct buf *out, const struct runs *r);
void runs_put_json(struct buf *out, const struct runs *r);
/* A member of a JSON object, with a comma behind it. The journal's report uses it, too. */
void runs_put_number(struct buf *out, const char *name, uint64_t value);
/* How much of a run can be read, in words. Both commands say it. */
void runs_put_loss(struct buf *out, const struct runs_finding *f);
/* How a server treats runs that cannot be mended, and how the user can help. */
extern const char runs_advice[];

/* ---- rebuild.c: writing a run anew ---- */

/* A run is written anew from its data blocks, if its header, root, index or filter is damaged. The
 * journal describes how long the run is and where its root stands, and repair does not change the
 * journal. So the run is replaced only if its entries give a log of exactly that layout. */
struct rebuild {
    const char *dir;          /* the data directory; borrowed */
    struct str log;           /* the run's name; borrowed */
    const struct run_desc *d; /* how the journal describes the run; borrowed */
    uint64_t whole;           /* entries in blocks that can be read without an index */
    bool possible;            /* those are all entries, and give the layout described */
    uint64_t filter_items;    /* size of the new filter; 0: the run has none */
};

/* Finds out whether the run can be written anew; the caller has set dir, log and d. Changes
 * nothing. IO, NOMEM, NOTFOUND. */
int rebuild_look(struct rebuild *r);

/* Puts the new log in the place of the old one, which is kept as ret_kept; rebuild_look() has said
 * that it is possible. After an error nothing is changed: LOCKED, IO, FULL, CORRUPT (the old log
 * changed meanwhile). */
int rebuild_run(const struct rebuild *r, char ret_kept[PATH_MAX]);

/* ---- runs_repair.c ---- */

/* Moves strays that matter to DIR/damaged and says so; with `dry` it only says so. This comes
 * before the repair of the journal, after which a server would remove them. Sets *ret_any if there
 * are any. LOCKED, IO. */
int runs_keep_strays(const struct runs *r, bool dry, bool *ret_any);
/* Mends the runs that can be mended, and tells of the others, which *left counts. */
int runs_repair(const struct runs *r, bool dry, bool *ret_any, size_t *left);

#endif
