/* SPDX-License-Identifier: MIT */
/* Requests as most tests make them. */
#ifndef TESTS_JOBS_H
#define TESTS_JOBS_H

#include "engine/engine.h"

/* A job that is due at once, with the queue's settings. */
struct job_spec spec_of(const char *queue);

#endif
