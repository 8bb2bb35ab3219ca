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
    uint64_t later_bytes;   /* bytes of the jobs that were taken from WHEEL_LATER */
    struct list orders;     /* classes whose ordered tails are not in the batch yet */
    struct list asides;     /* lanes whose jobs aside are not in the batch yet */
    struct list asides_fed; /* lanes whose jobs aside are in the batch */
    struct list source;     /* jobs of other tails that are not in the batch yet, by their timers */
    struct list jobs;       /* jobs of the batch, by their timers */
    struct list past_source; /* ended jobs that are not in the batch yet, by their trails */
    struct list past_jobs;
    uint64_t empty_lsn; /* the lsn at which a batch had nothing to write: the next would have
                           nothing either */
    uint64_t graves;    /* serial of the last grave in the batch */
    struct buf stale;   /* jobs of the batch that changed: see struct fed_record */
    struct buf hints;   /* for prefetching: addresses of the batch's jobs, some of them freed */
    size_t buried;
};

#endif
