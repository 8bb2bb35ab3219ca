/* SPDX-License-Identifier: MIT */
/* A recurrence and its ledger as they are stored: the payload of its job. */
#ifndef RECORD_LEDGER_H
#define RECORD_LEDGER_H

#include "base/buf.h"
#include "base/id.h"
#include "base/time.h"
#include "record/field.h"
#include "recur/recur.h"

#define LEDGER_MAX   100             /* entries; those of occurrences under way are always kept */
#define QUEUE_RANGES 8               /* ranges of nominal times that wait for their turn */
#define QUEUED_MAX   TIME_MOMENT_MAX /* nominal times in a range: there are no more moments */

/* How missed occurrences are treated. */
#define CATCHUPS(X) \
    X(LAST, "last") \
    X(SKIP, "skip") \
    X(ALL, "all")

enum catchup {
#define CATCHUP_ENUM(name, text) CATCHUP_##name,
    CATCHUPS(CATCHUP_ENUM)
#undef CATCHUP_ENUM
};

/* How an occurrence is treated if the one before has not ended. */
#define OVERLAPS(X)   \
    X(SKIP, "skip")   \
    X(ALLOW, "allow") \
    X(QUEUE, "queue")

enum overlap {
#define OVERLAP_ENUM(name, text) OVERLAP_##name,
    OVERLAPS(OVERLAP_ENUM)
#undef OVERLAP_ENUM
};

/* The outcomes of a nominal time: a word, and the reason. The order is on disk. */
#define LEDGER_OUTCOMES(X)                                       \
    X(OPEN, "open", "it was made and has not ended")             \
    X(RAN, "ran", "")                                            \
    X(FAILED, "failed", "its job is dead")                       \
    X(CANCELLED, "cancelled", "")                                \
    X(EXPIRED, "skipped", "it was not started in time")          \
    X(OVERLAP, "skipped", "the one before had not ended")        \
    X(MISSED, "skipped", "its time had passed")                  \
    X(PAUSED, "skipped", "the recurrence was paused")            \
    X(EDITED, "skipped", "the recurrence was changed")           \
    X(LIMIT, "skipped", "the tenant had as many jobs as it may") \
    X(CROWD, "skipped", "too many before it had not ended")

enum ledger_outcome {
#define LEDGER_ENUM(name, word, why) LEDGER_##name,
    LEDGER_OUTCOMES(LEDGER_ENUM)
#undef LEDGER_ENUM
        LEDGER_OUTCOME_COUNT
};

const char *ledger_word(enum ledger_outcome o);
const char *ledger_why(enum ledger_outcome o);

/* One nominal time, or several in a row that were skipped for one reason. */
struct ledger_entry {
    enum ledger_outcome outcome;
    int64_t nominal_ms;
    int64_t upto_ms; /* the last nominal time */
    uint64_t count;
    bool by_hand;     /* made by request, not by the rule */
    struct job_id id; /* seq 0: no job was made */
    int64_t ended_ms;
};

/* Nominal times that wait for their turn and stand in a row in the rule. */
struct queue_range {
    int64_t from_ms;
    int64_t upto_ms;
    uint64_t n;
};

/* The user's part of a recurrence. */
#define RULE_FIELDS(F)                                                                       \
    F(ENUM(recur_kind), kind, "of the rule")                                                 \
    F(BYTES, rule, "its text")                                                               \
    F(BYTES, zone, "the time zone's name")                                                   \
    F(BYTES, exdate, "dates that are left out")                                              \
    F(BYTES, rdate, "dates that are added")                                                  \
    F(MOMENT, start_ms, "the moment from which the rule counts")                             \
    F(ENUM(catchup), catchup, "what is done about missed occurrences")                       \
    F(ENUM(overlap), overlap, "what is done while the one before lasts")                     \
    F(BYTES, queue, "in full")                                                               \
    F(BYTE, priority, "1-5")                                                                 \
    F(BYTES, opts, "those of its jobs (opts.h), without the moment that stands first there") \
    F(BYTES, payload, "of its jobs")

/* What became of it. */
#define PROGRESS_FIELDS(F)                                                         \
    F(FLAG, paused, "no occurrence is made")                                       \
    F(NUMBER, revision, "1 at first")                                              \
    F(SIGNED, edited_ms, "when the user changed it last")                          \
    F(OPTIONAL, last_ms, "the last nominal time that was decided about; -1: none") \
    F(OPTIONAL, next_ms, "the next nominal time; -1: there is none any more")

struct recurrence {
    RULE_FIELDS(FIELD_MEMBER)
    PROGRESS_FIELDS(FIELD_MEMBER)
    struct recur_state state;
    uint64_t queued; /* how many nominal times wait for their turn */
    size_t range_count;
    struct queue_range ranges[QUEUE_RANGES]; /* those nominal times, first ones first */
    bool gap;                                /* nominal times behind the last range were skipped */
    int64_t skip_ms; /* all nominal times up to here are skipped; -1: none */
    enum ledger_outcome skip_why;
    uint64_t totals[LEDGER_OUTCOME_COUNT];
    size_t ledger_count;
    struct ledger_entry ledger[LEDGER_MAX];
};

void recurrence_encode(struct buf *out, const struct recurrence *from);
/* False if malformed. Slices are borrowed. */
bool recurrence_decode(struct str bytes, uint16_t partition, struct recurrence *ret);
/* Of which H in cron is derived, by the name of the recurrence and its queue with its tenant. */
uint64_t recurrence_seed(struct str name, struct str queue);
/* The rule of a recurrence of this name, without its zone. Slices are borrowed. */
struct recur_spec recurrence_spec_of(struct str name, const struct recurrence *r);
/* Adds an entry. False if the ledger is full of occurrences under way. */
bool ledger_add(struct recurrence *r, const struct ledger_entry *x);
/* Notes that n nominal times were skipped. */
void ledger_skip(struct recurrence *r, int64_t from_ms, int64_t upto_ms, uint64_t n,
                 enum ledger_outcome why);
size_t ledger_open(const struct recurrence *r);
/* Has a nominal time wait for its turn, or skips it if there is no room. */
void ledger_enqueue(struct recurrence *r, int64_t nominal_ms);

#endif
