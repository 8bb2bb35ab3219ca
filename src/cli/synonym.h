/* SPDX-License-Identifier: MIT */
/* Words that people type for commands, from other tools. */
#ifndef CLI_SYNONYM_H
#define CLI_SYNONYM_H

#include "base/str.h"

struct synonym {
    const char *word;
    const char *command; /* with options, if it needs some */
    bool runs;           /* it runs the command, which only looks; else the user is told of it */
};

/* NULL if the word is none. */
const struct synonym *synonym_find(struct str word);

#endif
