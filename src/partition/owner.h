/* SPDX-License-Identifier: MIT */
/*
 * The owner record of a partition: a cell, whose version is the epoch. Its value is a text about
 * the last owner and the end of the journal:
 *
 *     open epoch 7 last 12                            the journal has segment 12 at least
 *     clean epoch 7 last 12 elements 340 hash 9f...   the journal ends exactly there
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
    bool present;      /* the partition has an owner record */
    bool clean;        /* the last owner stopped in order, or there was no owner */
    bool known;        /* last, elements and hash are known */
    uint64_t epoch;    /* that of the last owner */
    uint32_t last;     /* a segment that has a commit; 0: there may be none */
    uint64_t elements; /* clean: commits in that segment */
    uint64_t hash;     /* clean: of its last commit; 0 if there is none */
};

void owner_name(uint16_t partition, char ret[OWNER_NAME]);
void owner_text(const struct owner_note *n, char ret[OWNER_TEXT]);

/* Reads the owner record. If there is none, the note says that there was no journal. ret_version is
 * the epoch. CORRUPT, IO. */
int owner_read(struct store *s, uint16_t partition, struct owner_note *ret, uint64_t *ret_version);

/* Whether the journal is missing, as no segment is there. `runs`: there are runs. */
bool owner_misses_journal(const struct owner_note *n, bool runs);

#endif
