/* SPDX-License-Identifier: MIT */
/*
 * A page of LIST in order of time: the first jobs behind the cursor, in memory and on disk. It is
 * made in rounds, as a census is (census.h):
 *
 *     on another thread         families D, B and A are read, as far as the page may reach
 *     on the engine's thread    entries that were read are judged; then stripes of the table
 *
 * A job stands at (at_ms, seq): at the moment when it becomes or became ready. A job that waits for
 * other jobs stands at AT_NEVER, behind all others. The page keeps the first jobs that it met, and
 * a bound: it knows all jobs up to there. The next page begins behind the bound.
 *
 * The page leaves out no job that stays at its moment. A job on disk is met there, or it has come
 * to memory before. A job in memory is met in its stripe, which has its turn after the disk, or
 * when its memory is freed because it was fed (sorts_leave). A job that is met twice stands at one
 * place, so it counts once.
 */
#ifndef ENGINE_SORTED_H
#define ENGINE_SORTED_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/cold.h"
#include "engine/view.h"
#include "record/image.h"

#define SORT_STATES (JOB_AHEAD | JOB_BIT(LEASED)) /* those that have an order of time */

#define SORT_LOOKS 5000                /* entries that are read in a round */
#define SORT_FOUND 500                 /* of which so many are judged, */
#define SORT_READ  ((size_t)128 << 10) /* or so many bytes of them */
#define SORT_DUE   100000              /* entries of family D behind which a page ends */

struct sorted_job {
    struct cold_point at;
    enum job_state state;
    size_t payload_len; /* the whole payload's */
    size_t len;
    char body[]; /* of a PUT record, without what a page does not show */
};

struct sorted {
    struct list link;          /* in cold.sorts */
    struct list_filter filter; /* with texts of its own: */
    struct buf texts;
    size_t preview;
    struct cold_point after; /* the cursor */
    uint32_t batch;          /* the jobs of this batch were waste already; 0: there were none */

    /* The engine's thread alone uses these. */
    uint8_t stripes_log2;
    uint64_t stripe; /* the next one; 1 << stripes_log2: all have been visited */
    struct sorted_job **jobs;
    size_t n;
    size_t bytes;
    bool failed;  /* memory ran out */
    bool bounded; /* jobs behind the bound are left to the next page */
    struct cold_point bound;
    bool met_waiting;
    uint64_t run_changes; /* when the round began, and where: */
    struct cold_key from;
    size_t due_before;
    unsigned tries;

    /* The thread of the fetch uses these while there is a fetch. */
    bool waits;     /* the page shows jobs that wait for others */
    bool disk_done; /* all has been read that matters */
    struct cold_key at;
    size_t due; /* entries of family D that were read */
    bool ends;  /* nothing behind `upto` matters */
    bool cut;   /* something behind it was left out */
    struct cold_point upto;
    size_t found_count;
    struct buf found; /* see sorted_found_put */
};

/* An entry that was read, and is to be judged. */
struct sorted_found {
    struct str key;
    struct str body; /* as in sorted_job */
    size_t payload_len;
    uint32_t number; /* of its run */
};

void sorted_found_put(struct buf *out, const struct sorted_found *x);
/* Leaves out what a page does not show. Returns the length of the whole payload. */
size_t sorted_trim(struct job_image *image, size_t preview);

/* Shows one page by (at_ms, seq): jobs of SORT_STATES that match. The payload of a view has its
 * whole length, but only its first `preview` bytes are there. `cursor` is that of the page before,
 * or all zero. A page may be short or empty although there are more. fn is as that of engine_list.
 * INVALID: the cursor is bad. COLD, NOMEM; BUSY: too many such pages are being made. */
int engine_sorted(struct engine *e, const struct list_filter *f, size_t preview,
                  int (*fn)(void *arg, const struct job_view *v), void *arg,
                  struct list_cursor *cursor);
/* The page of the request that answered COLD; the caller owns it. NULL if it has none. */
struct sorted *engine_sort(struct engine *e);
void sorted_free(struct sorted *s); /* accepts NULL */

#endif
