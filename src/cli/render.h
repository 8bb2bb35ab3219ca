/* SPDX-License-Identifier: MIT */
/*
 * A RESP value for people. A map becomes lines of name and value. An array of maps becomes a table
 * that is cut to the width of the terminal. Any other value becomes text. Lines of a map that would
 * say nothing (null, or an empty array) are left out. The tenant of jobs and queues is shown only
 * if one of them has another tenant than `default`. Most servers have no other tenant.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include "cli/field.h"
#include "cli/grid.h"
#include "front/resp.h"

struct render {
    size_t width; /* 0: no limit, nothing is cut */
    bool colour;
    bool tenants;  /* the tenant is shown in any case */
    bool forecast; /* the answer is FORECAST's, which is shown by lines with bars */
    int64_t now_ms;
};

/* For the output `fd`, with the time of now. */
struct render render_for(int fd);

/* The value at index `at`, with a line break at its end. */
void render_value(struct buf *out, const struct resp_values *v, size_t at, const struct render *r);

/* A table in several pages. The caller zeroes it first, and ends its grid. */
struct render_pages {
    struct grid grid;
    bool begun;
    size_t hidden; /* columns for which there was no room */
    enum field_style style;
};

/* Appends the maps of the array at `at`; the first page that has any makes the layout. */
void render_page(struct render_pages *p, struct buf *out, const struct resp_values *v, size_t at,
                 const struct render *r, size_t indent);
/* Says after the last page how many columns could not be shown. */
void render_pages_end(const struct render_pages *p, struct buf *out, const struct render *r);

#endif
