/* SPDX-License-Identifier: MIT */
/* Words to typed arguments, by a verb's row. */
#include "verbs/handlers.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "base/suggest.h"
#include "base/time.h"
#include "record/backoff.h"

const struct verb *verb_find(const struct verb *table, struct str name)
{
    for (const struct verb *v = table; v->name; v++)
        if ((v->name[0] | 32) == (name.len ? name.ptr[0] | 32 : 0) && str_ieq(name, v->name))
            return v;
    return NULL;
}

#define NAME_CHARS "1-128 characters of A-Z a-z 0-9 . _ - : /"

struct parse {
    const struct verb_host *host;
    char *why;
    size_t why_size;
};

static int fail_value(const struct parse *p, const struct arg *a, const char *expected)
{
    snprintf(p->why, p->why_size, "%s: %s", a->name, expected);
    return BELFRY_INVALID;
}

static int fail_size(const struct parse *p, const struct arg *a, size_t got, size_t limit)
{
    snprintf(p->why, p->why_size, "%s: %zu bytes, the limit is %zu", a->name, got, limit);
    return BELFRY_TOOLARGE;
}

static int fail_range(const struct parse *p, const struct arg *a)
{
    char low[TIME_TEXT], high[TIME_TEXT];

    if (a->type == ARG_DURATION) {
        time_format_duration(a->min, low);
        time_format_duration(a->max, high);
    } else {
        snprintf(low, sizeof(low), "%lld", (long long)a->min);
        snprintf(high, sizeof(high), "%lld", (long long)a->max);
    }
    snprintf(p->why, p->why_size, "%s: expected %s to %s", a->name, low, high);
    return BELFRY_INVALID;
}

/* Decimal digits, at most 20 of them. */
static bool parse_digits(struct str s, uint64_t *ret)
{
    return s.len <= 20 && str_number(s, ret);
}

static int parse_int(const struct parse *p, const struct arg *a, struct str s, int64_t *ret)
{
    uint64_t v;

    if (!parse_digits(s, &v) || v > INT64_MAX || (int64_t)v < a->min || (int64_t)v > a->max)
        return fail_range(p, a);
    *ret = (int64_t)v;
    return 0;
}

static int parse_word(const struct parse *p, const struct arg *a, struct str s, int64_t *ret)
{
    struct str rest = str_of(a->words);

    for (int64_t i = 0; rest.len > 0; i++) {
        struct str word = str_cut(&rest, '|');

        if (word.len == s.len && strncasecmp(word.ptr, s.ptr, s.len) == 0) {
            *ret = i;
            return 0;
        }
    }
    snprintf(p->why, p->why_size, "%s: expected one of %s", a->name, a->words);
    return BELFRY_INVALID;
}

static int parse_names(const struct parse *p, const struct arg *a, struct str s)
{
    size_t commas = 0;

    for (size_t i = 0; i < s.len; i++)
        commas += s.ptr[i] == ',';
    for (size_t n = 0; n <= commas; n++) {
        if (!name_valid(str_cut(&s, ',')))
            return fail_value(p, a, "expected names of " NAME_CHARS " with commas between");
        if (n == LEASE_QUEUES_MAX)
            return fail_value(p, a, "expected at most 64 names");
    }
    return 0;
}

static int parse_time(const struct parse *p, const struct arg *a, struct str s, int64_t *ret)
{
    const char *why;

    if (a->type == ARG_MOMENT ? time_parse_moment(s, ret, &why) : time_parse_duration(s, ret, &why))
        return fail_value(p, a, why);
    return a->type == ARG_DURATION && (*ret < a->min || *ret > a->max) ? fail_range(p, a) : 0;
}

/* "100/1m"; "0" for no limit. */
static int parse_rate(const struct parse *p, const struct arg *a, struct str s, struct rate *ret)
{
    bool has_period = memchr(s.ptr, '/', s.len) != NULL;
    struct str count = str_cut(&s, '/');
    uint64_t n;
    const char *why;

    *ret = (struct rate){ 0 };
    if (!parse_digits(count, &n) || n > RATE_COUNT_MAX || (!has_period && n != 0))
        return fail_value(p, a,
                          "expected a number up to 1000000 and a period, such as 100/1m, or 0");
    if (n == 0)
        return 0;
    ret->count = (int64_t)n;
    if (time_parse_duration(s, &ret->per_ms, &why) || ret->per_ms < 1 || ret->per_ms > RATE_PER_MAX)
        return fail_value(p, a, "expected a period of 1ms to 1d, as in 100/1m");
    return 0;
}

static int parse_value(const struct parse *p, const struct arg *a, struct str s,
                       struct arg_value *ret)
{
    const char *why = NULL;
    struct backoff backoff;
    size_t most = SIZE_MAX;

