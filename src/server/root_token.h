/* SPDX-License-Identifier: MIT */
/*
 * The first token, made at a start: an admin of all tenants whose text an operator chose. It comes
 * from the file that the option root_token_file names, or from the environment. So a server in a
 * container can serve other machines from its first start on. Once there is a token, neither is
 * looked at.
 */
#ifndef SERVER_ROOT_TOKEN_H
#define SERVER_ROOT_TOKEN_H

#include "server/server.h"

#define ROOT_TOKEN_VARIABLE "BELFRY_ROOT_TOKEN"
#define ROOT_SECRET_LEAST   32 /* characters, so that it cannot be guessed */

/* Splits `name.secret`, with blanks around it. NULL, or why the text is no root token. */
const char *root_token_parse(struct str text, struct str *ret_name, struct str *ret_secret);
/* Makes the token if there is none yet. The caller has opened the partition, and does not listen
 * yet: an answer to a client follows the record of the token. INVALID, IO, NOMEM, with a log line.
 */
int root_token_make(struct server *s);

#endif
