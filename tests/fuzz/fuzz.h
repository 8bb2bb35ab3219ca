/* SPDX-License-Identifier: MIT */
/* What every fuzz target needs. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold; not assert, which a release build leaves out. */
#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

/* A copy of exactly that size, so that a byte read beyond it is found. Free its ptr. */
static inline char *fuzz_copy(struct str s)
{
    char *copy = malloc(s.len ? s.len : 1);
    CHECK(copy);
    memcpy(copy, s.len ? s.ptr : "", s.len);
    return copy;
}

#endif
