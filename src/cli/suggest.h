/* SPDX-License-Identifier: MIT */
/* Finds the nearest of several names to a mistyped one. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "base/str.h"

struct suggest {
    struct str given;
    const char *best; /* NULL if nothing is near */
    size_t distance;
};

void suggest_init(struct suggest *s, struct str given);
/* `name` is borrowed; case does not matter. */
void suggest_offer(struct suggest *s, const char *name);

#endif
