/* SPDX-License-Identifier: MIT */
/*
 * Rations of the audit log. A tenant may make `rate` entries in a second, and `burst` at once. A
 * change beyond that is refused, because a change without its entry would be worse: a client could
 * flood the log first, and then change unseen whatever it likes. The tenant's admins have a ration
 * of their own, so that its other tokens cannot keep them from acting. Admins of all tenants have
 * no ration.
 *
 * Refused changes are counted, and the audit log has one entry for many of them.
 */
#ifndef FRONT_RATION_H
#define FRONT_RATION_H

#include "base/list.h"
#include "base/named.h"
#include "record/limits.h"

#define RATION_TELL_MS 60000 /* the log hears of a tenant's refused changes as often */
#define RATION_END_MS  5000  /* a flood has ended if nothing was refused for so long */

struct ration {
    struct named named; /* first: by the tenant */
    char name[NAME_MAX_BYTES];
    struct list link;
    struct ration_part {
        int64_t credit;    /* entries that are left, in thousandths */
        int64_t filled_ms; /* monotonic: when credit was added last */
    } parts[2];            /* of its admins: the second */
    uint64_t refused;      /* changes that the audit log has not heard of */
    int64_t since_ms;      /* monotonic: the first of these */
    int64_t last_ms;       /* monotonic: the last of these */
};

struct rations {
    const int64_t *rate;  /* entries of a tenant in a second; 0: any number */
    const int64_t *burst; /* entries at once */
    struct table table;
    struct list all;
    uint64_t refused; /* changes, since the start */
};

/* The two numbers may change later. */
void rations_init(struct rations *r, const int64_t *rate, const int64_t *burst,
                  struct hash_key key);
void rations_fini(struct rations *r);

/* Whether the tenant may make an entry: 0, or the milliseconds until it may. Then the change is
 * refused, and counted. Without memory for a ration it is one second. */
int64_t ration_wait(struct rations *r, struct str tenant, bool admin, int64_t mono_ms);
/* An entry was made. */
void ration_spend(struct rations *r, struct str tenant, bool admin);

/* Now and then: tells of tenants whose changes were refused, once a minute and when the flood has
 * ended. If `tell` answers false, it is told again later. Forgets rations that are whole. */
void rations_sweep(struct rations *r, int64_t mono_ms,
                   bool (*tell)(void *arg, struct str tenant, uint64_t refused), void *arg);

#endif
