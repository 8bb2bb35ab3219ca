/* SPDX-License-Identifier: MIT */
/*
 * Pages: views that are gathered before anything is answered. How many there are comes first in a
 * reply, and slices in a view last only for the engine's call.
 */
#ifndef VERBS_PAGE_H
#define VERBS_PAGE_H

#include "base/buf.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

struct page {
    const struct shape_field *fields; /* of a view, */
    size_t size;                      /* and its size */
    struct verb_call *call;
    const struct list_cursor *next; /* where the next page begins */
    struct buf views;               /* their slices have only their lengths: */
    struct buf text;                /* the bytes are here, one slice behind the other */
    size_t n;
};

void page_fini(struct page *p);

/* Copies a view. NOMEM. */
int page_add(struct page *p, const void *view);

/* Fields of a struct page: an array of maps, and the cursor, null if there is no more. */
shape_put_fn page_put, page_put_cursor;

#endif
