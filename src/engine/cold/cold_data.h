/* SPDX-License-Identifier: MIT */
/* What the engine knows of jobs on disk. */
#ifndef ENGINE_COLD_DATA_H
#define ENGINE_COLD_DATA_H

#include "base/id.h"
#include "base/list.h"
#include "base/table.h"
#include "engine/cold.h"

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

#define WALK_FAMILIES 5 /* see walk_families */

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

/* Jobs on disk: which runs there are, and what of them counts. */
struct cold {
    struct list runs; /* that count */
    struct list gone; /* that do not, and are to be removed */
    uint64_t moves;   /* see engine_moves */
    uint64_t run_changes;
    uint32_t next_file;
    struct table graves;
    struct list grave_list;
    uint64_t next_grave;
    struct cold_point frontier_noted; /* as the journal knows it: behind the true one */
    uint32_t frontier_segment;        /* where the journal says so; 0: nowhere */
    int64_t counts[COLD_SLOTS];
    int64_t hidden_counts[COLD_SLOTS]; /* those of the engine's own queues among them */
    struct cold_want want;
    struct cold_answer *answer;
    size_t answer_at; /* which of its items was found last */
    struct absent absent;
    struct pasts pasts;
    uint32_t walk;    /* 1 .. WALKS: the number of the last LIST that began, in a ring */
    bool walk_loaded; /* jobs came from disk since that walk began */
    uint32_t refed[WALK_FAMILIES]; /* jobs went to these families that came from disk during this
                                      walk at the latest; 0: none that a walk could miss */
    bool load_turn;
};

#endif
