/* SPDX-License-Identifier: MIT */
/* What answers in HTTP look like, for /openapi.json: all that verbs answer, and a few more. */
#ifndef FRONT_HTTP_SHAPE_H
#define FRONT_HTTP_SHAPE_H

#include "verbs/shape.h"

/* One of them, by index; NULL past the last. */
const struct shape *http_shape(size_t i);

#endif
