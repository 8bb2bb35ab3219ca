/* SPDX-License-Identifier: MIT */
#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct term term_look(int fd)
{
    struct term t = { .tty = isatty(fd) };
    const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct winsize size;

    if (!t.tty)
        return t;
    t.colour = !(no_color && *no_color) && kind && strcmp(kind, "dumb") != 0;
    t.width = 80;
    t.height = 24;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        t.width = size.ws_col;
        t.height = size.ws_row;
    }
    return t;
}
