/* SPDX-License-Identifier: MIT */
/*
 * The reply vtable on JSON. An answer is always an object, so that it can grow. It is the map that
 * a verb answers, or an object with a field for the array or single value. Bytes are a string if
 * they are UTF-8 that escapes make at most twice as long, or that is short. Other bytes are base64,
 * and the field's name ends in `_base64`.
 */
#ifndef FRONT_JSON_REPLY_H
#define FRONT_JSON_REPLY_H

#include "base/buf.h"
#include "verbs/reply.h"

#define JSON_REPLY_DEPTH 8

/* The kind of a whole answer. */
enum json_outcome {
    JSON_OUTCOME_NONE,  /* nothing yet */
    JSON_OUTCOME_BODY,  /* out has the answer */
    JSON_OUTCOME_OK,    /* the answer has no content */
    JSON_OUTCOME_NULL,  /* the thing that was asked for does not exist */
    JSON_OUTCOME_ERROR, /* an error: see code; out has its text */
};

struct json_reply {
    struct reply base;
    struct buf *out;
    size_t start;     /* the reply's first byte in out */
    const char *name; /* name of the field for an answer that is no map */
    bool json;        /* payloads and results that are JSON are values: see http_form */
    enum json_outcome outcome;
    const char *code; /* of the error */
    size_t errors;    /* number of errors among the elements of an array */
    size_t created;   /* number of fields `created` that are true */
    size_t kept;      /* number of fields `created` that are false */
    size_t key_end;   /* place behind the name in front of the next value; 0: there is none */
    unsigned depth;
    struct {
        size_t left; /* values that are still to come; in a map, names too */
        bool map;
    } level[JSON_REPLY_DEPTH];
};

/* The reply appends to out, which outlives it. */
void json_reply_init(struct json_reply *r, struct buf *out, const char *name);

#endif
