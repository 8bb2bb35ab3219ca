/* SPDX-License-Identifier: MIT */
/*
 * A RESP value for people. A map becomes lines of name and value. An array of maps becomes a table
 * that is cut to the width of the terminal. Any other value becomes text. Lines of a map that would
 * say nothing (null, or an empty array or map) are left out. The tenant of jobs and queues is shown
 * only if one of them has another tenant than `default`. Most servers have no other tenant.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include "cli/cli.h"
#include "cli/field.h"
#include "cli/grid.h"
#include "front/resp.h"
#include "verbs/verb.h"

struct render {
    size_t width; /* 0: no limit, nothing is cut */
    bool colour;
    bool tenants;  /* the tenant is shown in any case */
    bool forecast; /* the answer is FORECAST's, which is shown by lines with bars */
    bool no_header;
    const char *fields;  /* the fields that the user wants, "a,b"; NULL: not said */
    const char *columns; /* the columns of a table if `fields` is NULL; NULL: all */
    const char *idle;    /* the lines of a map that are left out while they say nothing */
    int64_t now_ms;
};

/* For an answer of the verb (NULL: any) on the output `fd`, with the time of now. */
struct render render_for(const struct cli *cli, const struct verb *v, int fd);

/* Takes the first name out of a list "a,b". False: it is empty, or NULL. */
bool render_next_name(const char **list, struct str *ret);
/* Whether the user wants this field. */
bool render_shows(const struct render *r, struct str name);

/* The value at index `at`, with a line break at its end. */
void render_value(struct buf *out, const struct resp_values *v, size_t at, const struct render *r);

/* A table in several pages. The caller zeroes it first, and ends its grid. */
struct render_pages {
    struct grid grid;
    enum shape_type types[GRID_COLUMNS_MAX];
    bool begun;
    size_t hidden; /* fields that are not shown */
    enum field_style style;
};

/* Appends the maps of the array at `at`; the first page that has any makes the layout. */
void render_page(struct render_pages *p, struct buf *out, const struct resp_values *v, size_t at,
                 const struct render *r, size_t indent);
/* Says after the last page how many columns could not be shown. */
void render_pages_end(const struct render_pages *p, struct buf *out, const struct render *r);

#endif
