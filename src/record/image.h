/* SPDX-License-Identifier: MIT */
/* The whole of a job, as a PUT record and an entry of a run hold it. */
#ifndef RECORD_IMAGE_H
#define RECORD_IMAGE_H

#include "record/field.h"
#include "record/jobstate.h"

/* Set in trail_image.flags. */
#define TRAIL_CANCELLING 1u
#define TRAIL_REPLACING  2u
#define TRAIL_TELLING    4u  /* ended, and its listeners are to be told */
#define TRAIL_OWNS_LANE  8u  /* leased or deferred at its present due time: it owns its lane */
#define TRAIL_GRACED     16u /* leased, and a start has given it its grace */

#define TRAIL_FIELDS(F)                                                     \
    F(NUMBER, token, "of the last lease")                                   \
    F(MOMENT, start_ms, "when the last attempt began")                      \
    F(MOMENT, until_ms, "the end of its lease")                             \
    F(MOMENT, lease_ms, "the length of its lease")                          \
    F(SIGNED, late_ms, "how late it began")                                 \
    F(MOMENT, ended_ms, "when the job ended; 0: it has not")                \
    F(MOMENT, keep_ms, "an ended job is kept until then")                   \
    F(MOMENT, hold_ms, "the key stays taken until then; 0: it is not held") \
    F(BITS, flags, "TRAIL_CANCELLING and the others")                       \
    F(SIGNED, progress, "-1: none was told")                                \
    F(BYTES, worker, "who had the last lease")                              \
    F(BYTES, note, "what the worker said")                                  \
    F(BYTES, result, "what COMPLETE said")                                  \
    F(BYTES, error, "of the last attempt that failed")                      \
    F(BYTES, history, "its attempts: see attempts.h")                       \
    F(MOMENT, pending_due_ms, "due time of a replacement")                  \
    F(BYTES, pending, "payload of a replacement")

/* Bodies of older versions end before these. */
#define TRAIL_LATER_FIELDS(F)                                                     \
    F(MOMENT, deferred_ms, "quiet hours have it wait until then; 0: they do not") \
    F(COUNT, deferrals, "how many times quiet hours put it off")                  \
    F(LATER_BYTES, log, "lines of its workers: see joblog.h")

/* The life of a job since its first lease. */
struct trail_image {
    TRAIL_FIELDS(FIELD_MEMBER)
    TRAIL_LATER_FIELDS(FIELD_MEMBER)
};

/* An ended job is kept until then. */
static inline int64_t trail_image_gone_ms(const struct trail_image *t)
{
    return t->keep_ms > t->hold_ms ? t->keep_ms : t->hold_ms;
}

#define IMAGE_FIELDS(F)                                        \
    F(NUMBER, seq, "its number")                               \
    F(MOMENT, born_ms, "due time at creation: part of the id") \
    F(BYTE, state, "never JOB_READY: that follows from time")  \
    F(BYTE, priority, "1-5")                                   \
    F(SINCE_BORN, due_ms, "nominal")                           \
    F(AT_SINCE, at_ms, "when it becomes ready")                \
    F(COUNT, attempt, "deliveries so far that count")          \
    F(COUNT, stalls, "in a row")                               \
    F(BYTES, tenant, "empty: default")                         \
    F(BYTES, queue, "in full")                                 \
    F(BYTES, opts, "see opts.h")                               \
    F(BYTES, payload, "as the user gave it")                   \
    F(FLAG, has_trail, "it has been leased, or has ended")

struct job_image {
    IMAGE_FIELDS(FIELD_MEMBER)
    struct trail_image trail; /* if has_trail */
};

/* The bytes that a job and its trail count for besides their texts, in the bytes kept of a tenant.
 */
#define JOB_KEPT_BYTES   48u
#define TRAIL_KEPT_BYTES 64u

/* The bytes that are kept of a job: wherever it is, they follow from its image. */
uint64_t image_bytes(const struct job_image *image);

#endif
