/* SPDX-License-Identifier: MIT */
/* The picture of `belfry top`, as text. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "cli/snapshot.h"
#include "cli/term.h"

/* The order of the queues: one of these, or the index of a column. */
enum { TOP_BY_BUSINESS = -2, TOP_BY_NAME = -1 };

struct top_view {
    const struct cli *cli;
    const struct snapshot *before; /* NULL: none so far */
    struct snapshot *now;
    const char *away; /* why the server is away; NULL: it is not */
    struct term term;
    int order;
    size_t skip; /* queues above the first line that is shown */
};

/* Sorts the queues of `now`, and appends everything. */
void top_view_put(struct top_view *t, struct buf *out);

/* Lines that the queues have on the screen. */
size_t top_view_lines(const struct top_view *t);

/* The next order behind this one; and an order by its name, "ready". */
int top_view_next_order(int order);
bool top_view_find_order(struct str name, int *ret);

#endif