    ret->set = true;
    ret->str = s;
    switch (a->type) {
    case ARG_NAME: why = name_valid(s) ? NULL : "expected " NAME_CHARS; break;
    case ARG_NAMES: return parse_names(p, a, s);
    case ARG_TENANT:
        why = name_valid(s) || str_eq(s, STR(TENANT_ALL)) ? NULL : "expected " NAME_CHARS ", or *";
        break;
    case ARG_RATE: return parse_rate(p, a, s, &ret->rate);
    case ARG_META:
        why = name_valid(s) ? NULL : "expected a name of " NAME_CHARS " and a value";
        break;
    case ARG_PAYLOAD: most = p->host->max_payload; break;
    case ARG_BYTES: most = a->max ? (size_t)a->max : most; break;
    case ARG_KEY:
        why = s.len ? NULL : "expected at least one byte";
        most = KEY_MAX_BYTES;
        break;
    case ARG_ID: why = id_parse(s, &ret->id) ? NULL : "expected a job's id of 26 characters"; break;
    case ARG_TOKEN:
        why = parse_digits(s, &ret->token) ? NULL : "expected a lease's token, a number";
        break;
    case ARG_DURATION:
    case ARG_MOMENT: return parse_time(p, a, s, &ret->number);
    case ARG_INT: return parse_int(p, a, s, &ret->number);
    case ARG_WORD: return parse_word(p, a, s, &ret->number);
    case ARG_BACKOFF: why = backoff_parse(s, &backoff, &why) < 0 ? why : NULL; break;
    case ARG_ITEMS:
    case ARG_CURSOR: return 0;
    case ARG_END: return BELFRY_INVALID;
    }
    if (why)
        return fail_value(p, a, why);
    return s.len > most ? fail_size(p, a, s.len, most) : 0;
}

static size_t find_option(const struct verb *v, size_t first, struct str word)
{
    int initial = word.len ? word.ptr[0] | 32 : 0;
    size_t i = first;

    while (v->args[i].type != ARG_END &&
           (v->args[i].name[0] != initial || !str_ieq(word, v->args[i].name)))
        i++;
    return i;
}

static void put_upper(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_append(out, &(char){ (char)toupper((unsigned char)*text) }, 1);
}

/* Takes the sentence, and frees it. */
static int fail_with(const struct parse *p, struct buf *why)
{
    snprintf(p->why, p->why_size, "%.*s", STR_ARG(buf_view(why)));
    buf_fini(why);
    return BELFRY_INVALID;
}

/* "SCHEDULE queue payload", without the options. */
static void put_positional(const struct verb *v, struct buf *out)
{
    buf_text(out, v->name);
    for (const struct arg *a = v->args; a->positional; a++)
        buf_printf(out, a->optional ? " [%s]" : " %s", a->name);
}

static int fail_few(const struct parse *p, const struct verb *v)
{
    struct buf why = { 0 };

    buf_text(&why, "too few arguments: expected ");
    put_positional(v, &why);
    buf_printf(&why, "; HELP %s says more", v->name);
    return fail_with(p, &why);
}

/* A word where an option should be. Users of command lines write dashes in front of options. */
static int fail_option(const struct parse *p, const struct verb *v, size_t first, struct str word)
{
    struct suggest s = { .given = word };
    struct buf why = { 0 };

    while (s.given.len > 0 && s.given.ptr[0] == '-')
        s.given = (struct str){ s.given.ptr + 1, s.given.len - 1 };
    for (const struct arg *a = v->args + first; a->type != ARG_END; a++)
        suggest_offer(&s, a->name);
    word.len = word.len < 40 ? word.len : 40;
    buf_printf(&why, "unknown option '%.*s'; ", STR_ARG(word));
    if (s.best) {
        buf_text(&why, "did you mean ");
        put_upper(&why, s.best);
        buf_text(&why, "?");
    } else if (v->args[first].type == ARG_END) {
        buf_text(&why, "expected ");
        put_positional(v, &why);
    } else {
        buf_printf(&why, "HELP %s lists the options", v->name);
    }
    return fail_with(p, &why);
}

/* Words that an option takes, its name included. */
static size_t option_width(const struct arg *a)
{
    return a->type == ARG_META ? 3 : 2;
}

static size_t first_option(const struct verb *v)
{
    size_t i = 0;

    while (v->args[i].positional)
        i++;
    return i;
}

bool verb_each(const struct verb_call *c, size_t arg, size_t *at, struct str *ret_name,
               struct str *ret_value)
{
    size_t first = first_option(c->verb);

    for (size_t i = *at ? *at : 1 + first;
         i < c->word_count;) { /* the positional arguments are all given */
        size_t o = find_option(c->verb, first, c->words[i]);
        size_t width = option_width(&c->verb->args[o]);

        if (o == arg) {
            *at = i + width;
            *ret_name = c->words[i + 1];
            *ret_value = c->words[i + width - 1];
            return true;
        }
        i += width;
    }
    return false;
}

