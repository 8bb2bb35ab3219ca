/* SPDX-License-Identifier: MIT */
/*
 * How a verb answers in any protocol: a vtable of value writers. Arrays and maps announce their
 * size first; exactly that many values (pairs) follow.
 */
#ifndef VERBS_REPLY_H
#define VERBS_REPLY_H

#include <assert.h>
#include <stdint.h>

#include "base/str.h"

struct reply;

struct reply_ops {
    void (*status)(struct reply *r, const char *word); /* "OK" */
    void (*error)(struct reply *r, const char *code, struct str text);
    void (*integer)(struct reply *r, int64_t v);
    void (*bytes)(struct reply *r, struct str s);
    /* As bytes, for the name of a field: a few characters. */
    void (*name)(struct reply *r, struct str s);
    void (*null)(struct reply *r);
    void (*boolean)(struct reply *r, bool v);
    void (*array)(struct reply *r, size_t n);
    void (*map)(struct reply *r, size_t pairs);
    /* An array whose size is known at its end; `from` is what array_begin returned. */
    size_t (*array_begin)(struct reply *r);
    void (*array_end)(struct reply *r, size_t from, size_t n);
    /* Removes everything that was written. */
    void (*undo)(struct reply *r);
    /* The place of the next byte. */
    size_t (*mark)(const struct reply *r);
    /* Copies the bytes between two places, for parts that come several times in a reply. NULL in a
     * protocol where that is impossible. */
    void (*again)(struct reply *r, size_t from, size_t to);
};

struct reply {
    const struct reply_ops *ops;
};

/* COLD is no answer: it tells the host to run the request again. */
static inline void reply_refuse(struct reply *r, const char *code, struct str text)
{
    assert(!str_eq(str_of(code), STR("COLD")));
    r->ops->error(r, code, text);
}

static inline void reply_status(struct reply *r, const char *word)
{
    r->ops->status(r, word);
}

static inline void reply_integer(struct reply *r, int64_t v)
{
    r->ops->integer(r, v);
}

static inline void reply_bytes(struct reply *r, struct str s)
{
    r->ops->bytes(r, s);
}

static inline void reply_name(struct reply *r, struct str s)
{
    r->ops->name(r, s);
}

static inline void reply_text(struct reply *r, const char *text)
{
    r->ops->bytes(r, str_of(text));
}

static inline void reply_null(struct reply *r)
{
    r->ops->null(r);
}

static inline void reply_boolean(struct reply *r, bool v)
{
    r->ops->boolean(r, v);
}

static inline void reply_array(struct reply *r, size_t n)
{
    r->ops->array(r, n);
}

static inline void reply_map(struct reply *r, size_t pairs)
{
    r->ops->map(r, pairs);
}

#endif
