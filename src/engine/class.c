/* SPDX-License-Identifier: MIT */
/* The classes of a queue, by their place in it, by the number that keys and records have for them,
 * and by the slot in which those on disk are counted:
 *
 *     place    0 1 2 3 4  5  6
 *     number   1 2 3 4 5  7  8
 */
#include "engine/internal.h"

struct class *class_of(const struct job *j)
{
    return &j->queue->classes[j->ordered ? ORDERED : j->passing ? INDEX_PASSING : j->priority - 1];
}

bool job_says_pass(const struct job *j)
{
    struct job_opts o;

    if (job_is_bare(j))
        return false;
    job_opts_get(j, &o);
    return o.passing;
}

unsigned class_number(const struct class *c)
{
    unsigned index = (unsigned)(c - c->queue->classes);

    return index + (index < PRIORITIES ? 1 : 2);
}

struct class *class_numbered(struct queue *q, unsigned number)
{
    return class_is_valid(number) ? &q->classes[number - (number <= PRIORITIES ? 1 : 2)] : NULL;
}

enum cold_slot class_slot(const struct class *c)
{
    return cold_slot_of(FAMILY_BACKLOG, JOB_READY, class_number(c));
}

struct class *class_at_slot(struct queue *q, enum cold_slot slot)
{
    return &q->classes[slot < COLD_DONE ? slot - COLD_BACKLOG : PRIORITIES + slot - COLD_BACKLOG_7];
}
