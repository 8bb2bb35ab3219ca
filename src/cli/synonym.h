/* SPDX-License-Identifier: MIT */
/* Words that people type for commands, from other tools. */
#ifndef CLI_SYNONYM_H
#define CLI_SYNONYM_H

#include "base/str.h"

struct synonym {
    const char *word;
    const char *command; /* with options, if it needs some */
    bool runs; /* the word runs the command, which only looks; else it names the command */
};

/* NULL: the word is no synonym. */
const struct synonym *synonym_find(struct str word);

#endif
