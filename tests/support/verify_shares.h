/* SPDX-License-Identifier: MIT */
/* A part of engine_verify, and the macro that all parts use. */
#ifndef SUPPORT_VERIFY_SHARES_H
#define SUPPORT_VERIFY_SHARES_H

#include <stdio.h>
#include <stdlib.h>

struct engine;

#define CHECK(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            fprintf(stderr, "engine_verify: %s:%d: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

/* Checks the shares of memory that batches and tenants have. */
void shares_verify(const struct engine *e);

#endif
