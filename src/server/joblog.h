/* SPDX-License-Identifier: MIT */
/* Log lines about jobs, by the option log_jobs. */
#ifndef SERVER_JOBLOG_H
#define SERVER_JOBLOG_H

#include "server/events.h"

void joblog_event(struct server *s, const struct job_event *ev);
/* Tells the log how many lines were left out, once a second at most. */
void joblog_sweep(struct server *s, int64_t mono_ms);

#endif
