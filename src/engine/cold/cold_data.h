/* SPDX-License-Identifier: MIT */
/* Facts that the engine knows of jobs on disk. */
#ifndef ENGINE_COLD_DATA_H
#define ENGINE_COLD_DATA_H

#include "base/id.h"
#include "base/list.h"
#include "base/table.h"
#include "engine/cold.h"

/* A key in a run whose entry no longer counts, until the grave is in a run, too. */
struct grave {
    struct table_node node;
    struct list link;
    uint64_t serial;
    int64_t gone_ms; /* see struct grave_record */
    uint32_t segment;
    uint16_t len;
    char key[];
};

#define ABSENT_MAX 4096

#define WALK_FAMILIES 5 /* see walk_families */

/* Keys that no job on disk has. They hold for this number of moves. */
struct absent {
    uint64_t moves;
    size_t n;
    char keys[ABSENT_MAX][ASK_BYTES];
};

/* What a request does about jobs on disk that the answer at hand does not tell of. */
enum asking {
    ASKS_ONE,  /* it asks for one, and ends */
    ASKS_NONE, /* it asked for all that it needs before: there are no others */
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
    struct absent absent;
    enum asking asking;
    struct buf asks;   /* struct cold_ask: what the request needs from disk */
    bool unanswered;   /* the answer at hand lacks some of that */
    bool too_large;    /* some of that is too large to come to memory at once */
    size_t asks_whole; /* how many of `asks` are whole */
    uint32_t walk;     /* 1 .. WALKS: the number of the last LIST that began, in a ring */
    bool walk_loaded;  /* jobs came from disk since that walk began */
    /* The latest walk during which jobs came from disk that went to each family; 0: a walk misses
     * none. */
    uint32_t refed[WALK_FAMILIES];
    bool load_turn;
};

#endif
