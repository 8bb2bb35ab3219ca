/* SPDX-License-Identifier: MIT */
/* Help texts are written for RESP: `IN`, `SCHEDULE`. This is how HTTP says them: `in`, scheduleJob.
 */
#include <ctype.h>
#include <stdio.h>

#include "front/http_route.h"
#include "front/openapi.h"

static bool is_letter(char c)
{
    return isupper((unsigned char)c) || c == '_';
}

/* The word in capitals at the beginning of a text; empty: there is none. */
static struct str capitals(const char *text)
{
    size_t n = 0;

    while (is_letter(text[n]))
        n++;
    return (struct str){ text, n > 1 && !isalnum((unsigned char)text[n]) ? n : 0 };
}

static bool has_arg(const struct verb *v, struct str word)
{
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (str_ieq(word, a->name))
            return true;
    return false;
}

static bool is_any_arg(struct str word)
{
    for (const struct verb *v = verb_table; v->name; v++)
        if (has_arg(v, word))
            return true;
    return false;
}

static const char *operation_of(struct str verb)
{
    for (const struct http_route *r = http_routes; r->path; r++)
        if (r->verb && str_eq(verb, str_of(r->verb)))
            return r->id;
    return str_eq(verb, STR("METRICS")) ? "getMetrics" : NULL;
}

/* Whether the text before says that an error is meant: "answers LIMIT". */
static bool says_error(const char *from, const char *at)
{
    static const char *const before[] = { "with ", "answers ", "answer ", "fails with " };

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t len = strlen(before[i]);

        if ((size_t)(at - from) >= len && memcmp(at - len, before[i], len) == 0)
            return true;
    }
    return false;
}

static void put_lower(struct buf *out, struct str word, const char *around)
{
    buf_text(out, around);
    for (size_t i = 0; i < word.len; i++)
        buf_append(out, &(char){ (char)tolower((unsigned char)word.ptr[i]) }, 1);
    buf_text(out, around);
}

void openapi_text(struct buf *out, const char *text, const struct verb *v)
{
    const char *at = text;
    bool quoted = false;

    while (*at) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        struct str word = begins && !quoted ? capitals(at) : (struct str){ at, 0 };
        bool is_error = word.len && error_find(word) && says_error(text, at);
        const char *operation = word.len ? operation_of(word) : NULL;

        if (word.len == 0) {
            quoted = quoted != (*at == '`');
            buf_append(out, at++, 1);
            continue;
        }
        if (!is_error && v && has_arg(v, word))
            put_lower(out, word, "`");
        else if (!is_error && operation)
            buf_printf(out, "`%s`", operation);
        else if (!error_find(word) && is_any_arg(word))
            put_lower(out, word, "`");
        else
            buf_str(out, word);
        at += word.len;
    }
}
