/* SPDX-License-Identifier: MIT */
/* Figures over time: what the server, its tenants and its queues did in each minute of about a day,
 * and in each hour of about a month. */
#ifndef ENGINE_SERIES_H
#define ENGINE_SERIES_H

#include "engine/types.h"
#include "engine/view.h"
#include "record/series.h"

struct series_filter {
    struct str tenant; /* `*`: the server, unless there is a queue */
    struct str queue;  /* in full; empty: all queues of the tenant */
    bool hours;        /* hours instead of minutes */
    int64_t from_ms;   /* the beginning of a step; inclusive */
    int64_t to_ms;     /* exclusive; INT64_MAX: no end */
    size_t limit;      /* 1 .. 1000 */
};

struct series_step {
    int64_t from_ms, to_ms;
    struct series_row row;
    struct hist lateness; /* of its deliveries, without their sum */
    int64_t oldest_ms;    /* the age of the oldest ready job at the end; -1: none is ready, or no
                             queue was asked for */
    bool left_out; /* many queues were active, and this one had no place: its figures are unknown */
};

struct engine;

/* Shows one page of steps, oldest first. A step in which nothing happened is not shown. A page may
 * be short although there are more. Only `due_ms` of the cursor counts. `fn` ends the page as the
 * function of engine_list does. */
int engine_series(struct engine *e, const struct series_filter *f,
                  int (*fn)(void *arg, const struct series_step *s), void *arg,
                  struct list_cursor *cursor);

#endif
