/* SPDX-License-Identifier: MIT */
/*
 * The reply vtable on JSON. An answer is always an object, so that it can grow: a verb that answers
 * a map answers that, an array or a single value stands in a field of it. Bytes are a string if
 * they are UTF-8; else the field's name gets `_base64` and they are that.
 */
#ifndef FRONT_JSON_REPLY_H
#define FRONT_JSON_REPLY_H

#include "base/buf.h"
#include "verbs/reply.h"

#define JSON_REPLY_DEPTH 8

/* What a verb answered, as a whole. */
enum json_outcome {
    JSON_OUTCOME_NONE,  /* nothing yet */
    JSON_OUTCOME_BODY,  /* it is in out */
    JSON_OUTCOME_OK,    /* there is nothing to say */
    JSON_OUTCOME_NULL,  /* what was asked for is not there */
    JSON_OUTCOME_ERROR, /* code and text, in out */
};

struct json_reply {
    struct reply base;
    struct buf *out;
    size_t start;     /* the reply's first byte in out */
    const char *name; /* of the field for what is no map */
    const char *item; /* of the field for each single value of an array; NULL: they stand alone */
    enum json_outcome outcome;
    const char *code; /* of an error; */
    size_t errors;    /* of elements of an array */
    size_t key_end;   /* in out: behind the name whose value comes next; 0: it was no name */
    unsigned depth;
    struct {
        size_t left; /* values that are to come; of a map, names as well */
        bool map;
    } level[JSON_REPLY_DEPTH];
};

/* Appends to out, which outlives it. */
void json_reply_init(struct json_reply *r, struct buf *out, const char *name, const char *item);

#endif
