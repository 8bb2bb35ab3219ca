/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory, with one file system on it, that knows what a loss of power would leave.
 *
 * Each file has its bytes as programs see them, those that are safe, and the patches between the
 * two; each directory the same with its entries. A sync makes the patches of one file or the
 * changes of one directory safe, and nothing else: a synced file whose name is not safe is lost.
 * platter_lose makes the disk that is found when the power comes back.
 *
 * Paths begin with PLATTER_ROOT. Functions answer 0 or a negative errno. They are called by one
 * thread at a time (turns.h).
 */
#ifndef POWER_PLATTER_H
#define POWER_PLATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/rng.h"

#define PLATTER_ROOT "/disk"

/* A write, or a change of size (bytes NULL). */
struct patch {
    uint64_t tick;
    uint64_t offset;
    size_t len;
    char *bytes;
    uint64_t size; /* of the file, after it */
};

struct entry {
    char *name;
    struct node *node;
};

struct entries {
    struct entry *items;
    size_t count;
    size_t cap;
};

/* An entry that a directory has got or lost (node NULL) since its last sync. */
struct change {
    uint64_t tick;
    char *name;
    struct node *node;
};

struct node {
    struct node *next; /* of all on the platter */
    uint64_t ino;
    bool dir;
    unsigned links;  /* names */
    unsigned opened; /* descriptors */
    bool reached;

    char *now;
    uint64_t size;
    uint64_t room; /* allocated for `now` */
    char *kept;
    uint64_t kept_size;
    struct patch *patches;
    size_t patch_count;
    size_t patch_cap;

    struct entries names;
    struct entries kept_names;
    struct change *changes;
    size_t change_count;
    size_t change_cap;

    struct node *copy; /* of platter_lose */
};

struct platter {
    struct node *nodes;
    struct node *root;
    uint64_t next_ino;
    uint64_t tick;     /* of the last change */
    uint64_t capacity; /* 0: without end */
    bool dead;         /* the power is off: nothing works */
    struct rng salt;   /* what the machine calls random */
};

struct platter *platter_new(uint64_t seed);
void platter_free(struct platter *p); /* accepts NULL */
/* Frees what nothing leads to any more. */
void platter_sweep(struct platter *p);

struct node *platter_find(struct platter *p, const char *path); /* NULL: not there */
struct node *entries_find(const struct entries *e, const char *name);
int platter_create(struct platter *p, const char *path, bool dir, struct node **ret);
int platter_rename(struct platter *p, const char *from, const char *to);
int platter_unlink(struct platter *p, const char *path);
int platter_link(struct platter *p, const char *path, const char *second);

/* Up to the capacity: the count of bytes that fit, or -ENOSPC. */
long platter_write(struct platter *p, struct node *n, const void *bytes, size_t len,
                   uint64_t offset);
int platter_resize(struct platter *p, struct node *n, uint64_t size);
void platter_sync(struct node *n);
/* A sync that fails: some of it is safe, and the rest will never be, though it is seen. */
void platter_sync_badly(struct node *n, struct rng *r);
uint64_t platter_used(const struct platter *p);
/* Names or bytes that are not safe. */
bool platter_names_open(const struct platter *p);

/* ---- loss.c ---- */

#define LOSSES(X)                                                      \
    X(NONE, "nothing")                                                 \
    X(ALL, "all that was not synced")                                  \
    X(LATEST, "the latest changes")                                    \
    X(NAMES, "names that were not synced, no data")                    \
    X(DATA, "data that was not synced, no names")                      \
    X(ONE_NAME, "one name that was not synced, no data")               \
    X(BUT_ONE_NAME, "all names that were not synced but one, no data") \
    X(DIRS, "names of some directories, data in pieces")               \
    X(PIECES, "names and data in pieces")

enum loss {
#define LOSS_ENUM(name, text) LOSS_##name,
    LOSSES(LOSS_ENUM)
#undef LOSS_ENUM
        LOSS_COUNT
};

const char *loss_text(enum loss loss);
/* The disk after a loss of power now. The platter itself stays as it is. */
struct platter *platter_lose(const struct platter *p, enum loss loss, struct rng *r);

#endif
