/* SPDX-License-Identifier: MIT */
/* The partition's chores, one of each lane at a time, run by the loop's thread pool. */
#ifndef SERVER_CHORES_H
#define SERVER_CHORES_H

#include "server/server.h"

/* Starts what there is to do in lanes that are free. To be called in every turn. */
void chores_start(struct server *s);
bool chores_idle(const struct server *s);

#endif
