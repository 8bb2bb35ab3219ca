/* SPDX-License-Identifier: MIT */
/*
 * Shapes: the fields of the maps in replies. A field is one row of a table: its name, its type, and
 * the member of a view that it shows. Rows yield the reply itself, its schema in /openapi.json, the
 * figures of METRICS, and the command line's form of a number.
 *
 * The macros below write rows about members of the struct OF, which each table defines before it. A
 * row does not compile if OF has no such member, or if the member has another type.
 */
#ifndef VERBS_SHAPE_H
#define VERBS_SHAPE_H

#include "base/hist.h"
#include "base/id.h"
#include "verbs/reply.h"

/* The type that users see. */
enum shape_type {
    SHAPE_END, /* closes a table */
    SHAPE_INT,
    SHAPE_MOMENT,   /* milliseconds since 1970 */
    SHAPE_DURATION, /* milliseconds */
    SHAPE_MICROS,   /* a duration in microseconds */
    SHAPE_SIZE,     /* bytes */
    SHAPE_BOOL,
    SHAPE_TEXT,  /* UTF-8 */
    SHAPE_BYTES, /* any bytes */
    SHAPE_LIST,  /* an array of texts */
    SHAPE_DICT,  /* a map of texts */
    SHAPE_MAPS,  /* an array of maps of another shape */
    SHAPE_PART   /* no field, but all fields of another table */
};

/* The type of the member. */
enum shape_from {
    FROM_I32,
    FROM_U32,
    FROM_I64,
    FROM_U64,
    FROM_BOOL,
    FROM_STR,
    FROM_CHARS, /* an array, terminated */
    FROM_ID,
    FROM_TOKEN,  /* uint64_t; shown as text, because many clients keep integers as doubles */
    FROM_WORD,   /* an enum, which `word` names; negative: null */
    FROM_INDEX,  /* an enum, which `words` names */
    FROM_TENANT, /* the tenant in a queue's full name */
    FROM_QUEUE,  /* the queue's own name in its full name */
    FROM_RATE,
    FROM_P50, /* the median of a histogram */
    FROM_P99,
    FROM_MAX,
    FROM_OWN /* no member: `put` writes the value */
};

typedef const char *shape_word_fn(unsigned value);
typedef void shape_put_fn(struct reply *r, const void *view);

struct shape_field {
    enum shape_type type;
    struct str name; /* empty: a figure that only METRICS has */
    enum shape_from from;
    bool maybe;         /* shown as null if the member is negative or empty, or no id or token */
    bool hop;           /* the member is a pointer to a value of type `from` */
    size_t at;          /* place of the member in the view */
    const char *shape;  /* MAPS: the name of their shape */
    const char *values; /* all words that a text or list can have, `|` behind each; NULL: any */
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

/* The shapes of all verbs, closed by a row with name NULL. */
extern const struct shape shapes[];

/* Writes the fields of a view as a map. The view is of the table's struct. */
void shape_put(struct reply *r, const struct shape_field *fields, const void *view);
/* Writes the fields without a map around them, for parts of a map. And the number of fields. */
void shape_put_fields(struct reply *r, const struct shape_field *fields, const void *view);
size_t shape_count(const struct shape_field *fields);

/* Whether a field of this type shows a number: INT, MOMENT, DURATION, MICROS, SIZE. */
static inline bool shape_is_number(enum shape_type type)
{
    return type >= SHAPE_INT && type <= SHAPE_SIZE;
}

/* The number that a field shows for which shape_is_number is true. */
int64_t shape_integer(const struct shape_field *f, const void *view);

/* The type of fields of this name. All shapes give a name one type. END: no field has the name. */
enum shape_type shape_type_of(struct str name);

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
#define SHAPE_QUANTILE(name, unit, from_, member) \
    SHAPE_ROW(name unit, (unit)[0] == 'm' ? SHAPE_DURATION : SHAPE_MICROS, from_, member, \
              .hop = SHAPE_POINTS(struct hist, member))

#define OR_NULL            .maybe = true
/* The words of an X-macro whose second, or third, column has them. */
#define SHAPE_2ND(name, text, ...)         text "|"
#define SHAPE_3RD(name, number, text, ...) text "|"
#define WORDS(list)        .values = list(SHAPE_2ND)
#define WORDS_3RD(list)    .values = list(SHAPE_3RD)
#define METRIC(name, text) .metric = (name), .help = (text)

#define SHOW_INT(name, member, ...)    SHAPE_ROW(name, SHAPE_INT, SHAPE_INTEGER(member), member, __VA_ARGS__)
#define SHOW_DURATION(name, member, ...) SHAPE_ROW(name, SHAPE_DURATION, SHAPE_INTEGER(member), member, __VA_ARGS__)
#define SHOW_SIZE(name, member, ...)   SHAPE_ROW(name, SHAPE_SIZE, SHAPE_INTEGER(member), member, __VA_ARGS__)
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
/* An enum whose words a function, or an array, has. */
#define SHOW_WORD(name, member, function, ...) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), int: FROM_WORD, unsigned: FROM_WORD), member, \
              .word = (function), __VA_ARGS__)
#define SHOW_INDEX(name, member, array, ...) \
    SHAPE_ROW(name, SHAPE_TEXT, _Generic(SHAPE_IS(member), unsigned: FROM_INDEX), member, .words = (array), __VA_ARGS__)
/* Both parts of a queue's full name. */
#define SHOW_TENANT(member) \
    SHAPE_ROW("tenant", SHAPE_TEXT, _Generic(SHAPE_IS(member), struct str: FROM_TENANT), member)
#define SHOW_QUEUE(member, ...) \
    SHAPE_ROW("queue", SHAPE_TEXT, _Generic(SHAPE_IS(member), struct str: FROM_QUEUE), member, __VA_ARGS__)
/* Three fields of a histogram; the unit is "ms" or "us". */
#define SHOW_HIST(name, unit, member) \
    SHAPE_QUANTILE(name "_p50_", unit, FROM_P50, member), \
    SHAPE_QUANTILE(name "_p99_", unit, FROM_P99, member), \
    SHAPE_QUANTILE(name "_max_", unit, FROM_MAX, member)
/* A value that a function writes, which is given the view. */
#define SHOW_OWN(name_, type_, function, ...) \
    { .name = { (name_), sizeof(name_) - 1 }, .type = (type_), .from = FROM_OWN, .put = (function), __VA_ARGS__ }
#define SHOW_MAPS(name, shape_, function) SHOW_OWN(name, SHAPE_MAPS, function, .shape = (shape_))
/* All fields of another table, about the struct that the member is or points to, or about the view
 * itself. */
#define SHOW_PART(member, struct_, table) \
    { .type = SHAPE_PART, .hop = SHAPE_POINTS(struct_, member), .at = offsetof(OF, member), .part = (table) }
#define SHOW_ALL(table) { .type = SHAPE_PART, .part = (table) }
/* clang-format on */

#endif
