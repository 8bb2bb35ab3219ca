/* SPDX-License-Identifier: MIT */
/* A data directory without its server: finding damage, and keeping the whole parts. Both functions
 * block, write their report to standard output, and answer a verdict. An error is an answer without
 * a verdict; fsck_detail() says why. */
#ifndef FSCK_FSCK_H
#define FSCK_FSCK_H

#include <stdbool.h>
#include <stdint.h>

enum fsck_verdict {
    FSCK_FINE,
    FSCK_DAMAGED, /* the report says where, and how to go on */
};

/* Tells how many entries of runs have been read: 0 in the first call, `total` in the last. */
typedef void fsck_progress_fn(void *arg, uint64_t done, uint64_t total);

struct fsck_options {
    const char *dir;            /* the data directory; borrowed */
    bool json;                  /* check: the report is one JSON object */
    bool dry;                   /* repair: tells the effects and the loss, and changes nothing */
    fsck_progress_fn *progress; /* NULL: none */
    void *arg;
};

/* Reads the journal and all runs, and reports damage. Changes nothing, and a server may be running.
 * A bad commit at the very end is no damage unless the server was stopped in order: the server may
 * be writing it. CORRUPT: damage outside the journal and the runs. NOTFOUND, INVALID (no data
 * directory of this version), IO, NOMEM, CONFLICT (it keeps changing). */
int fsck_check(const struct fsck_options *o);

/* Keeps the whole parts of a damaged directory; no server may be running. FSCK_FINE: the directory
 * is whole now or, with `dry`, could be made whole. FSCK_DAMAGED: some runs stay damaged, which
 * does not keep a server from starting. LOCKED, FULL, or an error of fsck_check(). */
int fsck_repair(const struct fsck_options *o);

/* The reason for the last error on this thread, in words; borrowed until the next call. */
const char *fsck_detail(int err);

#endif
