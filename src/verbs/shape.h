/* SPDX-License-Identifier: MIT */
/*
 * Shapes: what the maps in replies look like. A field is one row of a table: its name, its type,
 * and the member of a view that it shows. Rows yield the reply itself, its schema in /openapi.json,
 * the figures of METRICS, and how the command line shows a number.
 *
 * The macros below write rows about members of the struct OF, which each table defines before it. A
 * row does not compile if OF has no such member, or if the member has another type than the row.
 */
#ifndef VERBS_SHAPE_H
#define VERBS_SHAPE_H

#include "base/hist.h"
#include "base/id.h"
#include "verbs/reply.h"

/* What users see. */
enum shape_type {
    SHAPE_END, /* closes a table */
    SHAPE_INT,
    SHAPE_MOMENT, /* milliseconds since 1970 */
    SHAPE_BOOL,
    SHAPE_TEXT,  /* in UTF-8 */
    SHAPE_BYTES, /* any */
    SHAPE_LIST,  /* an array of texts */
    SHAPE_DICT,  /* a map of texts */
    SHAPE_MAPS,  /* an array of maps of another shape */
    SHAPE_PART   /* no field: all fields of another table stand here */
};

/* What the member is. */
enum shape_from {
    FROM_I32,
    FROM_U32,
    FROM_I64,
    FROM_U64,
    FROM_BOOL,
    FROM_STR,
    FROM_CHARS, /* an array, terminated */
    FROM_ID,
    FROM_TOKEN,  /* uint64_t; as text, because many clients keep integers as doubles */
    FROM_WORD,   /* an enum, which `word` names; negative: none */
    FROM_INDEX,  /* an enum, which `words` names */
    FROM_TENANT, /* of a queue's full name, */
    FROM_QUEUE,  /* and the queue's own name */
    FROM_RATE,
    FROM_P50, /* of a histogram, */
    FROM_P99,
    FROM_MAX,
    FROM_OWN /* none: `put` writes the value */
};

typedef const char *shape_word_fn(unsigned value);
typedef void shape_put_fn(struct reply *r, const void *view);

struct shape_field {
    enum shape_type type;
    struct str name; /* empty: a figure that only METRICS has */
    enum shape_from from;
    bool maybe;        /* null if the member is negative, empty or no id or token */
    bool hop;          /* the member is a pointer to what `from` says */
    size_t at;         /* where the member is in the view */
    const char *shape; /* MAPS: of which shape they are */
    const char *metric;
    const char *help; /* of the metric */
    union {
        shape_word_fn *word;
        const char *const *words;
        shape_put_fn *put;
        const struct shape_field *part;
    };
};

struct shape {
    const char *name;
    const struct shape_field *fields;
};

/* All that verbs answer; closed by a row with name NULL. */
extern const struct shape shapes[];

/* Writes a map: the fields of a view, which is of the struct that the table is about. */
void shape_put(struct reply *r, const struct shape_field *fields, const void *view);
/* The same without the map around it, for parts of one; and how many fields there are. */
void shape_put_fields(struct reply *r, const struct shape_field *fields, const void *view);
size_t shape_count(const struct shape_field *fields);

/* The number that a field of type INT or MOMENT shows. */
int64_t shape_integer(const struct shape_field *f, const void *view);

/* Whether a number of this name is a moment, wherever it is shown. */
bool shape_is_moment(struct str name);

/* ---- Rows ---- */

/* clang-format off */
#define SHAPE_IS(member) (((OF *)NULL)->member)
#define SHAPE_INTEGER(member) \
    _Generic(SHAPE_IS(member), int32_t: FROM_I32, uint32_t: FROM_U32, int64_t: FROM_I64, \
             uint64_t: FROM_U64, bool: FROM_BOOL)
#define SHAPE_STRING(member) _Generic(SHAPE_IS(member), struct str: FROM_STR, char *: FROM_CHARS)
#define SHAPE_POINTS(struct_, member) \
    _Generic(SHAPE_IS(member), struct_: false, struct_ *: true, const struct_ *: true)
#define SHAPE_ROW(name_, type_, from_, member, ...) \
    { .name = { (name_), sizeof(name_) - 1 }, .type = (type_), .from = (from_), .at = offsetof(OF, member), __VA_ARGS__ }
#define SHAPE_QUANTILE(name, from_, member) \
    SHAPE_ROW(name, SHAPE_INT, from_, member, .hop = SHAPE_POINTS(struct hist, member))

#define OR_NULL            .maybe = true
#define METRIC(name, text) .metric = (name), .help = (text)

#define SHOW_INT(name, member, ...)    SHAPE_ROW(name, SHAPE_INT, SHAPE_INTEGER(member), member, __VA_ARGS__)
#define SHOW_MOMENT(name, member, ...) SHAPE_ROW(name, SHAPE_MOMENT, SHAPE_INTEGER(member), member, __VA_ARGS__)
#define SHOW_TEXT(name, member, ...)   SHAPE_ROW(name, SHAPE_TEXT, SHAPE_STRING(member), member, __VA_ARGS__)
#define SHOW_BYTES(name, member, ...)  SHAPE_ROW(name, SHAPE_BYTES, SHAPE_STRING(member), member, __VA_ARGS__)
#define SHOW_BOOL(name, member) \
    SHAPE_ROW(name, SHAPE_BOOL, _Generic(SHAPE_IS(member), bool: FROM_BOOL), member)
#define SHOW_ID(name, member, ...) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), struct job_id: FROM_ID), member, __VA_ARGS__)
#define SHOW_TOKEN(name, member, ...) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), uint64_t: FROM_TOKEN), member, __VA_ARGS__)
#define SHOW_RATE(name, member) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), struct rate: FROM_RATE), member, OR_NULL)
/* What a function, or an array, calls an enum. */
#define SHOW_WORD(name, member, function, ...) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), int: FROM_WORD, unsigned: FROM_WORD), member, \
              .word = (function), __VA_ARGS__)
#define SHOW_INDEX(name, member, array) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), unsigned: FROM_INDEX), member, .words = (array))
/* Both parts of a queue's full name. */
#define SHOW_TENANT(member) \
    SHAPE_ROW("tenant", SHAPE_TEXT, _Generic(SHAPE_IS(member), struct str: FROM_TENANT), member)
#define SHOW_QUEUE(member, ...) \
    SHAPE_ROW("queue", SHAPE_TEXT, _Generic(SHAPE_IS(member), struct str: FROM_QUEUE), member, __VA_ARGS__)
/* Three fields of a histogram. */
#define SHOW_HIST(name, unit, member) \
    SHAPE_QUANTILE(name "_p50_" unit, FROM_P50, member), \
    SHAPE_QUANTILE(name "_p99_" unit, FROM_P99, member), \
    SHAPE_QUANTILE(name "_max_" unit, FROM_MAX, member)
/* A value that a function writes, which is given the view. */
#define SHOW_OWN(name_, type_, function, ...) \
    { .name = { (name_), sizeof(name_) - 1 }, .type = (type_), .from = FROM_OWN, .put = (function), __VA_ARGS__ }
#define SHOW_MAPS(name, shape_, function) SHOW_OWN(name, SHAPE_MAPS, function, .shape = (shape_))
/* All fields of another table: about the struct that the member is or points to, or about the view itself. */
#define SHOW_PART(member, struct_, table) \
    { .type = SHAPE_PART, .hop = SHAPE_POINTS(struct_, member), .at = offsetof(OF, member), .part = (table) }
#define SHOW_ALL(table) { .type = SHAPE_PART, .part = (table) }
/* clang-format on */

#endif
