/* SPDX-License-Identifier: MIT */
/* Gathering a verb's arguments from the parts of a request: for http_call.c and http_body.c. */
#ifndef FRONT_HTTP_FIELDS_H
#define FRONT_HTTP_FIELDS_H

#include "front/http_call.h"
#include "front/json.h"

/* One verb's arguments as they are gathered: in any order, from path, query, header and body. */
struct fields {
    struct http_call *call;
    const struct http_input *in;
    const struct http_route *route; /* NULL: an item of a batch, which takes all arguments */
    const struct verb *verb;
    size_t item;   /* number in a batch, from 1 on; 0: no item */
    size_t first;  /* index of the call's word in front of the arguments */
    size_t afters; /* values of AFTER so far; all items of a batch share a limit */
    bool formed;   /* http_form was given */
    bool given[VERB_ARGS_MAX];
};

/* Adds the word in front, and a place for each positional argument. */
void fields_begin(struct fields *f, struct str head);
/* Removes the places of arguments that are not given. INVALID: a required one is missing. */
int fields_end(struct fields *f);

/* Adds the fields of an object. INVALID, PROTOCOL. */
int fields_read_body(struct fields *f, struct json *j);

/* The argument of a field's name, or NULL; *ret_base64: the name has the ending of base64. */
const struct arg *fields_find(const struct fields *f, struct str name, bool *ret_base64);
/* Whether the name is that of http_form, on a route that takes it; and its value. */
bool fields_is_form(const struct fields *f, struct str name);
int fields_form(struct fields *f, struct str value);
/* Whether the argument was given already. It counts as given from now on. */
bool fields_claim(struct fields *f, const struct arg *a);
/* Adds a value of an argument. */
void fields_give(struct fields *f, const struct arg *a, struct str value);
/* Decodes the text since *from, which is base64; its bytes follow it, and *from becomes their
 * start.
 */
int fields_decode(struct fields *f, const struct arg *a, size_t *from);

/* INVALID, with "name: why" in the call. */
int fields_refuse(struct fields *f, const struct arg *a, const char *why);
int fields_refuse_text(struct fields *f, struct str name, const char *why);
int fields_refuse_unknown(struct fields *f, struct str name, const char *what);
/* PROTOCOL, with the reader's reason. */
int fields_refuse_json(struct fields *f, const struct json *j);

/* Whether its words are `no` and `yes`, for which JSON has false and true. */
bool arg_is_yes_no(const struct arg *a);

void words_add(struct http_call *c, struct str word);

/* The text that was appended to the call since `from`. */
static inline struct str text_since(const struct fields *f, size_t from)
{
    size_t len = f->call->text.len - from;

    return (struct str){ len ? f->call->text.ptr + from : "", len };
}

#endif
