/* SPDX-License-Identifier: MIT */
/*
 * What HTTP offers: one row each, a method and a path for a verb. Parts of the path in braces are
 * the verb's arguments of those names; the others are fields of the body, or of the query where
 * there is no body, by their names in the verb's row. Adding a verb to HTTP is adding its row.
 */
#ifndef FRONT_HTTP_ROUTE_H
#define FRONT_HTTP_ROUTE_H

#include "verbs/verb.h"

#define HTTP_PATH_ARGS 2

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_METHODS };

/* What is answered without a verb. */
enum http_page {
    HTTP_VERB,
    HTTP_HEALTHZ,
    HTTP_READYZ,
    HTTP_OPENAPI,
    HTTP_DOCS,
    HTTP_METRICS,
    HTTP_EVENTS
};

struct http_route {
    enum http_method method;
    const char *path;    /* "/v1/jobs/{id}/complete" */
    const char *verb;    /* its name; NULL: see page */
    const char *only;    /* the options that it takes, blanks between; NULL: all */
    const char *less;    /* those that it does not take; NULL: it takes all */
    const char *result;  /* the answer's field for what is no map */
    const char *item;    /* the field around each element of an array; NULL: none */
    const char *shape;   /* of the answer, or of each element of `result`: see openapi_shape */
    const char *summary; /* NULL: the verb's */
    int status;          /* if it went well: 200, 201, or 204 for a verb that answers OK */
    enum http_page page;
};

/* The table, closed by a row with path NULL. */
extern const struct http_route http_routes[];

/* Whether anybody is served, so that a probe needs no token, nor who reads how to use one. */
bool http_is_open(const struct http_route *r);

/* "GET" */
const char *http_method_name(enum http_method m);

struct http_match {
    const struct http_route *route;  /* NULL: there is none; */
    unsigned allowed;                /* bits 1 << enum http_method: those that this path has */
    struct str args[HTTP_PATH_ARGS]; /* as they stand in the path */
};

/* The route of a path without its query. HEAD is as GET. */
void http_route_find(struct str method, struct str path, struct http_match *ret);

/* The i-th argument in a template: its name; an empty one past the last. */
struct str http_path_arg(const struct http_route *r, size_t i);

/* The verb's row, or one with its options alone if it is no verb but has some; else NULL. */
const struct verb *http_route_verb(const struct http_route *r);

/* Whether the argument is given in the path, and whether it may be given elsewhere. */
bool http_in_path(const struct http_route *r, const struct arg *a);
bool http_takes(const struct http_route *r, const struct arg *a);

/* Whether it has a body, in which all but the path's arguments and the tenant are given. */
static inline bool http_has_body(const struct http_route *r)
{
    return r->method == HTTP_POST || r->method == HTTP_PUT || r->method == HTTP_PATCH;
}

#define HTTP_GUESS_BYTES 9 /* enough to tell */

enum http_guess { HTTP_GUESS_NO, HTTP_GUESS_YES, HTTP_GUESS_MORE };

/* Whether the first bytes of a connection are those of HTTP: a method, a blank and a slash. No verb
 * of RESP that is typed as a line looks like that: `GET` takes an id, which has no slash. */
enum http_guess http_guess(struct str first);

/* Whether a line that RESP read is one of HTTP: of a browser, which another site may command. */
bool http_guess_words(const struct str *words, size_t n);

/* Bytes are given as a string, or in base64 in a field of their own. */
bool http_arg_is_bytes(const struct arg *a);
/* Any JSON value will do: its text is what is kept. */
bool http_arg_is_json(const struct arg *a);

#endif
