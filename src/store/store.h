/* SPDX-License-Identifier: MIT */
/*
 * The store contract: named append-only logs of elements, and small cells changed by
 * compare-and-swap. Everything durable in Belfry is in a log or a cell.
 *
 * An element is one commit (or one block): opaque bytes, whole or absent. Elements of a log are
 * numbered from 0 without gaps. A log exists from its first append until it is removed. A cell has
 * a version that its writers choose and that never falls. The version of an owner record, which is
 * a cell, is the epoch. An append names the owner record that fences it.
 *
 * All calls block until done and may come from any thread. The caller makes appends, syncs and
 * removals of one log one at a time. Reads may overlap with all of them; see `read`. Calls on
 * different logs and cells may overlap. Errors are negative (base/error.h). Detail goes to
 * store_detail(), valid until the next failing call on that thread. Names are 1-200 of a-z 0-9 . -
 * / ; no empty, "." or ".." components.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct store_append {
    struct str log;
    struct str fence; /* name of the owner record */
    uint64_t epoch; /* the version of the owner record, 0 if it is absent or expired; else FENCED */
    uint64_t seq;   /* the number of this element; CONFLICT if the log is not exactly there */
    struct str element; /* 1 byte to STORE_ELEMENT_MAX */
    bool durable; /* survives power loss when the call returns; else only a crash of this process */
    bool reserved;    /* takes space from the reserve if there is no other space */
    uint64_t *ret_at; /* NULL, or set to the element's position: a hint for `read`, never 0 */
};

#define STORE_ELEMENT_MAX (64u << 20)
#define STORE_NAME_MAX    200
#define STORE_VALUE_MAX   4096

/* The end of a log, as a read found it. */
struct store_tail {
    uint64_t elements;   /* whole elements in the log, those before `from` included */
    uint64_t torn_bytes; /* length of a half-written element that follows and was left out */
    char where[256];     /* file and offset of the torn element */
};

struct store_cell {
    struct str name;
    struct str value; /* up to STORE_VALUE_MAX bytes */
    uint64_t version;
    /* By the clock of the store; 0: never. An expired cell is absent, and its version is forgotten.
     * A cell that fences must not expire, or epochs would repeat. */
    int64_t expires_ms;
};

struct store_cas {
    struct str name;
    uint64_t expect; /* the present version, 0 if the cell is absent; else CONFLICT */
    uint64_t next;   /* >= expect, > 0 */
    struct str value;
    int64_t expires_ms;
};

/* Callbacks: 0 goes on, any other answer stops and is returned by the call. Slices are borrowed. */
typedef int store_element_fn(void *arg, uint64_t seq, struct str element);
typedef int store_name_fn(void *arg, struct str name);
typedef int store_cell_fn(void *arg, const struct store_cell *cell);

struct store;

struct store_ops {
    void (*close)(struct store *s);

    /* 0, FENCED or CONFLICT. INDOUBT: the element may or may not be there; read back. FULL: there
     * is no space, as if nothing had been written, but a loss of power before the next sync may
     * bring the element back. IO: a write or sync failed; the log refuses appends until `sync`
     * succeeds on it. */
    int (*append)(struct store *s, const struct store_append *a);

    /* Makes all whole elements of the log survive power loss, also those of an earlier process.
     * It cuts off a torn tail, so that the log ends cleanly. NOTFOUND. */
    int (*sync)(struct store *s, struct str log);

    /* A hint: most of the log will not be read soon, so the store may drop its caches of it. Like a
     * read it may overlap with all other calls. May be NULL; see store_cool. */
    void (*cool)(struct store *s, struct str log);

    /* Gives elements from number `from` on, in order. A bad element without a whole one behind it
     * is a torn tail, which ret tells. Any other bad element is CORRUPT, with detail that names
     * file and offset. NOTFOUND. ret may be NULL, and is set only if the end was reached.
     *
     * `at` is 0, or the hint that the append of element `from` gave. A read with a hint looks at
     * nothing before that element, nor behind the element at which the callback stops. It waits for
     * no other call on the log. CORRUPT: that element is not there whole. A read without a hint
     * waits for other such reads, appends and syncs of its log.
     *
     * A log may be removed while it is read: the reader is given true elements, then perhaps
     * NOTFOUND. The callback makes no calls on the log that it is given elements of. */
    int (*read)(struct store *s, struct str log, uint64_t from, uint64_t at, store_element_fn *fn,
                void *arg, struct store_tail *ret);

    /* Names of logs with a prefix, sorted. */
    int (*list)(struct store *s, struct str prefix, store_name_fn *fn, void *arg);

    /* Durable when it returns. Removing a log that does not exist is fine. */
    int (*remove)(struct store *s, struct str log);

    /* Cells with a prefix, sorted by name. */
    int (*scan)(struct store *s, struct str prefix, store_cell_fn *fn, void *arg);

    /* Durable when it returns. 0, CONFLICT, INDOUBT. */
    int (*cas)(struct store *s, const struct store_cas *c);

    /* The number of logs that can be made in the reserve. May be NULL; see store_spares. */
    unsigned (*spares)(struct store *s);

    /* The wall clock in milliseconds that all users of this store agree on. */
    int64_t (*now_ms)(struct store *s);
};

/* First member of every backend's own struct. */
struct store {
    const struct store_ops *ops;
    atomic_bool low; /* only the reserve of space is left; the store clears it */
};

static inline void store_cool(struct store *s, struct str log)
{
    if (s->ops->cool)
        s->ops->cool(s, log);
}

/* UINT_MAX if this store has no such limit. */
static inline unsigned store_spares(struct store *s)
{
    return s->ops->spares ? s->ops->spares(s) : UINT_MAX;
}

struct store_options {
    uint64_t log_bytes;     /* expected size of a log, which is allocated ahead. 0: 32 MiB */
    unsigned reserve;       /* spare logs that are kept ready for a full disk. 0: 2 */
    unsigned sync_delay_us; /* added to every sync: a slower disk for benchmarks */
    bool read_only;         /* the store is read without a lock; nothing is created or changed */
    unsigned mutant;        /* which deliberate bug, in builds with BELFRY_MUTANTS: mutant.h */
};

/* The url is "memory:", "file:DIR" or just DIR. INVALID for an unknown kind, LOCKED if another
 * process has it, IO, CORRUPT (not a store, or a newer format). */
int store_open(const char *url, const struct store_options *o, struct store **ret);
void store_close(struct store *s); /* accepts NULL */

/* The detail of this thread's last failure: "data/logs/…: offset 4096: checksum does not match". */
const char *store_detail(void);
/* For backends: sets the detail and returns err. */
int store_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool store_name_valid(struct str name);
/* For backends: the part of the contract that needs no state. 0 or INVALID (with detail). */
int store_check_log(struct str name);
int store_check_append(const struct store_append *a);
int store_check_cas(const struct store_cas *c);

/* Reads the cell of this name, and copies its value into buf, which has cap bytes. NOTFOUND,
 * TOOLARGE if the value does not fit. The slices of ret point at `name` and buf. */
int store_get(struct store *s, struct str name, void *buf, size_t cap, struct store_cell *ret);

#endif
