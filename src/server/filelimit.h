/* SPDX-License-Identifier: MIT */
#ifndef SERVER_FILELIMIT_H
#define SERVER_FILELIMIT_H

#include "server/server.h"

/* As many descriptors as there may be; and no more clients than leave the journal its own. */
void filelimit_fit(struct server *s);

#endif
