/* SPDX-License-Identifier: MIT */
/* The partition's chores, one of each kind at a time, run by the loop's thread pool. */
#ifndef HOST_CHORES_H
#define HOST_CHORES_H

#include <uv.h>

#include "partition/partition.h"

struct host;

/* The chore of one kind. */
struct host_chore {
    struct host *host;
    uv_work_t work;
    struct chore *chore; /* the chore under way, or NULL */
    int result;
    char detail[256];
    int told;         /* the error that the user was last told of; 0: none */
    int64_t after_ms; /* monotonic: after an error the next chore begins no earlier */
};

/* Starts a chore of each kind that has work and none under way. The host calls it in every turn. */
void chores_start(struct host *h);
/* Whether no chore is under way. */
bool chores_idle(const struct host *h);

#endif
