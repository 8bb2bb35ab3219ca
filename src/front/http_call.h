/* SPDX-License-Identifier: MIT */
/*
 * A request in HTTP as the words of its verb, and the verb's reply as an answer in HTTP. The words
 * are parsed and run exactly as those of a RESP client, so that checks, errors and results are the
 * same. No sockets.
 */
#ifndef FRONT_HTTP_CALL_H
#define FRONT_HTTP_CALL_H

#include "front/http_route.h"
#include "front/session.h"

/* What was asked, borrowed. */
struct http_input {
    const struct http_match *match;
    struct str query; /* behind the question mark, as it stands there */
    struct str body;
    struct str idempotency_key; /* the header's value; ptr NULL: there was none */
};

/* A word: at ptr, or if that is NULL at an offset in the call's text. */
struct http_word {
    const char *ptr;
    size_t at;
    size_t len;
};

struct http_words {
    struct http_word *at;
    size_t n;
    size_t cap;
    bool failed;
};

/* The verb's words. They borrow from the input's body and match. */
struct http_call {
    struct buf text;
    struct http_words list;
    struct str *words; /* list.n of them */
    size_t words_cap;
    char why[256];
};

void http_call_fini(struct http_call *c);
/* Makes it as it was at first, but for memory that is kept if it is little. */
void http_call_reset(struct http_call *c);

/* Fills a zeroed or reset call. INVALID, PROTOCOL (the body is no JSON) or NOMEM with a sentence in
 * c->why.
 */
int http_translate(const struct http_input *in, struct http_call *c);

struct http_answer {
    int status;
    bool problem; /* the body is of HTTP_PROBLEM_TYPE, else JSON; empty: there is none */
    struct buf body;
    char location[48]; /* empty: none */
};

void http_answer_fini(struct http_answer *a);

/* Whether the session's token may ask it at all, which can be known before the body is read. False:
 * the answer is there. */
bool http_admit(const struct session *s, const struct http_route *route, struct http_answer *ret);

/* As session_execute: the answer is there unless it parked, is cold or found no room. */
uint64_t http_execute(struct session *s, const struct session_target *t,
                      const struct http_route *route, const struct http_call *call, void *owner,
                      struct http_answer *ret);

/* The answer of a LEASE that was parked. */
void http_serve(struct session *s, const struct engine *e, const struct http_route *route,
                struct job *const *jobs, size_t n, struct http_answer *ret);

/* An error, by its number, as verbs answer it. */
void http_fail(int err, const char *detail, struct http_answer *ret);
/* One that has a status of its own. */
void http_refuse(const char *code, int status, const char *detail, struct http_answer *ret);

#endif
