/* SPDX-License-Identifier: MIT */
/*
 * The keys of runs begin with a family; numbers in them are big-endian:
 *
 *     D at seq                   scheduled, beyond the frontier
 *     B queue 0 class at seq     due or about to be, but their class has no room in memory
 *     A queue 0 lane at seq      set aside: their ordering key is stuck, see lane.h
 *     P queue 0 ended seq        done, cancelled, expired: as long as there is room
 *     X queue 0 ended seq        dead, or ended with a key that is held: until their time is over
 *     L hash                     locator: key -> job, and job -> its place, if its id does not say
 *
 * The locator's hash of a key, and the lane, come from bytes that clients choose. See cold_names.
 *
 * The value of an entry is the body of a PUT record (record.h); in the locator it is a place.
 */
#ifndef RECORD_COLDKEY_H
#define RECORD_COLDKEY_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/wire.h"
#include "record/field.h"
#include "record/jobstate.h"
#include "record/limits.h"

#define FAMILY_DUE     'D'
#define FAMILY_BACKLOG 'B'
#define FAMILY_ASIDE   'A'
#define FAMILY_PAST    'P'
#define FAMILY_KEPT    'X'
#define FAMILY_LOCATOR 'L'

static inline bool family_is_history(char family)
{
    return family == FAMILY_PAST || family == FAMILY_KEPT;
}

/* Jobs that are due, or about to be. */
static inline bool family_is_backlog(char family)
{
    return family == FAMILY_BACKLOG || family == FAMILY_ASIDE;
}

/* The number of a class in keys and records. Classes 1 to 5 have the jobs of a queue with that
 * priority. Class 7 has its jobs with an ordering key, of any priority. Class 8 has its jobs that
 * pass all gates. */
#define CLASS_ORDERED 7
#define CLASS_PASSING 8
/* Only records have this number: for jobs of the ordered class that were set aside. */
#define CLASS_ASIDE 9

static inline bool class_is_valid(unsigned class)
{
    return (class >= 1 && class <= 5) || class == CLASS_ORDERED || class == CLASS_PASSING;
}

#define COLD_KEY_MAX  (1 + QUEUE_MAX_BYTES + 2 + 8 + 16)
#define SPREAD_POINTS 32

struct cold_key {
    size_t len;
    char bytes[COLD_KEY_MAX];
};

/* A place in the order of jobs that wait. */
struct cold_point {
    int64_t at_ms;
    uint64_t seq;
};

static inline bool point_after(struct cold_point a, struct cold_point b)
{
    return a.at_ms != b.at_ms ? a.at_ms > b.at_ms : a.seq > b.seq;
}

/* Jobs of a class in backlog runs up to `number` have been loaded up to this point. */
struct floor {
    uint32_t number;
    struct cold_point upto;
};

/* How bytes that clients choose become names in runs. The names depend on a secret of the data
 * directory, so that no client can choose two keys, or two ordering keys, that have one name. Older
 * versions had no secret. */
struct cold_names {
    struct hash_key key; /* 0: there is no secret */
    uint32_t first;      /* runs from this number on have no names without the secret */
};

extern const struct cold_names cold_names_old; /* without a secret */

void cold_key_due(struct cold_key *ret, struct cold_point p);
/* A key of family B, P or X. `class` is the number of the class for B, else 0. */
void cold_key_queue(struct cold_key *ret, char family, struct str queue, unsigned class,
                    struct cold_point p);
/* The part of a key that all entries of the audit log have. */
void cold_key_audit(struct cold_key *ret);
bool cold_is_audit(struct str key);
/* The lane of an ordering key. */
uint64_t cold_lane(const struct cold_names *n, struct str queue, struct str order);
/* A key of family A. */
void cold_key_lane(struct cold_key *ret, struct str queue, uint64_t lane, struct cold_point p);
/* The lane in a key of family A. */
uint64_t cold_key_lane_of(struct str key);
/* The key of the locator for a job. */
void cold_key_of_seq(struct cold_key *ret, uint64_t seq);
/* The key of the locator for a user's key in a queue. `order` is the ordering key, or empty. */
void cold_key_of_key(struct cold_key *ret, const struct cold_names *n, struct str queue,
                     struct str order, struct str key);
