/* SPDX-License-Identifier: MIT */
/* The description of the HTTP interface (OpenAPI 3.1), from the tables of verbs, routes, shapes and
 * errors. */
#ifndef FRONT_OPENAPI_H
#define FRONT_OPENAPI_H

#include "base/buf.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

void openapi_write(struct buf *out);

/* A help text in the words of HTTP: arguments of RESP in lower case, verbs as their operations. `v`
 * is the verb that the text is about, or NULL. */
void openapi_text(struct buf *out, const char *text, const struct verb *v);

/* A shape of an answer by its index: those of verbs, then HTTP's own; NULL behind the last. */
const struct shape *openapi_shape(size_t i);

#endif
