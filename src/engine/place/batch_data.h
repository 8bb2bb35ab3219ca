/* SPDX-License-Identifier: MIT */
/* A batch: jobs on their way from memory to runs. */
#ifndef ENGINE_BATCH_DATA_H
#define ENGINE_BATCH_DATA_H

#include "base/buf.h"
#include "base/list.h"

/* There is one batch at a time. */
struct batch {
    bool active;            /* the batch was begun, and is neither freed nor aborted */
    bool gathering;         /* jobs are still added to the batch */
    bool tails;             /* the batch takes the tails of classes */
    bool fed;               /* the jobs of the batch count on disk: their memory is waste */
    unsigned slot;          /* the slot of WHEEL_LATER that is looked at next */
    unsigned slots_left;    /* slots of WHEEL_LATER that are yet to be looked at */
    uint32_t number;        /* of batches so far */
    int queues_left;        /* queues from which WHEEL_LATER may still give jobs */
    bool past;              /* the batch takes ended jobs */
    int past_left;          /* queues that may still give ended jobs */
    unsigned part;          /* the part of memory that gives jobs now: see engine_feed_slice */
    uint64_t bytes;         /* of the jobs of the batch, without entries of the audit log */
    uint64_t most;          /* at so many, the part that gives jobs has given its share */
    struct list waits;      /* classes whose tails have jobs, or had, by class.waits */
    struct list classes;    /* classes whose tails are not in the batch yet, by class.fed */
    struct list asides;     /* lanes whose jobs aside are not in the batch yet */
    struct list asides_fed; /* lanes whose jobs aside are in the batch */
    struct list source;     /* jobs of WHEEL_SPARE that are not in the batch yet, by their timers */
    struct list jobs;       /* jobs of the batch, by their timers */
    struct list past_jobs;  /* its ended jobs that are not dead, by their trails */
    struct list dead;       /* queues that have dead jobs in the batch, by queue.batch */
    uint64_t empty_lsn;     /* the lsn at which a batch had nothing to write: the next would have
                               nothing either */
    uint64_t graves;        /* serial of the last grave in the batch */
    struct buf stale;       /* jobs of the batch that changed: see struct fed_record */
    struct buf hints;       /* for prefetching: addresses of the batch's jobs, some of them freed */
    size_t buried;
};

/* What a batch has of a queue. */
struct queue_batch {
    uint32_t later;   /* the last batch that took a job of it from WHEEL_LATER */
    struct list dead; /* dead jobs in the batch */
    struct list link; /* in batch.dead, if there are such jobs, or were */
};

#endif
