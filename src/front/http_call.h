/* SPDX-License-Identifier: MIT */
/*
 * A request in HTTP as the words of its verb, and the verb's reply as an answer in HTTP. The words
 * are parsed and run as those of a RESP client, so checks, errors and results do not differ. No
 * sockets.
 */
#ifndef FRONT_HTTP_CALL_H
#define FRONT_HTTP_CALL_H

#include "front/http_route.h"
#include "front/session.h"

/* The parts of a request, borrowed. */
struct http_input {
    const struct http_match *match;
    struct str query; /* behind the question mark, with its escapes */
    struct str body;
    struct str idempotency_key;  /* the header's value; ptr NULL: there is no such header */
    size_t max_payload;          /* bytes of a JSON value that are read at most; 0: any number */
    int64_t idempotency_hold_ms; /* how long the key of that header stays taken after the job's end;
                                    0: as the queue says */
    struct str traceparent;      /* the headers of a trace; empty: there are none */
    struct str tracestate;
    struct str prefer; /* the header Prefer; empty: there is none */
};

/* The verb's words. They borrow from `text` and from the input. */
struct http_call {
    struct buf text; /* never moves while words are added: its room is reserved first */
    struct str *words;
    size_t n;
    size_t cap;
    bool failed; /* there was no memory for a word */
    bool json;   /* payloads that are JSON are answered as values */
    char why[256];
};

void http_call_fini(struct http_call *c);
/* Empties a call; it keeps its memory if that is little. */
void http_call_reset(struct http_call *c);

/* Fills a zeroed or reset call. INVALID, PROTOCOL (the body is no JSON), TOOLARGE or NOMEM with a
 * sentence in c->why. */
int http_translate(const struct http_input *in, struct http_call *c);

struct http_answer {
    int status;
    bool problem; /* the body is of HTTP_PROBLEM_TYPE, else JSON; it may be empty */
    struct buf body;
    char location[48]; /* empty: none */
};

void http_answer_fini(struct http_answer *a);

/* Whether the session's token may use the route, which is known before the body is read. False
 * after an error answer. */
bool http_admit(const struct session *s, const struct http_route *route, struct http_answer *ret);

/* Runs a call as session_execute does. There is no answer if the call parked, is cold or
 * found no room. */
uint64_t http_execute(struct session *s, const struct session_target *t,
                      const struct http_route *route, const struct http_call *call, void *owner,
                      struct http_answer *ret);

/* The answer of a LEASE that was parked. */
void http_serve(struct session *s, const struct engine *e, const struct http_route *route,
                const struct http_call *call, struct job *const *jobs, size_t n,
                struct http_answer *ret);

/* Answers an error by its number, as verbs do. */
void http_fail(int err, const char *detail, struct http_answer *ret);
/* Answers an error with a status of its own. */
void http_refuse(const char *code, int status, const char *detail, struct http_answer *ret);

#endif
