/* SPDX-License-Identifier: MIT */
#include "support/jobs.h"

struct job_spec spec_of(const char *queue)
{
    return (struct job_spec){ .queue = str_of(queue),
                              .payload = STR("x"),
                              .due_ms = -1,
                              .priority = 3,
                              .attempts = -1,
                              .lease_ms = -1,
                              .retain_ms = -1 };
}
