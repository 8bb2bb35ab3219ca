/* SPDX-License-Identifier: MIT */
/*
 * Verbs: one row each. A row yields dispatch, argument checks, help, the protocol reference and the
 * command line's own command. Adding a verb is adding its row (table.c) and its handler.
 *
 * Positional arguments come first, in order; then options as name-value pairs in any order, names
 * in either case.
 */
#ifndef VERBS_VERB_H
#define VERBS_VERB_H

#include "base/error.h"
#include "base/id.h"
#include "partition/partition.h"
#include "verbs/identity.h"
#include "verbs/reply.h"

#define VERB_ARGS_MAX 32

enum arg_type {
    ARG_END = 0, /* closes a row's list */
    ARG_NAME,    /* a queue's name */
    ARG_NAMES,   /* one or more, with commas between */
    ARG_TENANT,  /* a tenant's name, or `*` */
    ARG_META,    /* a name and a value: two words */
    ARG_ITEMS,   /* the rest of the words, as they are: positional, and the last */
    ARG_RATE,    /* `100/1m`: so many in each period; 0 for none */
    ARG_BYTES,   /* any bytes, up to max if max > 0 */
    ARG_PAYLOAD, /* any bytes, up to the server's max_payload */
    ARG_KEY,
    ARG_ID,
    ARG_TOKEN,
    ARG_DURATION, /* milliseconds, min..max */
    ARG_MOMENT,
    ARG_INT,  /* min..max */
    ARG_WORD, /* one of words; the value is its index */
    ARG_BACKOFF,
    ARG_CURSOR,
};

/* The type of the member that a value is stored in: see args_store. */
enum arg_as {
    AS_NONE, /* the handler takes the value itself */
    AS_I64,
    AS_INT,
    AS_ENUM,
    AS_BOOL, /* the second of two words is true */
    AS_STR,
    AS_CHARS, /* an array, terminated */
    AS_RATE,
    AS_LIST /* several: the handler has the room for them */
};

struct arg {
    const char *name; /* lower case */
    enum arg_type type;
    bool positional; /* positional ones come first in the list */
    bool optional;   /* a positional one that may be left out (only the last) */
    bool many;       /* an option that may be given several times: see verb_each */
    bool secret;     /* its value is not to be seen in the audit log */
    int64_t min;
    int64_t max;
    const char *words; /* "keep|replace|reject" */
    const char *help;
    const char *thing; /* "queue": what the verb's first argument names; NULL: a job */
    enum arg_as as;    /* the member's type, */
    size_t size;       /* its size, */
    size_t into;       /* its place in the struct that the handler fills, */
    unsigned field;    /* and, of a setting, its bit */
};

struct arg_value {
    bool set;
    struct str str; /* NAME, NAMES, BYTES, PAYLOAD, KEY, BACKOFF, CURSOR: as given */
    union {
        int64_t number; /* DURATION, MOMENT, INT, WORD */
        uint64_t token;
        struct job_id id;
        struct rate rate;
    };
};

/* How a push ended. */
#define PUSH_OUTCOMES(X)                                                       \
    X(delivered, "answered with 2xx: the job is done")                         \
    X(rejected, "answered with another status: the attempt failed")            \
    X(redirected, "answered with 3xx, which is not followed: likewise")        \
    X(postponed, "answered with 429 or 503 and when to try again: it is then") \
    X(gone, "answered with 410: the job is dead")                              \
    X(timeout, "no answer in time: the attempt failed")                        \
    X(unreachable, "no connection: likewise")                                  \
    X(forbidden, "an address that push_allow does not allow: likewise")

enum push_outcome {
#define PUSH_OUTCOME_ENUM(name, help) PUSH_##name,
    PUSH_OUTCOMES(PUSH_OUTCOME_ENUM)
#undef PUSH_OUTCOME_ENUM
        PUSH_OUTCOME_COUNT
};

struct push_stats {
    uint64_t outcomes[PUSH_OUTCOME_COUNT];
    uint64_t running;
    uint64_t circuits; /* endpoints that are left alone now */
    struct hist took_us;
};

/* Facts of the process that verbs show. */
struct verb_host_stats {
    int64_t uptime_ms;
    uint64_t connections;
    uint64_t commands;
    uint64_t rss_bytes;
    uint64_t memory_limit_bytes;
    int64_t cpu_ms;
    int64_t started_ms;           /* wall clock */
    const struct hist *fetch_us;  /* what requests waited for jobs that were on disk */
    const struct hist *commit_us; /* from handing a commit to the disk until it is durable */
    uint64_t auth_failures;       /* tokens that were shown and are none, */
    uint64_t auth_refused;        /* and attempts that were not looked at after many of them */
    uint64_t disk_bytes;          /* of the file system that has the data; 0: not known */
    uint64_t disk_free_bytes;     /* of it, what is left */
    bool disk_low;                /* at its reserve: new jobs are refused */
    uint64_t event_streams;       /* readers of events */
    uint64_t events;              /* told of jobs, while somebody listened */
    uint64_t events_missed;       /* by the log and traces */
    uint64_t spans_exported;
    uint64_t spans_dropped;
    const struct push_stats *push;
};