/* Reads the last 16 bytes of a key of D, B, A, P or X. False if the key is too short. */
bool cold_key_point(struct str key, struct cold_point *ret);
/* The class in a key of B; 0 for a key of another family, or one that is too short. */
unsigned cold_key_class(struct str key);
uint64_t cold_key_hash(struct str locator_key); /* for filters */

static inline struct str cold_key_str(const struct cold_key *k)
{
    return (struct str){ k->bytes, k->len };
}

/* The value of an entry of the locator: the place of a job, and a bound behind which the job has
 * left the place. In family D the bound is the due time: the job has left when the frontier has
 * passed it. In P and X it is the moment of forgetting. In A and B it is the number of the run: the
 * job has left when all runs of A and B are newer. */
void cold_place_put(struct buf *out, struct str place, int64_t until);
bool cold_place_get(struct str value, struct str *ret_place, int64_t *ret_until);

/* The slots by which jobs on disk are counted. The numbers are on disk. The slot of a backlog is
 * COLD_BACKLOG + priority - 1; each class from 7 on has a slot of its own. */
enum cold_slot {
    COLD_DUE,
    COLD_BACKLOG,
    COLD_DONE = COLD_BACKLOG + 5,
    COLD_CANCELLED,
    COLD_DEAD,
    COLD_EXPIRED,
    COLD_WAITING, /* in D, at the end of time */
    COLD_BACKLOG_7,
    COLD_BACKLOG_8,
    COLD_ASIDE,
    COLD_SLOTS
};

enum cold_slot cold_slot_of(char family, unsigned state, unsigned class);
/* The slot of a job with this moment: a job of D may be waiting for others. */
enum cold_slot cold_slot_at(enum cold_slot slot, int64_t at_ms);
enum job_state cold_state(enum cold_slot slot);

/* A run, as the journal knows it. One byte of flags stands between the two lists. */
#define RUN_FIRST_FIELDS(F)                                       \
    F(COUNT, file, "names its log; it is never used again")       \
    F(COUNT, number, "its age: that of the youngest entry in it") \
    F(COUNT, oldest, "the age of its oldest entry")               \
    F(LETTER, family, "of its keys")
#define RUN_FIELDS(F)                                                                  \
    F(NUMBER, entries, "graves included")                                              \
    F(NUMBER, graves, "entries that are graves")                                       \
    F(NUMBER, bytes, "of its log")                                                     \
    F(NUMBER, elements, "of its log")                                                  \
    F(NUMBER, root_at, "the position of its root")                                     \
    F(SIGNED, gone_ms, "no entry matters from then on; INT64_MAX: time does not tell") \
    F(BYTES, first, "key")                                                             \
    F(BYTES, last, "key")

struct run_desc {
    RUN_FIRST_FIELDS(FIELD_MEMBER)
    bool split;  /* the run has jobs of one stretch of time, not of all times */
    bool broken; /* a part of the run could not be read: its log is kept for `belfry repair` */
    RUN_FIELDS(FIELD_MEMBER)
    /* Due times at SPREAD_POINTS equal parts of its entries: for forecasts. */
    unsigned spread_count;
    int64_t spread[SPREAD_POINTS];
};

/* Whether names in a run may be without the secret, though there is one. */
static inline bool run_has_old_names(const struct cold_names *n, const struct run_desc *d)
{
    return d->family == FAMILY_LOCATOR && d->oldest < n->first;
}

void run_desc_put(struct buf *out, const struct run_desc *from);
bool run_desc_get(struct wire_reader *r, struct run_desc *ret); /* keys are borrowed */

struct tally_entry {
    struct str queue;
    enum cold_slot slot;
    int64_t n;
    int64_t bytes;           /* of the jobs: see image_bytes */
    struct cold_point first; /* the first job, if the slot is a backlog */
    uint64_t lane;           /* COLD_ASIDE: the lane of the jobs */
};

/* The bytes that a job on disk counts for if an older version has counted it. That version did not
 * write the bytes of jobs. */
#define COLD_GUESS 256
/* Set in the byte of a slot: the bytes follow. */
#define SLOT_SIZED 0x80u

void tally_put(struct buf *out, const struct tally_entry *t);
bool tally_get(struct wire_reader *r, struct tally_entry *ret); /* false if malformed */

static inline bool slot_is_backlog(enum cold_slot slot)
{
    return (slot >= COLD_BACKLOG && slot < COLD_DONE) || slot == COLD_BACKLOG_7 ||
           slot == COLD_BACKLOG_8 || slot == COLD_ASIDE;
}

#endif
