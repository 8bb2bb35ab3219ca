/* SPDX-License-Identifier: MIT */
/*
 * The times of all recurrences in a window, for OCCURRENCES: past ones from the ledgers, and coming
 * ones from the rules. A census collects them. It meets every recurrence, in memory and on disk,
 * and keeps those times that are first behind the cursor. So a page costs a walk over the
 * recurrences, in slices, whatever the window.
 */
#ifndef ENGINE_TIMES_H
#define ENGINE_TIMES_H

#include "engine/census.h"

/* A time of a recurrence besides those of LEDGER_OUTCOMES: one that waits for its turn, and one to
 * come. */
enum { TIME_QUEUED = LEDGER_OUTCOME_COUNT, TIME_PLANNED };

struct census_time {
    struct ledger_entry entry; /* without an outcome if `kind` has none */
    unsigned kind;             /* enum ledger_outcome, or as above */
    struct recur_occurrence at;
    uint64_t seq; /* of the recurrence */
    uint16_t name_len;
    uint16_t queue_len;
    char name[NAME_MAX_BYTES];
    char queue[QUEUE_MAX_BYTES]; /* in full */
};

/* Writes what a census needs of a recurrence: its rule, and its times that are decided about. */
void times_put(struct buf *out, const struct census_ask *ask, uint64_t seq, struct str name,
               const struct recurrence *r);

/* A recurrence as times_put wrote it. */
struct times_rule {
    struct census_rule rule;
    struct str name;
    struct str queue;
    uint64_t seq;
    bool goes_on;     /* the rule has times to come */
    uint64_t entries; /* so many times follow: times_entry_get */
};

bool times_rule_get(struct wire_reader *in, uint16_t partition, struct times_rule *ret);
void times_entry_get(struct wire_reader *in, uint16_t partition, struct ledger_entry *ret,
                     unsigned *ret_kind);

/* Whether a time at this moment would be in the page, as far as is known. Notes that there are more
 * if it is behind the page. */
bool times_wants(struct census *c, int64_t at_ms, uint64_t seq);
/* Adds a time for which times_wants is true. */
void times_add(struct census *c, const struct times_rule *r, const struct ledger_entry *entry,
               unsigned kind, const struct recur_occurrence *at);

/* One page of times, in order of time. COLD, NOMEM; BUSY: too many censuses are under way. */
int engine_occurrences(struct engine *e, const struct census_ask *ask,
                       int (*fn)(void *arg, const struct census_time *t), void *arg,
                       struct list_cursor *ret_next, bool *ret_partial);

#endif
