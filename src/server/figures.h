/* SPDX-License-Identifier: MIT */
/* Facts of the process and its disk, for the verbs that show them. */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include "server/server.h"

/* verb_host's call. */
void figures_gather(const struct verb_host *h, struct verb_host_stats *ret);

#endif
