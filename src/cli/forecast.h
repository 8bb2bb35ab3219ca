/* SPDX-License-Identifier: MIT */
/* FORECAST's answer for people: a line for each step, in local time, with a bar. */
#ifndef CLI_FORECAST_H
#define CLI_FORECAST_H

#include "cli/render.h"

/* False, with nothing written, if the value is no such answer. */
bool forecast_put(struct buf *out, const struct resp_values *v, const struct render *r);

#endif
