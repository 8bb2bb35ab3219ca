/* SPDX-License-Identifier: MIT */
/*
 * Who has shown wrong tokens, by address: after GUARD_FAILURES of them within GUARD_MS an address
 * may show none until that time is over. It is not for keeping secrets, which nobody can guess, but
 * so that guessing costs little here and is seen. Of fixed size: where there are more addresses
 * than there is room for, those that failed longest ago are forgotten.
 */
#ifndef FRONT_GUARD_H
#define FRONT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define GUARD_FAILURES 10
#define GUARD_MS       60000
#define GUARD_SETS     256
#define GUARD_WAYS     4

struct guard {
    uint64_t failures; /* since the start, */
    uint64_t refused;  /* and attempts that were not looked at */
    struct guard_slot {
        uint64_t key;     /* a hash of the address; 0: nobody */
        int64_t since_ms; /* monotonic: when it first failed */
        uint32_t failures;
    } slots[GUARD_SETS][GUARD_WAYS];
};

/* `address` is as the server writes it: with a port, which does not count. Of IPv6 the first half
 * counts: the rest is its owner's to choose. Empty ones are not watched. */

/* Whether an attempt may be looked at; if not, it is counted. */
bool guard_admits(struct guard *g, struct str address, int64_t mono_ms);
/* It was looked at and is wrong: how many that were, within the time. */
uint32_t guard_failed(struct guard *g, struct str address, int64_t mono_ms);

#endif
