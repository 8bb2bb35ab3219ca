/* SPDX-License-Identifier: MIT */
/*
 * Pages: the replies of verbs that show several things. Each view is written as the engine gives
 * it, because its slices last only for that call. The number of views, which a reply begins with,
 * is known at the end; an error takes back everything that was written.
 *
 * A page with a cursor ends at PAGE_BYTES, so that no reply is long to make or large to hold.
 */
#ifndef VERBS_PAGE_H
#define VERBS_PAGE_H

#include "verbs/shape.h"
#include "verbs/verb.h"

#define PAGE_BYTES ((size_t)2 << 20) /* a page ends behind the view that reaches this size */

struct page {
    struct verb_call *call;
    const struct shape_field *fields; /* of a view */
    const struct shape_field *map;    /* of the reply, by SHOW_PAGE; NULL: it is an array alone */
    struct list_cursor next;          /* where the next page begins */
    size_t start;                     /* the place of the page in the reply */
    size_t from;                      /* the place of the array, for array_end */
    size_t n;
};

/* Fields of a reply that is a map: an array of maps, and the cursor, null if there is no more. */
#define SHOW_PAGE(name, shape) \
    SHOW_MAPS(name, shape, NULL), SHOW_OWN("cursor", SHAPE_TEXT, NULL, OR_NULL)

/* Begins the reply. */
void page_begin(struct page *p);
/* Begins the reply, behind the page before if the verb's argument CURSOR is given. INVALID: it is
 * no cursor of this verb. */
int page_seek(struct page *p);
/* Writes a view. 1: the page is full. 0: it goes on. For callbacks of the engine. */
int page_add(struct page *p, const void *view);
/* Ends the reply, or answers an error (err < 0) instead. INVALID is about the cursor. */
void page_end(struct page *p, int err, const char *detail);

#endif
