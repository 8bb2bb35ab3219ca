/* SPDX-License-Identifier: MIT */
/* Rows and columns of text, laid out for a width. The layout is made once, from the first rows, so
 * that a long list can be shown page by page under one heading. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/buf.h"

#define GRID_COLUMNS_MAX 96

struct grid_column {
    char title[48];
    bool right;   /* numbers */
    bool fixed;   /* never cut: ids, numbers */
    bool hidden;  /* not shown: there is no room */
    int worth;    /* 0: no row says anything; 1: all rows have one number; 2: it says more */
    size_t width; /* after grid_fit */
};

struct grid_cell {
    size_t at; /* in text */
    size_t len;
    const char *tone; /* static escape sequence, or NULL */
};

struct grid {
    struct grid_column columns[GRID_COLUMNS_MAX];
    size_t n;
    bool limited;            /* cells are cut to their column's width */
    struct grid_cell *cells; /* row by row */
    size_t cells_n;
    size_t cells_cap;
    struct buf text;
};

void grid_fini(struct grid *g); /* a zeroed grid is empty */

/* Adds a column and returns its index; GRID_COLUMNS_MAX if there are too many. */
size_t grid_column(struct grid *g, struct str title, bool right, bool fixed);

/* Adds the next cell of a row; the text is copied and has nothing to escape. */
void grid_cell(struct grid *g, struct str text, const char *tone);

/* The width of the rows without cutting. */
size_t grid_natural(struct grid *g);
/* Sets widths (0: no limit). If the rows are too wide, columns of little worth are hidden, then the
 * widest are cut, then the last columns are hidden. Returns how many are hidden. */
size_t grid_fit(struct grid *g, size_t width);

/* Writes the heading, or the rows. The grid forgets rows that were written, and keeps columns. */
void grid_put_head(const struct grid *g, struct buf *out, size_t indent, bool colour);
void grid_put_rows(struct grid *g, struct buf *out, size_t indent, bool colour);
void grid_clear(struct grid *g);

#endif
