/* SPDX-License-Identifier: MIT */
/* Finds the nearest of several names to a mistyped one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/str.h"

struct suggest {
    struct str given; /* the caller sets it, and zeroes the rest */
    const char *best; /* NULL if nothing is near */
    size_t distance;  /* of the best */
};

/* `name` is borrowed; case does not matter. */
void suggest_offer(struct suggest *s, const char *name);

#endif
