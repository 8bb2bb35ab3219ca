/* SPDX-License-Identifier: MIT */
/* What the engine knows of jobs on disk. */
#ifndef ENGINE_COLD_DATA_H
#define ENGINE_COLD_DATA_H

#include "base/id.h"
#include "base/list.h"
#include "base/table.h"

/* A place in a run whose entry no longer counts, until that too is in a run. */
struct grave {
    struct table_node node;
    struct list link;
    uint64_t serial;
    int64_t gone_ms; /* see struct grave_record */
    uint32_t segment;
    uint16_t len;
    char key[];
};

#define ABSENT_MAX   4096
#define ABSENT_BYTES 18 /* of a locator's key for a key */

/* Keys that no job on disk has, as was found out since this number of moves. */
struct absent {
    uint64_t moves;
    uint64_t wipes; /* how many times all were forgotten */
    size_t n;
    char keys[ABSENT_MAX][ABSENT_BYTES];
};

#define PASTS_MAX 4096 /* jobs that one batch may wait for, too */

/* Jobs on disk that have ended, and ids of none, as was found out since this number of moves: a
 * request that names several is told of one at a time. */
struct pasts {
    uint64_t moves;
    uint64_t wipes; /* how many times all were forgotten */
    size_t n;
    struct {
        struct job_id id;
        uint64_t tenant; /* a hash of its name */
        int64_t from_ms; /* when that was found out, */
        int64_t gone_ms; /* and until when it holds */
        int state;       /* or NOTFOUND */
    } jobs[PASTS_MAX];
};

#endif
