/* SPDX-License-Identifier: MIT */
/*
 * The routes of HTTP: a row has a method and a path for a verb. Parts of the path in braces are
 * arguments of the verb. Its other arguments are fields of the body, or of the query if there is no
 * body. Adding a verb to HTTP is adding its row.
 */
#ifndef FRONT_HTTP_ROUTE_H
#define FRONT_HTTP_ROUTE_H

#include "verbs/verb.h"

#define HTTP_PATH_ARGS 2

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_METHODS };

/* Pages that are answered without a verb. */
enum http_page {
    HTTP_VERB,
    HTTP_HEALTHZ,
    HTTP_READYZ,
    HTTP_OPENAPI,
    HTTP_DOCS,
    HTTP_METRICS,
    HTTP_EVENTS,
    HTTP_HOME,
    HTTP_ICON,
    HTTP_SESSION,
    HTTP_UI /* a file of the dashboard */
};

struct http_route {
    enum http_method method;
    const char *path;   /* "/v1/jobs/{id}/complete" */
    const char *verb;   /* the verb's name; NULL: see page */
    const char *id;     /* the operation's name in /openapi.json: "completeJob"; NULL: not there */
    const char *only;   /* options that the route takes, with blanks between; NULL: all */
    const char *less;   /* options that the route does not take; NULL: it takes all */
    const char *result; /* field of the answer for a value that is no map */
    const char *item;   /* shape of each element of `result` that is no error; NULL: see shape */
    const char *shape;  /* shape of the answer, or of each element of `result`: see openapi_shape */
    const char *values; /* words that `result` can have, `|` behind each; NULL: any */
    const char *summary; /* NULL: the verb's */
    enum http_page page;
    uint8_t status; /* of a success: 200, 201, or 204 for a verb that answers OK */
    bool forms;     /* it takes http_form */
    bool waits;     /* with WAIT it shows the job: 200 if the job has ended, else 202 */
    bool open;      /* it needs no token: probes and readers of the documentation have none */
};

/* The table, closed by a row with path NULL. */
extern const struct http_route http_routes[];

/* "GET" */
const char *http_method_name(enum http_method m);

struct http_match {
    const struct http_route *route;  /* NULL: there is none */
    unsigned allowed;                /* bits 1 << enum http_method: the methods of this path */
    struct str args[HTTP_PATH_ARGS]; /* with their escapes */
};

/* The route of a path without its query. HEAD finds the route of GET. */
void http_route_find(struct str method, struct str path, struct http_match *ret);

/* The name of the i-th argument in a template; empty behind the last. */
struct str http_path_arg(const struct http_route *r, size_t i);

/* The verb's row, or the row of options of a page that has some; else NULL. */
const struct verb *http_route_verb(const struct http_route *r);

/* Whether a token of this role may use a route that has a verb. */
bool http_allows(const struct http_route *r, enum role role);

/* The parameter of routes that show payloads. It is the front's: no verb has it. */
extern const struct arg http_form;

/* Whether the argument is in the path, and whether the body or the query may have it. `r` NULL: an
 * item of a batch. */
bool http_in_path(const struct http_route *r, const struct arg *a);
bool http_takes(const struct http_route *r, const struct arg *a);

/* Whether the request has a body, with all arguments but those of the path and the tenant. */
static inline bool http_has_body(const struct http_route *r)
{
    return r->method == HTTP_POST || r->method == HTTP_PUT || r->method == HTTP_PATCH;
}

#define HTTP_GUESS_BYTES 9 /* enough bytes to tell */

enum http_guess { HTTP_GUESS_NO, HTTP_GUESS_YES, HTTP_GUESS_MORE };

/* Whether the first bytes of a connection are those of HTTP: a method, a blank and a slash. No verb
 * of RESP that is typed as a line looks like that: `GET` takes an id, which has no slash. */
enum http_guess http_guess(struct str first);

/* Whether a line that RESP read is one of HTTP: of a browser, which another site may command. */
bool http_guess_words(const struct str *words, size_t n);

/* Bytes are given as a string, or in base64 in a field of their own. */
bool http_arg_is_bytes(const struct arg *a);
/* Whether any JSON value is taken; its text is kept. */
bool http_arg_is_json(const struct arg *a);

#endif
