/* SPDX-License-Identifier: MIT */
/* State of the engine's own work. */
#ifndef ENGINE_TASKS_DATA_H
#define ENGINE_TASKS_DATA_H

#include "base/list.h"

struct tasks {
    struct list walks;      /* of bulks: see bulk.c */
    uint64_t bulk_asks;     /* the bulk that answered COLD; 0: none */
    int64_t bulk_rest_ms;   /* monotonic: no bulk goes on before */
    unsigned small_steps;   /* steps taken since a bulk had its turn */
    bool tell_turn;         /* telling comes before recurrences */
    uint64_t tell_asks;     /* the ended job whose telling answered COLD; 0: none */
    uint64_t audit_dropped; /* entries of the audit log that went before their time */
    bool pressed;           /* memory or journal has no room for the records of bulks: they wait */
};

#endif
