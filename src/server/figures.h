/* SPDX-License-Identifier: MIT */
/* What the system says of the process and of its disk. */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include "server/server.h"

/* Sets memory, processor time and disk. */
void figures_of_system(const struct server *s, struct verb_host_stats *ret);

#endif
