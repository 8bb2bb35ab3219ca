/* SPDX-License-Identifier: MIT */
/*
 * How long a job waits before each retry.
 *
 *     1m,5m,15m     the pause before each retry in turn; the last one repeats
 *     exp:2s:1h     2s, 4s, 8s, ... up to 1h
 *     fixed:20s     always 20s
 *
 * The pause is drawn at random near that: between half and all of it for exp, else within a tenth
 * of it. So jobs that failed together do not come back together.
 */
#ifndef RECORD_BACKOFF_H
#define RECORD_BACKOFF_H

#include <stdint.h>

#include "base/str.h"

#define BACKOFF_STEPS_MAX 32

struct backoff {
    bool exponential;
    size_t count;
    int64_t steps[BACKOFF_STEPS_MAX]; /* exponential: the first pause and the longest */
};

/* 0, or INVALID with a sentence. */
int backoff_parse(struct str text, struct backoff *ret, const char **why);

/* The pause in ms after `failures` (1 or more) failed attempts; `random` is any 64 bits. */
int64_t backoff_pause(const struct backoff *b, uint32_t failures, uint64_t random);

#endif
