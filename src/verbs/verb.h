/* SPDX-License-Identifier: MIT */
/*
 * Verbs: one row each. A row yields dispatch, argument checks, help, the protocol reference and a
 * command of the command line. Adding a verb is adding its row (table.c) and its handler.
 *
 * Positional arguments come first, in order. Options follow as pairs of name and value in any
 * order; their names may have either case.
 */
#ifndef VERBS_VERB_H
#define VERBS_VERB_H

#include "base/error.h"
#include "base/id.h"
#include "partition/partition.h"
#include "verbs/await.h"
#include "verbs/client_stats.h"
#include "verbs/identity.h"
#include "verbs/push_stats.h"
#include "verbs/reply.h"

#define VERB_ARGS_MAX 32 /* a bit of 32 for each: see verb_parse */

enum arg_type {
    ARG_END = 0, /* closes a row's list */
    ARG_NAME,    /* a queue's name */
    ARG_NAMES,   /* one or more names, with commas between */
    ARG_TENANT,  /* a tenant's name, or `*` */
    ARG_META,    /* a name and a value: two words */
    ARG_ITEMS,   /* all other words, unchecked; the last positional argument */
    ARG_RATE,    /* `100/1m`: so many in each period; 0: no limit */
    ARG_BYTES,   /* any bytes, up to max if max > 0 */
    ARG_PAYLOAD, /* any bytes, up to the server's max_payload */
    ARG_KEY,
    ARG_ID,
    ARG_TOKEN,
    ARG_DURATION, /* milliseconds, min..max */
    ARG_MOMENT,
    ARG_INT,  /* min..max */
    ARG_WORD, /* one of `words`; the value is its index */
    ARG_BACKOFF,
    ARG_CURSOR,
};

/* The type of the member that a value is stored in: see args_store. */
enum arg_as {
    AS_NONE, /* no member: the handler takes the value itself */
    AS_I64,
    AS_INT,
    AS_ENUM,
    AS_BOOL, /* the second of two words is true */
    AS_STR,
    AS_CHARS, /* an array, terminated */
    AS_RATE,
    AS_LIST /* several values: the handler has the room for them */
};

struct arg {
    const char *name; /* lower case */
    enum arg_type type;
    bool positional; /* positional arguments come first in the list */
    bool optional;   /* a positional argument that may be left out (only the last) */
    bool many;       /* an option that may be given several times: see verb_each */
    unsigned most;   /* how often it may be given, which the engine checks; 0: any number */
    bool secret;     /* the audit log hides its value */
    int64_t min;
    int64_t max;
    const char *words; /* "keep|replace|reject" */
    const char *http;  /* the value that HTTP always has, and does not take; NULL: it takes any */
    const char *help;
    const char *thing; /* of the first argument: the thing that it names, "queue"; NULL: a job */
    enum arg_as as;    /* type of the member that takes the value */
    size_t size;       /* size of the member */
    size_t into;       /* place of the member in the handler's struct */
    unsigned field;    /* bit of a setting */
};

struct arg_value {
    bool set;
    struct str str; /* the word as given */
    union {
        int64_t number; /* DURATION, MOMENT, INT, WORD */
        uint64_t token;
        struct job_id id;
        struct rate rate;
    };
};

/* Figures of the process that verbs show. */
struct verb_host_stats {
    int64_t uptime_ms;
    uint64_t connections;
    uint64_t commands;
    uint64_t slow;   /* pieces of work that held the loop for slow_work or longer */
    uint64_t stalls; /* times that the loop stood still for 50 ms or more */
    uint64_t rss_bytes;
    uint64_t memory_limit_bytes;
    int64_t cpu_ms;
    int64_t started_ms;           /* by the wall clock */
    const struct hist *fetch_us;  /* how long requests waited for jobs on disk */
    const struct hist *commit_us; /* from the start of a commit's write until it is durable */
    uint64_t log_lost;            /* log lines that were not read in time */
    uint64_t log_left_out;        /* log lines beyond log_rate */
    struct client_stats clients;
    uint64_t auth_failures;   /* wrong tokens that were shown */
    uint64_t auth_refused;    /* wrong tokens that were refused, after many others */
    uint64_t audit_refused;   /* changes that the audit log had no room for */
    uint64_t disk_bytes;      /* size of the data's file system; 0: not known */
    uint64_t disk_free_bytes; /* free space of the data's file system */
    bool disk_low;            /* space is at its reserve, and new jobs are refused */
    uint64_t event_streams;   /* readers of /v1/events */
    uint64_t streams_refused; /* readers of /v1/events that were beyond a limit of their number */
    uint64_t events;          /* changes of jobs that listeners were told of */
    uint64_t events_missed;   /* events that the log and traces missed */
    uint64_t spans_exported;
    uint64_t spans_dropped;
    const struct push_stats *push;
};

struct audit_entry;
struct overviews;
struct workers;

struct verb_host {
    size_t max_payload;
    size_t metrics_queues; /* queues that have series of their own in METRICS */
    void (*stats)(const struct verb_host *h, struct verb_host_stats *ret);
    /* Told of an entry that was added to the audit log; may be NULL. */
    void (*audited)(const struct verb_host *h, const struct audit_entry *a);
    /* Told of the n-th wrong token within a minute from an address; may be NULL. */
    void (*auth_failed)(const struct verb_host *h, struct str address, uint32_t n);
    /* Ends the wait of this client's parked request, if the client is confined to the tenant, or
     * the tenant is `*`. A LEASE is answered with no job, any other request with its job so far.
     * False: no such request waits. May be NULL. */
    bool (*unpark)(const struct verb_host *h, uint64_t client, struct str tenant);
    struct workers *workers;     /* NULL: they are not noted */
    struct overviews *overviews; /* NULL: OVERVIEW is refused */
};

