/* SPDX-License-Identifier: MIT */
/* A RESP value as JSON, exactly: integers as numbers, bytes that are UTF-8 as strings, all other
 * bytes as {"base64": "…"}. An error inside a value is {"error": "…"}. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "base/buf.h"
#include "front/resp.h"

/* The value at index `at`; no line break after it. */
void json_put(struct buf *out, const struct resp_values *v, size_t at);

/* Only the fields of the list "a,b" of a map, or of each map in an array; NULL: all. */
void json_put_fields(struct buf *out, const struct resp_values *v, size_t at, const char *fields);

#endif
