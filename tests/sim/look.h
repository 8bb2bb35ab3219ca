/* SPDX-License-Identifier: MIT */
/* Looking at a partition as the judge does: what is on disk is fetched at once, with the engine's
 * thread waiting for it. No faults should be on during a look. */
#ifndef SIM_LOOK_H
#define SIM_LOOK_H

#include "partition/partition.h"

struct look {
    struct partition *partition;
    struct fetch *fetch; /* what the last answer stands in */
};

/* As the engine's functions of these names, but never COLD. What they return lasts until the next
 * call or look_end. */
int look_get(struct look *l, struct job_id id, struct job_view *ret);
int look_key(struct look *l, struct str queue, struct str order, struct str key,
             struct job_id *ret);
int look_explain(struct look *l, struct job_id id, struct explanation *ret);
int look_list(struct look *l, const struct list_filter *f,
              int (*fn)(void *arg, const struct job_view *v), void *arg,
              struct list_cursor *cursor);
struct recurrence_view;
int look_recurrence(struct look *l, struct str tenant, struct str name,
                    struct recurrence_view *ret);
int look_recurrences(struct look *l, struct str tenant,
                     int (*fn)(void *arg, const struct recurrence_view *v), void *arg,
                     struct list_cursor *cursor);
struct audit_filter;
struct audit_entry;
int look_audits(struct look *l, const struct audit_filter *f,
                int (*fn)(void *arg, const struct audit_entry *a), void *arg,
                struct list_cursor *cursor);
void look_end(struct look *l);

/* Whether there is such a job. */
bool look_has(struct partition *p, struct job_id id);

#endif