struct audit_entry;

struct verb_host {
    size_t max_payload;
    void (*stats)(const struct verb_host *h, struct verb_host_stats *ret);
    /* An entry was added to the audit log; may be NULL. */
    void (*audited)(const struct verb_host *h, const struct audit_entry *a);
    /* A wrong token was shown from there, the n-th within a minute; may be NULL. */
    void (*auth_failed)(const struct verb_host *h, struct str address, uint32_t n);
};

/* Who is asking, kept by the front for as long as the connection lasts. */
struct verb_call {
    struct engine *engine;
    struct partition *partition;
    const struct verb_host *host;
    struct reply *reply;
    const struct arg_value *args;
    const struct verb *verb;
    const struct str *words; /* of the request, */
    size_t word_count;
    struct str tenant;          /* whose things it is about; `*`: everybody's */
    const struct identity *who; /* NULL: one who may do everything */
    void *owner;                /* for a parked LEASE */
    struct waiter *parked;      /* set by a handler that parked the call: no reply was written */
    bool cold; /* set by verb_error: no reply was written, the call is to be run again once what it
                  needs was fetched from disk */
    bool failed;               /* set by verb_error: the reply is an error */
    char outcome[64];          /* for the audit log; empty: OK */
    char kept[NAME_MAX_BYTES]; /* a tenant that is neither in the request nor in the engine */
};

typedef void verb_fn(struct verb_call *call);

enum verb_flags {
    VERB_READS = 1,   /* changes nothing */
    VERB_TAKES = 2,   /* LEASE: gives out jobs, may park, and shows nothing else */
    VERB_ADMIN = 4,   /* settings; what it changes is in the audit log */
    VERB_ADDS = 8,    /* jobs: waits while memory is at its budget */
    VERB_HOLDS = 16,  /* about a lease: its token says enough, so that no tenant need be named */
    VERB_AUDITS = 32, /* no setting, but in the audit log all the same */
    /* Who may call it, besides admins; read-only tokens may what only reads. */
    VERB_PRODUCER = 64,
    VERB_WORKER = 128,
    VERB_WIDE = 256,   /* about all tenants, if none is given */
    VERB_SERVER = 512, /* only for tokens of tenant `*` */
};

struct verb {
    const char *name; /* upper case */
    unsigned flags;
    const char *summary;
    const char *returns;
    const char *example; /* one line as typed into redis-cli */
    verb_fn *run;
    struct arg args[VERB_ARGS_MAX];
};

/* The table, closed by a row with name NULL; the most used come first. */
extern const struct verb verb_table[];

const struct verb *verb_find(const struct verb *table, struct str name);
/* "queue": what is missing if it answers null or NOTFOUND. Accepts NULL. */
const char *verb_thing(const struct verb *v);

/* Checks and converts words[1..] by the row. INVALID or TOOLARGE with a sentence in `why`. */
int verb_parse(const struct verb *v, const struct verb_host *host, const struct str *words,
               size_t n, struct arg_value *ret, char *why, size_t why_size);

/* One of the values of an option that may be given several times; for META its name, too. `at` is
 * where to look from, 0 at first. False: there is none left. */
bool verb_each(const struct verb_call *c, size_t arg, size_t *at, struct str *ret_name,
               struct str *ret_value);

/* The tenant that the call is about: as given, or what its row has for one that is not. */
struct str verb_tenant(const struct verb *v, const struct arg_value *args);

/* Whether a token of this role may call it. */
bool verb_allows(const struct verb *v, enum role r);
/* "admin, producer": who may. Returns the length. */
size_t verb_roles(const struct verb *v, char *ret, size_t size);
/* Whether the caller's role may call the verb: 0, or NOPERM after an error reply. */
int verb_admit(struct verb_call *call);
/* Sets call->tenant to the one that the arguments say, or to the caller's own if he has one and
 * they say none. NOPERM after an error reply if he named another. */
int verb_scope(struct verb_call *call);

/* "SCHEDULE queue payload [IN duration | …]": from the row. */
void verb_usage(const struct verb *v, struct buf *out);

/* All figures as text that Prometheus reads; of one tenant (not `*`) only what is its own. NOMEM.
 */
int metrics_text(struct engine *e, struct partition *p, const struct verb_host *host,
                 struct str tenant, struct buf *out);

/* Writes an engine's or parser's error as the reply; COLD is none, but sets call->cold. A handler
 * has written nothing before. */
void verb_error(struct verb_call *call, int err, const char *detail);

/* Enters what a call has changed into the audit log, and who it was. NOMEM. */
int verb_audit(struct verb_call *call, struct str client, struct str address);

/* The answer of LEASE for these jobs, also for parked calls that are served later. */
void verb_reply_leases(const struct engine *e, struct reply *r, struct job *const *jobs, size_t n);

#endif
