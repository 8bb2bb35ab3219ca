/* SPDX-License-Identifier: MIT */
/*
 * Options as rows: one row yields parsing, help and completion. The options that every command
 * takes (--host, --port, --json, --help) are understood everywhere and go into struct cli.
 *
 * Accepted: --name value, --name=value, -x value, -xvalue; `--` ends the options. In names `-` and
 * `_` are equal. An option that takes a value takes the next argument whatever it looks like.
 */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cli/cli.h"

struct flags;

/* Stores the value f->value at ret. False, with f->why, if it is not acceptable. */
typedef bool flag_take_fn(struct flags *f, void *ret);

struct flag_row {
    const char *name;  /* lower case; NULL closes a list */
    const char *value; /* stands for the value in help; NULL: a flag */
    const char *help;
    const char *words; /* all values that are allowed, "a|b|c", for completion; NULL: any */
    char letter;       /* 0: none */
    /* For flag_read(): how the value is stored, and where in the caller's struct. */
    flag_take_fn *take;
    size_t at;
    size_t size;      /* of an integer */
    int64_t min, max; /* of an integer; a duration has only min */
};

/* Rows end with one of these, which names the member that gets the value. */
#define FLAG_MEMBER(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define FLAG_SET(type, member)    .take = flag_take_set, FLAG_MEMBER(type, member)  /* a bool */
#define FLAG_TEXT(type, member)   .take = flag_take_text, FLAG_MEMBER(type, member) /* a char * */
#define FLAG_INT(type, member, least, most) \
    .take = flag_take_int, .min = (least), .max = (most), FLAG_MEMBER(type, member)
#define FLAG_DURATION(type, member, least) \
    .take = flag_take_duration, .min = (least), FLAG_MEMBER(type, member)
flag_take_fn flag_take_set, flag_take_text, flag_take_int, flag_take_duration;

/* The options that every command takes. */
extern const struct flag_row flag_globals[];

enum { FLAG_END = -1, FLAG_WORD = -2, FLAG_BAD = -3 };

struct flags {
    struct cli *cli;
    const struct flag_row *rows;
    int argc;
    char **argv;
    int i;                      /* the next argument */
    bool ended;                 /* `--` was seen */
    const char *value;          /* of the option or word that was read last */
    const struct flag_row *row; /* of the option that was read last */
    char why[256];              /* after FLAG_BAD */
};

/* Answers the index of the next option's row, or FLAG_END, FLAG_WORD or FLAG_BAD. */
int flag_next(struct flags *f);

/* Stores options in the struct `ret` as their rows say, up to FLAG_END, FLAG_WORD or FLAG_BAD. */
int flag_read(struct flags *f, void *ret);

/* Sets why, and answers false. */
bool flag_refuse(struct flags *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The value as a number; false with why if it is not one. */
bool flag_int(struct flags *f, int64_t min, int64_t max, int64_t *ret);

/* A name of an option or a verb as it is typed: in lower case, with - in place of _. */
struct flag_name {
    char text[64];
};

struct flag_name flag_name(struct str name);

#endif
