/* SPDX-License-Identifier: MIT */
/*
 * Addresses that have shown wrong tokens. After GUARD_FAILURES of them within GUARD_MS, further
 * wrong tokens from an address are refused until that time is over, and are not logged. A right
 * token never meets the guard, so no client can lock out another behind one address. Secrets are
 * too long to be guessed; the guard keeps guessing visible, and the log short. Its size is fixed:
 * when there is no room, it forgets the addresses that failed longest ago.
 */
#ifndef FRONT_GUARD_H
#define FRONT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

#define GUARD_FAILURES 10
#define GUARD_MS       60000
#define GUARD_SETS     256
#define GUARD_WAYS     4

struct guard {
    struct hash_key key; /* secret, so that no client chooses addresses that share a set of slots */
    uint64_t failures;   /* since the start */
    uint64_t refused;    /* wrong tokens that were refused, since the start */
    struct guard_slot {
        uint64_t key;     /* a hash of the address; 0: the slot is empty */
        int64_t since_ms; /* monotonic time of the first failure */
        uint32_t failures;
    } slots[GUARD_SETS][GUARD_WAYS];
};

/* `address` has a port, which does not count. Of IPv6 only the first half counts, because the
 * owner of the address chooses the rest. An empty address is not watched. */

/* Whether a wrong token from this address is answered as a wrong token. Otherwise it is refused and
 * counted. The caller asks before guard_failed. */
bool guard_admits(struct guard *g, struct str address, int64_t mono_ms);
/* The attempt was wrong. Returns the number of wrong ones within the time. */
uint32_t guard_failed(struct guard *g, struct str address, int64_t mono_ms);

#endif
