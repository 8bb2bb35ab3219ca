/* SPDX-License-Identifier: MIT */
#include "engine/work/random.h"

/* xorshift64*: jitter needs no better. */
uint64_t engine_random(struct engine *e)
{
    e->random ^= e->random >> 12;
    e->random ^= e->random << 25;
    e->random ^= e->random >> 27;
    return (e->random * UINT64_C(0x2545f4914f6cdd1d)) >> 16;
}
