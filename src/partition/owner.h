/* SPDX-License-Identifier: MIT */
/*
 * The owner record of a partition. Its version is the epoch. Its value is text that says who opened
 * the partition last and where the journal ends:
 *
 *     open epoch 7 last 12                            it has segment 12 at least
 *     clean epoch 7 last 12 elements 340 hash 9f...   it ends there, exactly
 *     open epoch 7                                    nothing is known of its end
 *
 * Older versions wrote "open" or "clean" alone.
 */
#ifndef PARTITION_OWNER_H
#define PARTITION_OWNER_H

#include "store/store.h"

#define OWNER_NAME 48
#define OWNER_TEXT 160

struct owner_note {
    bool present;      /* there is such a record */
    bool clean;        /* the last owner stopped in order, or there was none */
    bool known;        /* what follows on the journal's end counts */
    uint64_t epoch;    /* the last one that a partition was opened with */
    uint32_t last;     /* a segment that has a commit; 0: there may be none */
    uint64_t elements; /* clean: commits in it, and */
    uint64_t hash;     /* of the last of them; 0 where there is none */
};

void owner_name(uint16_t partition, char ret[OWNER_NAME]);
void owner_text(const struct owner_note *n, char ret[OWNER_TEXT]);

/* Reads it; without a record: nothing was ever there, which is known. ret_version is the epoch.
 * CORRUPT, IO. */
int owner_read(struct store *s, uint16_t partition, struct owner_note *ret, uint64_t *ret_version);

/* Whether there must have been a journal, though no segment is there. `runs`: some are. */
bool owner_misses_journal(const struct owner_note *n, bool runs);

#endif
