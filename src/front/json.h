/* SPDX-License-Identifier: MIT */
/*
 * JSON (RFC 8259), strictly: a reader that walks a text once and builds no tree. Numbers stay as
 * they are written, so that no digit is lost. No sockets. The writer of strings is json_quote().
 *
 * A reader stops at the first error. From then on every call answers KIND_BAD, false or -1, and
 * `why` names the expected text and the byte.
 */
#ifndef FRONT_JSON_H
#define FRONT_JSON_H

#include "base/buf.h"
#include "base/json_quote.h"

#define JSON_DEPTH_MAX 64

enum json_kind {
    KIND_BAD,
    KIND_NULL,
    KIND_FALSE,
    KIND_TRUE,
    KIND_NUMBER,
    KIND_STRING,
    KIND_ARRAY,
    KIND_OBJECT,
};

struct json {
    const char *start;
    const char *at;
    const char *end;
    unsigned depth;
    size_t blanks; /* between parts of the text, so far */
    size_t most;   /* bytes of a value that json_take takes; 0: any number */
    bool large;    /* The error is that a value is longer. */
    bool bad;
    char why[128];
};

void json_begin(struct json *j, struct str text);

/* The kind of the next value. Only blanks are taken. */
enum json_kind json_peek(struct json *j);

/* Takes a null, false or true. */
bool json_literal(struct json *j);
/* Takes a number; ret borrows it from the text. *ret_whole: it has neither fraction nor
 * exponent. */
bool json_number(struct json *j, struct str *ret, bool *ret_whole);
/* Takes a string and appends what it says; out NULL: only checks it. */
bool json_string_read(struct json *j, struct buf *out);

/* Takes the opening of an array or object. */
bool json_open(struct json *j);
/* 1: an element follows; 0: there was none left, and the end is taken. `n` counts elements from 0
 * on. */
int json_next(struct json *j, char close, size_t *n);
/* Takes a field's name and its colon; out NULL: only checks them. */
bool json_name(struct json *j, struct buf *out);

/* Takes any value and appends its text, without blanks between its parts. */
bool json_take(struct json *j, struct buf *out);

/* Whether only blanks are left. */
bool json_done(struct json *j);

/* Makes the reader bad with this reason, unless it is bad already. Always false. */
bool json_fail(struct json *j, const char *why);

#endif
