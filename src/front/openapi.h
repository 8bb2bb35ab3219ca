/* SPDX-License-Identifier: MIT */
/* The description of the HTTP interface (OpenAPI 3.1), from the tables of verbs, routes and shapes.
 */
#ifndef FRONT_OPENAPI_H
#define FRONT_OPENAPI_H

#include "base/buf.h"

void openapi_write(struct buf *out);

#endif
