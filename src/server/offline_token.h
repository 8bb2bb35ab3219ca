/* SPDX-License-Identifier: MIT */
/*
 * `belfryd token create`: makes a token in a data directory that no server uses. So the first token
 * needs no server that runs without tokens, and an operator who has lost all tokens can make
 * another. Whoever may write the directory may do everything anyway.
 */
#ifndef SERVER_OFFLINE_TOKEN_H
#define SERVER_OFFLINE_TOKEN_H

#include <stdbool.h>

#define OFFLINE_TOKEN_USAGE \
    "belfryd token create NAME ROLE [--tenant TENANT] [--expire DURATION] [--OPTION VALUE]..."

/* Whether the arguments of the process ask for it. */
bool offline_token_is_meant(int argc, char **argv);
/* Makes the token, with messages on standard error, and writes its text to standard output when it
 * is durable. Blocks. Answers the exit code: 1 if it failed, 2 if an argument is wrong. */
int offline_token_run(int argc, char **argv);

#endif
