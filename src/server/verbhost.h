/* SPDX-License-Identifier: MIT */
/* The server as verbs see it: facts of the process and its disk, and the log. */
#ifndef SERVER_VERBHOST_H
#define SERVER_VERBHOST_H

#include "server/server.h"

void verbhost_init(struct server *s);

#endif
