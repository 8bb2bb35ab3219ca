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
    struct chore *chore; /* under way; NULL: none */
    int result;
    char detail[256];
    int told;         /* the error that the user was last told of; 0: none */
    int64_t after_ms; /* monotonic: after an error the next one does not begin before this */
};

/* Starts a chore of each kind that is free and has something to do. To be called in every turn. */
void chores_start(struct host *h);
/* Whether none is under way. */
bool chores_idle(const struct host *h);

#endif
