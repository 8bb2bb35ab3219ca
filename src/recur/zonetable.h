/* SPDX-License-Identifier: MIT */
/* The parts of a zone. For zone.c and tzfile.c only. */
#ifndef RECUR_ZONETABLE_H
#define RECUR_ZONETABLE_H

#include "recur/tzrule.h"

struct zone_row {
    int64_t at_s;    /* the stretch begins; INT64_MIN in the first row */
    int64_t reach_s; /* the local times below this were shown before; never falls */
    uint8_t kind;
};

/*
 *     rows[0]        rows[1]        ...  rows[rows_n - 1]  | tail
 *     from the start, each to the next one                 | from tail_s on, for ever
 */
struct zone {
    struct tzrule tail;
    int64_t tail_s;
    int64_t tail_reach_s;
    uint32_t rows_n;
    uint32_t kinds_n;
    struct tzrule_kind *kinds; /* kinds and rows are in the piece of memory of the zone */
    struct zone_row *rows;
};

/* Everything is zero but the pointers and counts. NULL if memory ran out. */
struct zone *zone_new(uint32_t rows_n, uint32_t kinds_n);

#endif
