/* SPDX-License-Identifier: MIT */
/*
 * RESP: requests out of bytes, values out of bytes, and bytes out of values. No sockets here.
 *
 * A request is an array of bulk strings, or an inline line of words with Redis's quoting. The
 * reader borrows from its input: arguments stay valid until the input moves.
 */
#ifndef FRONT_RESP_H
#define FRONT_RESP_H

#include "base/buf.h"
#include "verbs/reply.h"

#define RESP_ARGS_MAX   16384
#define RESP_INLINE_MAX (64u << 10)

enum resp_status {
    RESP_MORE = 0, /* the request is not whole: call again from its start with more bytes */
    RESP_OK = 1,
    RESP_BAD = -1, /* the stream is unusable: answer `why` and close */
};

/* How far a request that is not whole was read. So a request that comes in pieces is looked at
 * once, whatever their size, and read when it is whole. */
struct resp_place {
    size_t need; /* The request is not whole before `in` has this many bytes; 0: unknown. */
    size_t at;   /* All bytes before this were looked at. */
    size_t
        left; /* Arguments that begin at `at` or later; 0: the request is inline, or just begun. */
};

struct resp_request {
    struct str *args; /* owned by the request, grown as needed, reused */
    size_t n;
    size_t cap;
    struct buf scratch;      /* unquoted inline words */
    const char *why;         /* static text after RESP_BAD */
    struct resp_place place; /* after RESP_MORE: how far it was read */
};

void resp_request_fini(struct resp_request *r);

/* Reads one request. RESP_OK sets args, n (0 for an empty line) and *ret_used. A bulk string over
 * max_bulk is RESP_BAD as soon as its length is read. After RESP_MORE, r->place is how far it came.
 * The caller limits the size of a whole request. */
enum resp_status resp_read_request(struct resp_request *r, struct str in, size_t max_bulk,
                                   size_t *ret_used);
/* More bytes came to a request that was not whole: looks on from its place. False: it is not whole
 * yet. True: the caller reads it again, because it is whole or bad, or because it has just begun.
 */
bool resp_look_on(struct resp_place *place, struct str in, size_t max_bulk);

/* Writers of values that do not differ between the protocols. */
void resp_error(struct buf *out, const char *code, struct str text); /* line breaks become spaces */
void resp_bulk(struct buf *out, struct str s);
void resp_array(struct buf *out, size_t n);

/* The reply vtable on RESP. In protocol 2 a map is a flat array, null is a null bulk string, and a
 * boolean is 0 or 1. */
struct resp_reply {
    struct reply base;
    struct buf *out; /* of the caller */
    int proto;       /* 2 or 3 */
    size_t start;    /* the reply's first byte in out */
};

struct resp_reply resp_reply_of(struct buf *out, int proto);

/* A value as a client sees it: a tree in an array. */
enum resp_type {
    RESP_SIMPLE,
    RESP_ERROR,
    RESP_INT,
    RESP_BULK,
    RESP_NULL,
    RESP_BOOL,
    RESP_DOUBLE,
    RESP_ARRAY, /* also sets and pushes */
    RESP_MAP,
};

struct resp_value {
    enum resp_type type;
    struct str text;   /* SIMPLE, ERROR, BULK, DOUBLE; borrowed from the input */
    int64_t number;    /* INT, BOOL */
    uint32_t children; /* ARRAY: items; MAP: 2 x pairs, key and value in turn */
    uint32_t next;     /* index of the node after this whole subtree */
};

struct resp_values {
    struct resp_value *at; /* at[0] is the value; children follow in depth-first order */
    size_t n;
    size_t cap;
    const char *why;
};

void resp_values_fini(struct resp_values *v);

/* Reads one whole value; bounded depth (32) and count. */
enum resp_status resp_read_value(struct resp_values *v, struct str in, size_t *ret_used);

#endif
