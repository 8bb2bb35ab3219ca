/* SPDX-License-Identifier: MIT */
/* The description of the HTTP interface (OpenAPI 3.1), from the tables of verbs, routes and shapes,
 * and the page that shows it. */
#ifndef FRONT_OPENAPI_H
#define FRONT_OPENAPI_H

#include "base/buf.h"
#include "verbs/shape.h"

void openapi_write(struct buf *out);

/* A shape of an answer by its index: those of verbs, then HTTP's own; NULL behind the last. */
const struct shape *openapi_shape(size_t i);

/* The page at /docs, which needs nothing from elsewhere. Its script and style carry the nonce. */
void openapi_page(struct buf *out, const char *nonce);

#endif
