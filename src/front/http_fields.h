/* SPDX-License-Identifier: MIT */
/* Gathering a verb's arguments from the parts of a request: for http_call.c and http_body.c. */
#ifndef FRONT_HTTP_FIELDS_H
#define FRONT_HTTP_FIELDS_H

#include "front/http_call.h"
#include "front/json.h"

/* One verb's arguments as they are gathered: in any order, from path, query, header and body. */
struct fields {
    struct http_call *call;
    const struct http_route *route; /* NULL: an item of a batch, which takes all */
    const struct verb *verb;
    size_t item; /* of a batch, from 1 on */
    bool given[VERB_ARGS_MAX];
    struct http_word positional[VERB_ARGS_MAX];
    struct http_words options;
};

void fields_fini(struct fields *f);

static inline size_t fields_index(const struct fields *f, const struct arg *a)
{
    return (size_t)(a - f->verb->args);
}

static inline struct http_word word_borrowed(struct str s)
{
    return (struct http_word){ s.ptr ? s.ptr : "", 0, s.len };
}

/* What was appended to the call's text since `from`. */
static inline struct http_word word_written(const struct fields *f, size_t from)
{
    return (struct http_word){ NULL, from, f->call->text.len - from };
}

/* The same as it is now: good until more is appended. */
static inline struct str text_since(const struct fields *f, size_t from)
{
    size_t len = f->call->text.len - from;

    return (struct str){ len ? f->call->text.ptr + from : "", len };
}

void words_add(struct http_words *w, struct http_word word);

/* The argument of a field's name; *ret_base64: by its name with the ending. */
const struct arg *fields_find(const struct fields *f, struct str name, bool *ret_base64);
/* A value of an argument. */
void fields_give(struct fields *f, const struct arg *a, struct http_word value);
/* Text that was appended since *from and is base64: what it stands for follows, and *from is there.
 */
int fields_decode(struct fields *f, const struct arg *a, size_t *from);
/* Whether all are there that must be. */
int fields_require(struct fields *f);
/* Positional arguments in their order, then options: as the verb takes them. */
void fields_emit(const struct fields *f, struct http_words *out);

/* INVALID, with "name: why" in the call. */
int fields_refuse(struct fields *f, const struct arg *a, const char *why);
int fields_refuse_text(struct fields *f, struct str name, const char *why);
int fields_refuse_unknown(struct fields *f, struct str name, const char *what);

/* Its words are `no` and `yes`: JSON has false and true for that. */
bool arg_is_yes_no(const struct arg *a);

/* The fields of an object. */
int fields_read_body(struct fields *f, struct json *j);
/* PROTOCOL, with the reader's reason. */
int fields_refuse_json(struct fields *f, const struct json *j);

#endif
