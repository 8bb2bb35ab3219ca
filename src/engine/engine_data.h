/* SPDX-License-Identifier: MIT */
/* The engine's state, of which each room has a part. For files of src/engine only. */
#ifndef ENGINE_ENGINE_DATA_H
#define ENGINE_ENGINE_DATA_H

#include "base/pool.h"
#include "base/time.h"
#include "engine/cold.h"
#include "engine/cold/cold_data.h"
#include "engine/log/token_data.h"
#include "engine/mutant.h"
#include "engine/options.h"
#include "engine/place/batch_data.h"
#include "engine/place/job_data.h"
#include "engine/place/lane_data.h"
#include "engine/place/queue_data.h"

struct engine {
    struct engine_options o;
    struct pool pool;
    struct table jobs;
    struct table keys;
    struct table lanes; /* the first of each */
    struct table asides;
    struct list aside_list;
    uint64_t aside_bytes;  /* in memory, not in a batch; */
    uint64_t back_bytes;   /* those of them that are aside again: see struct spot */
    struct list lows;      /* asides some of which may be needed, */
    struct wheel sleepers; /* and those that will when they are due, by wall clock */
    struct table names;    /* queues */
    struct table tenants;
    struct table kinds;
    struct token_set tokens;
    struct list tenant_list;
    struct list kind_list;
    uint64_t tenant_total;
    uint64_t pick_steps;  /* queues looked at in picking, so far */
    struct str scope;     /* whose things requests may see; ptr NULL: everybody's */
    struct queue *recent; /* the one last asked for by name: mostly the next one, too */
    struct list queues;
    struct list idle;
    size_t idle_count;
    struct list dispatch; /* posts */
    struct list leased;
    struct list arrived; /* classes, see struct class */
    struct list
        lulls; /* queues that had nothing to give but firsts of lanes, while lanes_are_full */
    struct list unwell;    /* queues whose endpoint is left alone, by queue.turn */
    struct list telling;   /* ended jobs, by their trails, that others are to be told of */
    struct list tasks;     /* recurrences whose time has come, */
    struct list bulks;     /* and bulks that run */
    struct list walks;     /* where those are: see bulk.c */
    uint64_t bulk_asks;    /* the one that answered COLD; 0: none */
    int64_t bulk_rest_ms;  /* monotonic: none goes on before */
    unsigned small_steps;  /* taken since a bulk had its turn */
    bool tell_turn;        /* before tasks */
    bool pressed;          /* memory or journal has no room for what bulks write: they wait */
    uint64_t tell_seq;     /* the one being told of, */
    size_t tell_next;      /* and who is told next */
    struct wheel moments;  /* jobs, by wall clock */
    struct wheel later;    /* jobs beyond the frontier, by wall clock */
    struct wheel left;     /* those of `later` that left the batch which is being gathered */
    struct wheel spare;    /* jobs whose class has its share, by wall clock */
    struct wheel nears;    /* classes */
    struct wheel expiries; /* trails, by wall clock */
    struct wheel leases;   /* trails, by monotonic clock */
    struct wheel waits;    /* waiters, by monotonic clock */
    struct wheel buckets;  /* by monotonic clock */
    bool started;
    bool whole;  /* records that follow belong into one commit */
    bool inside; /* the engine's own work: its jobs are seen */
    bool torn;   /* not all of them could be made */
    bool refuse_new;
    struct list rich; /* queues with much history in memory, see past_trim */
    bool load_turn;
    bool walk_loaded; /* jobs came from disk since the walk did */
    /* To B, and to A, jobs went again that came from disk during this walk at the latest; 0: none
     * that a walk could miss. */
    uint32_t refed[2];
    bool sinking; /* jobs are moved to `moments` though they are due */
    bool segments_unknown;
    int64_t now_ms;
    int64_t mono_ms;
    int64_t strict_until_ms; /* monotonic, */
    int64_t start_ms;        /* likewise: when it was started */
    struct buf *out;
    uint32_t segment;
    uint32_t frontier_segment; /* where it says so; 0: nowhere */
    uint32_t next_file;
    uint32_t walk; /* 1 .. WALKS: number of the last LIST that began, in a ring; */
    uint32_t first_segment;
    uint32_t oldest;     /* segment that the journal begins with; 0: no record says */
    uint64_t last_epoch; /* of any commit that was replayed */
    uint64_t lsn;
    uint64_t visible_lsn;
    uint64_t offered_lsn;
    uint64_t next_seq;
    uint64_t next_token;
    uint64_t random;
    uint64_t live_bytes;
    uint64_t waiters;
    uint64_t queue_total;
    uint64_t hidden_total; /* of them, the engine's own, */
    uint64_t hidden_jobs;  /* and jobs in these */
    uint64_t states[JOB_STATE_COUNT];
    struct counters counters;
    struct hist lateness;
    struct hist runtime;
    struct hist wait;
    uint64_t served; /* LEASEs that got jobs */
    struct buf scratch;
    char detail[256];

    struct cold_point frontier;
    struct cold_point frontier_noted; /* as the journal knows it: behind the true one */
    uint64_t bytes[WHERES];           /* of jobs */
    struct list closed;               /* classes, */
    uint64_t closed_count;            /* and how many they are */
    struct list runs;                 /* that count */
    struct list gone;                 /* that do not, and are to be removed */
    uint64_t moves;
    uint64_t run_changes;
    struct table graves;
    struct list grave_list;
    uint64_t next_grave;
    int64_t cold[COLD_SLOTS];
    int64_t hidden_cold[COLD_SLOTS]; /* of them, the engine's own */
    struct batch batch;
    struct cold_want want;
    struct absent absent;
    struct pasts pasts;
    struct cold_answer *answer;
    size_t answer_at;       /* which of its items was found last */
    struct job *shown;      /* made for an answer, in no index */
    uint32_t *segment_jobs; /* images in each segment from first_segment on */
    size_t segment_count;
    bool listening; /* events are told */
};

#endif
