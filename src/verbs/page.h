/* SPDX-License-Identifier: MIT */
/*
 * Pages: the replies of verbs that show several things. Their views are gathered before anything is
 * answered, because a reply begins with their number, and slices of a view last only for the
 * engine's call.
 */
#ifndef VERBS_PAGE_H
#define VERBS_PAGE_H

#include "base/buf.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

struct page {
    struct verb_call *call;
    const struct shape_field *fields; /* of a view */
    size_t size;                   /* of a view, or of its first members if only those are shown */
    const struct shape_field *map; /* fields of the reply: see SHOW_PAGE; NULL: it is an array */
    struct list_cursor next;       /* where the next page begins */
    struct buf views;              /* slices in them have only their lengths */
    struct buf text;               /* the bytes of the slices, in their order */
    size_t n;
};

/* Begins behind the page before, if the argument is given. INVALID: it is no cursor of this verb.
 */
int page_seek(struct page *p, const struct arg_value *cursor);

/* Copies a view. NOMEM. */
int page_add(struct page *p, const void *view);

/* Writes the page, or an error, as the reply, and frees the page. In a map, INVALID is about its
 * cursor. */
void page_reply(struct page *p, int err, const char *detail);

/* Fields of a page that is a map: an array of maps, and the cursor, null if there is no more. */
shape_put_fn page_put, page_put_cursor;
#define SHOW_PAGE(name, shape, function) \
    SHOW_MAPS(name, shape, function), SHOW_OWN("cursor", SHAPE_TEXT, page_put_cursor, OR_NULL)

#endif
