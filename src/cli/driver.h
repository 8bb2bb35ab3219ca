/* SPDX-License-Identifier: MIT */
/* How a benchmark talks to a server: Belfry, or a peer in bench/loadgen. Commands are bytes
 * in a buffer; replies are measured, not parsed into values. Only prepare and wipe block. */
#ifndef CLI_DRIVER_H
#define CLI_DRIVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "cli/client.h"

#define DRIVER_ID_MAX        32
#define DRIVER_NUMBER_DIGITS 10 /* a job's number at the front of its payload, if it has room */

struct driver;

/* The queue, sorted set or tube that a benchmark works on. */
struct target {
    const struct driver *driver;
    char queue[64];
    char tenant[64]; /* "": the token's, or default; only belfry's driver has them */
    size_t payload_bytes;
    struct buf later;    /* a command that adds a job for later; put() fills in digits */
    struct buf now;      /* a command that adds a due job */
    size_t later_gap;    /* offset of the due time's digits in `later` */
    size_t later_id;     /* offset of the job's number in `later`; 0: it has none */
    size_t now_id;       /* offset of the job's number in `now`; 0: it has none */
    int64_t base_ms;     /* wall time at the start */
    int64_t first_ms;    /* when the first job for later is due */
    int64_t span_ms;     /* from the first job for later to the last */
    char scripts[3][48]; /* names of scripts at the server; Belfry's drivers have none */
};

/* A job that was taken. Slices are borrowed from the reply. */
struct driver_job {
    struct str payload;
    int64_t due_ms;
};

/* Looks at jobs as they are taken. */
struct driver_watch {
    void (*job)(struct driver_watch *w, const struct driver_job *j);
    unsigned conn; /* which connection took it */
};

struct driver {
    const char *name;
    const char *port; /* its server's usual port; NULL for Belfry's, which the options tell */
    bool belfry;      /* its server is Belfry: it is reached and greeted as by any command */

    /* Makes the commands, and the things at the server that they need. 0, or an error with why. */
    int (*prepare)(struct target *t, struct client *c);
    /* Appends the first commands of a connection; returns how many replies come. May be NULL. */
    unsigned (*greet)(const struct target *t, struct buf *out);

    /* The length of the reply at the start of `in`; 0: not whole yet; -1: an error, or no reply. */
    ssize_t (*scan)(struct str in);

    /* Appends the command that adds job number n, which is due now or at driver_due_ms(). From its
     * reply `note` takes the id that `drop` needs; id_bytes is 0 if there is no `drop`. */
    void (*put)(const struct target *t, struct buf *out, uint64_t n, bool due);
    size_t id_bytes;
    void (*note)(struct str reply, char *ret_id);
    void (*drop)(const struct target *t, struct buf *out, const char *id);

    /* Appends commands that take up to `count` due jobs; returns how many replies come. */
    unsigned (*take)(const struct target *t, struct buf *out, unsigned count);
    /* Appends the commands that finish the jobs of a reply to `take`, adds the number of their
     * replies, and returns the number of jobs. `w` may be NULL; only Belfry's drivers call it. */
    unsigned (*finish)(const struct target *t, struct str reply, struct buf *out, unsigned *replies,
                       struct driver_watch *w);

    /* Removes everything that is left at the server. May be NULL. */
    int (*wipe)(struct target *t, struct client *c);
};

extern const struct driver driver_belfry, driver_belfry_full;

/* The driver of full jobs has this number of tenants, and of ordering keys of each tenant. */
#define FULL_TENANTS 10
#define FULL_LANES   1000

/* Helpers for drivers. Appends `bytes` bytes of text. */
void driver_filler(struct buf *out, size_t bytes);
/* Writes a number as exactly `width` digits. */
void driver_digits(char *at, size_t width, uint64_t n);
/* Appends a prefix and a number as one word of a command. */
void driver_word(struct buf *out, const char *prefix, uint64_t n);
/* Appends the payload in t->now with job n's number at its front. */
void driver_payload(const struct target *t, struct buf *out, uint64_t n);

/* Asks the server and waits for its reply, in prepare and wipe. An error reply is a failure. */
int driver_ask(struct client *c, struct str *words, size_t n, const struct resp_values **ret);

/* When job n is due if it is for later. Jobs are spread evenly over the span, in no order. */
static inline int64_t driver_due_ms(const struct target *t, uint64_t n)
{
    return t->first_ms + (int64_t)(n * UINT64_C(2654435761) % (uint64_t)t->span_ms);
}

#endif
