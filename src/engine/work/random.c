/* SPDX-License-Identifier: MIT */
#include "engine/work/random.h"

/* xorshift64*: jitter needs no better. */
uint64_t engine_random(struct engine *e)
{
    e->work.random ^= e->work.random >> 12;
    e->work.random ^= e->work.random << 25;
    e->work.random ^= e->work.random >> 27;
    return (e->work.random * UINT64_C(0x2545f4914f6cdd1d)) >> 16;
}
