/* SPDX-License-Identifier: MIT */
/*
 * Rations of the audit log. A tenant may make `rate` entries in a second, and `burst` at once. A
 * change beyond that is refused, because a change without its entry would be worse. A client could
 * flood the log first, and then make changes unseen. The tenant's admins have a ration of their
 * own, so that its other tokens cannot keep them from acting. Admins of all tenants have no ration.
 *
 * Refused changes are counted, and the audit log has one entry for many of them.
 */
#ifndef FRONT_RATION_H
#define FRONT_RATION_H

#include "base/list.h"
#include "base/named.h"
#include "record/limits.h"

#define RATION_TELL_MS 60000 /* the time between two entries about a tenant's refused changes */
#define RATION_END_MS  5000  /* a flood has ended if nothing was refused for this time */

struct ration {
    struct named named; /* first: by the tenant */
    char name[NAME_MAX_BYTES];
    struct list link;
    struct ration_part {
        int64_t credit;    /* entries that are left, in thousandths */
        int64_t filled_ms; /* monotonic: when credit was added last */
    } parts[2];            /* the tenant's admins use the second part */
    uint64_t refused;      /* refused changes of which the audit log has no entry yet */
    int64_t since_ms;      /* monotonic: when the first of `refused` came */
    int64_t last_ms;       /* monotonic: when the last of `refused` came */
};

struct rations {
    const int64_t *rate;  /* entries of a tenant in a second; 0: any number */
    const int64_t *burst; /* entries at once */
    struct table table;
    struct list all;
    uint64_t refused; /* changes, since the start */
};

/* `rate` and `burst` are borrowed, and their values may change later. */
void rations_init(struct rations *r, const int64_t *rate, const int64_t *burst,
                  struct hash_key key);
void rations_fini(struct rations *r);

/* How long the tenant has to wait until it may make an entry. 0: it may now. Otherwise the change
 * is refused and counted. Without memory for a ration, the answer is one second. */
int64_t ration_wait(struct rations *r, struct str tenant, bool admin, int64_t mono_ms);
/* An entry was made. */
void ration_spend(struct rations *r, struct str tenant, bool admin);

/* The server calls it now and then. It tells of tenants whose changes were refused, once a minute
 * and when the flood has ended. If `tell` answers false, it is called again later. Full rations are
 * forgotten. */
void rations_sweep(struct rations *r, int64_t mono_ms,
                   bool (*tell)(void *arg, struct str tenant, uint64_t refused), void *arg);

#endif
