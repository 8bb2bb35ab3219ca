/* SPDX-License-Identifier: MIT */
/*
 * What answers in HTTP look like, for /openapi.json. Fields are written as `name:type`, blanks
 * between: s string, B bytes (a string, or base64 under the name with `_base64`), i integer,
 * b boolean, #Name another shape, [x] an array of them, {x} an object with such values; a ? behind
 * it: or null. Tests compare this with what is answered.
 */
#ifndef FRONT_HTTP_SHAPE_H
#define FRONT_HTTP_SHAPE_H

struct http_shape {
    const char *name;
    const char *fields;
};

/* Closed by a row with name NULL. */
extern const struct http_shape http_shapes[];

#endif
