/* SPDX-License-Identifier: MIT */
/* The token that the command line shows to a server. It is in $BELFRY_AUTH, or in the file that
 * $BELFRY_AUTH_FILE or --auth-file names. There is no flag for the token itself,
 * because other users of the machine can see arguments. */
#ifndef CLI_AUTH_H
#define CLI_AUTH_H

#include "base/buf.h"

/* Appends the token, or nothing if there is none. IO, with a sentence in `why`, if the file cannot
 * be read or holds no token. */
int auth_token(struct buf *out, char *why, size_t why_size);

#endif
