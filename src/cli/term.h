/* SPDX-License-Identifier: MIT */
/* Whether an output is a terminal, how large it is, and whether it shows colours. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>

struct term {
    bool tty;
    bool colour;     /* a terminal, NO_COLOR not set, TERM not dumb */
    unsigned width;  /* columns; 0 if it is no terminal: no limit */
    unsigned height; /* lines; 0 if it is no terminal */
};

struct term term_look(int fd);

#define TERM_BOLD   "\033[1m"
#define TERM_DIM    "\033[2m"
#define TERM_RED    "\033[31m"
#define TERM_GREEN  "\033[32m"
#define TERM_YELLOW "\033[33m"
#define TERM_CYAN   "\033[36m"
#define TERM_PLAIN  "\033[0m"

#endif
