/* SPDX-License-Identifier: MIT */
/*
 * The token that the command line shows to a server: $BELFRY_AUTH, or what the file holds that
 * $BELFRY_AUTH_FILE or --auth-file names. Never an argument, which others on the machine could see.
 */
#ifndef CLI_AUTH_H
#define CLI_AUTH_H

#include "base/buf.h"

/* Appends it; nothing if there is none. IO with a sentence in `why` if the file cannot be read or
 * holds none. */
int auth_token(struct buf *out, char *why, size_t why_size);

/* --auth-file: for this process, and for commands that it runs. */
void auth_use_file(const char *path);

#endif