/* One call of a verb. */
struct verb_call {
    struct engine *engine;
    struct partition *partition;
    const struct verb_host *host;
    struct reply *reply;
    const struct arg_value *args;
    uint32_t given; /* bit i: args[i] is set */
    const struct verb *verb;
    const struct str *words; /* the words of the request */
    size_t word_count;
    struct str tenant;          /* the tenant that the call is about; `*`: all */
    const struct identity *who; /* the caller; NULL: it may do everything */
    struct str address;         /* of the caller, with its port; may be empty */
    void *owner;                /* the owner of a parked call */
    struct waiter *parked;      /* set by a handler that parked the call and wrote no reply */
    struct await await;         /* set by a handler whose call waits for the end of a job */
    enum awaited_reply awaited; /* set by verb_await */
    bool cold;   /* set by verb_error: there is no reply, and the call is to run again after a fetch
                    from disk */
    bool failed; /* set by verb_error: the reply is an error */
    char outcome[64]; /* outcome for the audit log; empty: OK */
    char *kept;       /* NAME_MAX_BYTES for a tenant's name that neither request nor engine has */
};

typedef void verb_fn(struct verb_call *call);

enum verb_flags {
    VERB_READS = 1,   /* changes nothing */
    VERB_TAKES = 2,   /* gives out jobs and may park: LEASE */
    VERB_ADMIN = 4,   /* changes settings; the audit log has its changes */
    VERB_ADDS = 8,    /* adds jobs: waits while memory is at its budget */
    VERB_HOLDS = 16,  /* about a lease, whose token is enough, so that no tenant is needed */
    VERB_AUDITS = 32, /* changes no settings, but the audit log has its changes */
    /* Roles that may call it, besides admin; read-only tokens may call verbs that only read. */
    VERB_PRODUCER = 64,
    VERB_WORKER = 128,
    VERB_WIDE = 256,   /* about all tenants if none is given */
    VERB_SERVER = 512, /* only for tokens of tenant `*` */
    VERB_STOPS = 1024, /* pauses a thing; a verb without it, but with its handler, lets it go on */
    VERB_QUICK = 2048, /* takes microseconds if its words are short */
    VERB_SHOWS = 4096, /* without settings it changes nothing, and read-only tokens may call it */
};

struct verb {
    const char *name; /* upper case */
    unsigned flags;
    const char *summary;
    const char *returns;
    const char *example; /* one line for redis-cli */
    verb_fn *run;
    struct arg args[VERB_ARGS_MAX];
};

/* The table, closed by a row with name NULL; the most used verbs come first. */
extern const struct verb verb_table[];

const struct verb *verb_find(const struct verb *table, struct str name);
/* "queue": the thing that does not exist if the verb answers null or NOTFOUND. Accepts NULL. */
const char *verb_thing(const struct verb *v);

/* Checks and converts words[1..] by the row. Bit i of ret_given: ret[i] is set. INVALID or TOOLARGE
 * with a sentence in `why`. */
int verb_parse(const struct verb *v, const struct verb_host *host, const struct str *words,
               size_t n, char *why, size_t why_size, struct arg_value ret[VERB_ARGS_MAX],
               uint32_t *ret_given);

/* The next value of an option that may be given several times; of META its name, too. `at` is the
 * index of the next word, 0 at first. False: there is no value left. */
bool verb_each(const struct verb_call *c, size_t arg, size_t *at, struct str *ret_name,
               struct str *ret_value);

/* The tenant that the call is about: the given one, or the default of the row. */
struct str verb_tenant(const struct verb *v, const struct arg_value *args, uint32_t given);

/* Whether a token of this role may call the verb. A verb that also shows things (VERB_SHOWS) may be
 * allowed for showing only. */
bool verb_allows(const struct verb *v, enum role r);
/* The roles that may call it: "admin, producer". Returns the length. */
size_t verb_roles(const struct verb *v, char *ret, size_t size);
/* Whether the caller's role may call the verb: 0, or NOPERM after an error reply. */
int verb_admit(struct verb_call *call);
/* Sets call->tenant to the tenant of the arguments, or else to that of a confined caller. NOPERM
 * after an error reply: a confined caller named another tenant, or a read-only caller named a
 * setting. */
int verb_scope(struct verb_call *call);

/* "SCHEDULE queue payload [IN duration | …]": from the row. */
void verb_usage(const struct verb *v, struct buf *out);

/* All figures as text that Prometheus reads; of one tenant (not `*`) only its own. NOMEM. */
int metrics_text(struct engine *e, struct partition *p, const struct verb_host *host,
                 struct str tenant, struct buf *out);

/* Writes an error of the engine or the parser as the reply. COLD writes nothing and sets
 * call->cold. The handler has written nothing before. */
void verb_error(struct verb_call *call, int err, const char *detail);

/* Whether the call may make a change that needs an entry of the audit log. */
bool verb_is_audited(const struct verb_call *call);
/* Enters a call and its caller into the audit log. NOMEM. */
int verb_audit(struct verb_call *call, struct str client, struct str address);

/* Shows the job of call->await, or parks the call until the job has ended. The handler calls it as
 * its last step, and the front again when the wait is over. */
void verb_await(struct verb_call *call);
/* Writes the answer of LEASE, also for calls that were parked. */
void verb_reply_leases(const struct engine *e, struct reply *r, struct job *const *jobs, size_t n);

#endif
