/* SPDX-License-Identifier: MIT */
/* Facts that the engine knows of jobs on disk. */
#ifndef ENGINE_COLD_DATA_H
#define ENGINE_COLD_DATA_H

#include "base/id.h"
#include "base/list.h"
#include "base/table.h"
#include "engine/cold.h"

/* A grave says that the entry of its key in a run no longer counts. It stays in memory until a run
 * has the grave, too. */
struct grave {
    struct table_node node;
    uint64_t hash; /* of its key; see table_entry_hash */
    struct list link;
    uint64_t serial;
    int64_t gone_ms; /* see struct grave_record */
    uint32_t segment;
    uint16_t len;
    char key[];
};

#define WALK_FAMILIES 5 /* see walk_families */

/* The jobs on disk that a request needs, as far as it has been looked at; see asks_begin. */
struct asking {
    struct buf asks; /* struct cold_ask */
    bool grows;      /* some of them are to come to memory */
    bool unanswered; /* the answer at hand does not tell of all */
    bool too_large;  /* they cannot come to memory together */
};

/* Jobs on disk: which runs there are, and which of their entries count. */
struct cold {
    struct list runs; /* runs that count */
    struct list gone; /* runs that do not count, and are to be removed */
    uint64_t moves;   /* see engine_moves */
    uint64_t run_changes;
    uint32_t next_file;
    struct table graves;
    struct list grave_list;
    uint64_t next_grave;
    struct cold_point frontier_noted; /* the frontier in the journal, behind the true one */
    uint32_t frontier_segment;        /* the segment of frontier_noted; 0: none */
    int64_t counts[COLD_SLOTS];
    int64_t hidden_counts[COLD_SLOTS]; /* the part of `counts` that belongs to hidden queues */
    struct cold_want want;
    struct cold_answer *answer;
    size_t answer_at; /* the item of `answer` that was found last */
    struct asking asking;
    uint32_t walk;    /* 1 .. WALKS: the number of the last LIST that began, in a ring */
    bool walk_loaded; /* jobs came from disk since that walk began */
    /* The latest walk during which jobs came from disk that went to each family; 0: a walk misses
     * none. */
    uint32_t refed[WALK_FAMILIES];
    bool load_turn;
    struct list censuses;  /* those under way */
    struct census *census; /* of the request that answered COLD last; NULL: it has none */
    struct list sorts;     /* sorted pages under way */
    struct sorted *sorted; /* as `census` */
};

#endif
