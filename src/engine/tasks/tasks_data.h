/* SPDX-License-Identifier: MIT */
/* Where the engine's own work is. */
#ifndef ENGINE_TASKS_DATA_H
#define ENGINE_TASKS_DATA_H

#include "base/list.h"

struct tasks {
    struct list walks;    /* where bulks are: see bulk.c */
    uint64_t bulk_asks;   /* the bulk that answered COLD; 0: none */
    int64_t bulk_rest_ms; /* monotonic: no bulk goes on before */
    unsigned small_steps; /* taken since a bulk had its turn */
    bool tell_turn;       /* telling comes before tasks */
    size_t tell_next;     /* which listener of log.tell_seq is told next */
    bool pressed;         /* memory or journal has no room for what bulks write: they wait */
};

#endif
