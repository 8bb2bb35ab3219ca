/* SPDX-License-Identifier: MIT */
/* A batch: jobs on their way from memory to runs. */
#ifndef ENGINE_BATCH_DATA_H
#define ENGINE_BATCH_DATA_H

#include "base/buf.h"
#include "base/list.h"

/* What is on its way from memory to runs: one batch at a time. */
struct batch {
    bool active;             /* from engine_feed_begin until it is fed and freed, or aborted */
    bool gathering;          /* jobs are still added to it */
    bool tails;              /* of classes are in it */
    bool fed;                /* its jobs are on disk and count there: what is in memory is waste */
    unsigned slot;           /* of `later` that is looked at next, */
    unsigned slots_left;     /* and how many are yet to be */
    uint64_t later_bytes;    /* of what was taken from there */
    struct list orders;      /* classes whose tails are not in the batch yet, */
    struct list asides;      /* likewise those that are aside, by lane; */
    struct list asides_fed;  /* lanes all of which are in it, */
    struct list source;      /* and jobs of other tails, by their timers */
    struct list jobs;        /* jobs that are in the batch, by their timers */
    struct list past_source; /* ended jobs, by their trails */
    struct list past_jobs;
    uint64_t empty_lsn; /* after this record a batch had nothing to write, nor will the next */
    uint64_t graves;    /* serial of the last grave in it */
    struct buf stale;   /* jobs in it that changed: see struct fed_record */
    struct buf hints;   /* where the held jobs are in memory, some of them gone: to be looked at by
                           nobody but the processor's cache */
    size_t buried;
};

#endif