static void usage_type(const struct arg *a, struct buf *out)
{
    static const char *const kinds[] = {
        [ARG_NAME] = "name",     [ARG_NAMES] = "names",       [ARG_BYTES] = "bytes",
        [ARG_PAYLOAD] = "bytes", [ARG_KEY] = "key",           [ARG_ID] = "id",
        [ARG_TOKEN] = "token",   [ARG_DURATION] = "duration", [ARG_MOMENT] = "moment",
        [ARG_INT] = "number",    [ARG_BACKOFF] = "back-off",  [ARG_CURSOR] = "cursor",
        [ARG_TENANT] = "name",   [ARG_RATE] = "rate",         [ARG_META] = "name value",
        [ARG_ITEMS] = "items",
    };

    buf_text(out, a->type == ARG_WORD ? a->words : kinds[a->type]);
}

static int fail_valueless(const struct parse *p, const struct arg *a)
{
    struct buf why = { 0 };

    buf_printf(&why, "option %s has no value; expected: ", a->name);
    usage_type(a, &why);
    return fail_with(p, &why);
}

static int fail_twice(const struct parse *p, const struct arg *a)
{
    snprintf(p->why, p->why_size, "option %s is given twice", a->name);
    return BELFRY_INVALID;
}

/* The number of words that the option takes, or an error. */
static int parse_option(const struct parse *p, const struct verb *v, size_t first,
                        const struct str *words, size_t left, struct arg_value *ret,
                        uint32_t *given)
{
    size_t o = find_option(v, first, words[0]);
    const struct arg *a = &v->args[o];
    int err;

    if (a->type == ARG_END)
        return fail_option(p, v, first, words[0]);
    if (left < option_width(a))
        return fail_valueless(p, a);
    if (ret[o].set && !a->many)
        return fail_twice(p, a);
    err = parse_value(p, a, words[1], &ret[o]);
    if (!err && a->type == ARG_META && words[2].len > META_MAX_BYTES)
        err = fail_size(p, a, words[2].len, META_MAX_BYTES);
    *given |= UINT32_C(1) << o;
    return err ? err : (int)option_width(a);
}

int verb_parse(const struct verb *v, const struct verb_host *host, const struct str *words,
               size_t n, char *why, size_t why_size, struct arg_value ret[VERB_ARGS_MAX],
               uint32_t *ret_given)
{
    struct parse p = { host, why, why_size };
    size_t at = 1, i = 0;
    uint32_t given = 0;
    int err = 0;

    for (size_t k = 0; k < VERB_ARGS_MAX && v->args[k].type != ARG_END; k++)
        ret[k].set = false;
    for (; v->args[i].positional; i++) {
        if (v->args[i].optional &&
            (at == n || v->args[find_option(v, i + 1, words[at])].type != ARG_END))
            continue; /* only options follow */
        if (at == n)
            return fail_few(&p, v);
        err = parse_value(&p, &v->args[i], words[at++], &ret[i]);
        if (err)
            return err;
        given |= UINT32_C(1) << i;
        if (v->args[i].type == ARG_ITEMS)
            break; /* the rest is its */
    }
    while (at < n && v->args[i].type != ARG_ITEMS) {
        err = parse_option(&p, v, i, words + at, n - at, ret, &given);
        if (err < 0)
            return err;
        at += (size_t)err;
    }
    *ret_given = given;
    return 0;
}

const struct arg_value *arg_of(const struct verb_call *c, const char *name)
{
    size_t i = 0;

    while (strcmp(c->verb->args[i].name, name) != 0)
        i++;
    return &c->args[i];
}

static void arg_store(const struct arg *a, const struct arg_value *v, char *to)
{
    switch (a->as) {
    case AS_I64: *(int64_t *)(void *)to = v->number; break;
    case AS_INT: *(int *)(void *)to = (int)v->number; break;
    case AS_ENUM: *(unsigned *)(void *)to = (unsigned)v->number; break;
    case AS_BOOL: *(bool *)to = v->number == 1; break;
    case AS_STR: *(struct str *)(void *)to = v->str; break;
    case AS_CHARS:
        assert(v->str.len < a->size); /* verb_parse has checked its length */
        memcpy(to, v->str.ptr, v->str.len);
        to[v->str.len] = '\0';
        break;
    case AS_RATE: *(struct rate *)(void *)to = v->rate; break;
    case AS_LIST:
    case AS_NONE: break;
    }
}

unsigned args_store(const struct verb_call *c, void *ret)
{
    unsigned fields = 0;

    for (uint32_t left = c->given; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        const struct arg *a = &c->verb->args[i];

        if (a->as == AS_NONE)
            continue;
        arg_store(a, &c->args[i], (char *)ret + a->into);
        fields |= a->field;
    }
    return fields;
}

void verb_usage(const struct verb *v, struct buf *out)
{
    buf_text(out, v->name);
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        buf_text(out, a->positional && !a->optional ? " " : " [");
        if (a->positional) {
            buf_text(out, a->name);
        } else {
            put_upper(out, a->name);
            buf_text(out, " ");
            usage_type(a, out);
        }
        buf_text(out, a->positional && !a->optional ? "" : "]");
        if (a->many)
            buf_text(out, "...");
    }
}
