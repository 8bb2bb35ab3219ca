/* SPDX-License-Identifier: MIT */
#include "front/json.h"

#include <stdio.h>

#include "base/utf8.h"

void json_begin(struct json *j, struct str text)
{
    *j = (struct json){ .start = text.ptr, .at = text.ptr, .end = text.ptr + text.len };
}

bool json_fail(struct json *j, const char *why)
{
    if (!j->bad)
        snprintf(j->why, sizeof(j->why), "at byte %zu: %s", (size_t)(j->at - j->start) + 1, why);
    j->bad = true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void skip_blanks(struct json *j)
{
    const char *from = j->at;

    while (j->at < j->end && is_blank(*j->at))
        j->at++;
    j->blanks += (size_t)(j->at - from);
}

enum json_kind json_peek(struct json *j)
{
    if (j->bad)
        return KIND_BAD;
    skip_blanks(j);
    switch (j->at < j->end ? *j->at : '\0') {
    case '{': return KIND_OBJECT;
    case '[': return KIND_ARRAY;
    case '"': return KIND_STRING;
    case 'n': return KIND_NULL;
    case 'f': return KIND_FALSE;
    case 't': return KIND_TRUE;
    case '-':
    case '0' ... '9': return KIND_NUMBER;
    default: json_fail(j, "expected a JSON value"); return KIND_BAD;
    }
}

bool json_literal(struct json *j)
{
    static const char *const words[] = { "null", "false", "true" };
    enum json_kind kind = json_peek(j);
    const char *word;

    if (kind != KIND_NULL && kind != KIND_FALSE && kind != KIND_TRUE)
        return json_fail(j, "expected null, false or true");
    word = words[kind - KIND_NULL];
    if ((size_t)(j->end - j->at) < strlen(word) || memcmp(j->at, word, strlen(word)) != 0)
        return json_fail(j, "expected null, false or true");
    j->at += strlen(word);
    return true;
}

/* The number of digits from p on. */
static size_t digits(const struct json *j, const char *p)
{
    const char *q = p;

    while (q < j->end && *q >= '0' && *q <= '9')
        q++;
    return (size_t)(q - p);
}

bool json_number(struct json *j, struct str *ret, bool *ret_whole)
{
    const char *p;
    size_t n;

    if (json_peek(j) != KIND_NUMBER)
        return json_fail(j, "expected a number");
    p = j->at + (*j->at == '-');
    n = digits(j, p);
    if (n == 0 || (n > 1 && *p == '0'))
        return json_fail(j, "expected a number without leading zeros");
    p += n;
    *ret_whole = true;
    if (p < j->end && *p == '.') {
        n = digits(j, p + 1);
        if (n == 0)
            return json_fail(j, "expected digits behind the point");
        p += 1 + n;
        *ret_whole = false;
    }
    if (p < j->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < j->end && (*p == '+' || *p == '-');
        n = digits(j, p);
        if (n == 0)
            return json_fail(j, "expected digits in the exponent");
        p += n;
        *ret_whole = false;
    }
    *ret = (struct str){ j->at, (size_t)(p - j->at) };
    j->at = p;
    return true;
}

/* ---- Strings ---- */

/* Four hexadecimal digits at p; -1: there are none. */
static int32_t hex_four(const struct json *j, const char *p)
{
    int32_t v = 0;

    if (j->end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = str_hex(p[i]);

        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static void put_utf8(struct buf *out, uint32_t c)
{
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (n == 1)
        b[0] = (char)c;
    else
        b[0] = (char)(0xf00u >> n | c >> (6 * (n - 1)));
    for (size_t i = 1; i < n; i++)
        b[i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
    buf_append(out, b, n);
}

/* \uXXXX, with j->at behind the u; of a surrogate pair both halves. */
static bool read_unicode(struct json *j, uint32_t *ret)
{
    int32_t c = hex_four(j, j->at), low;

    if (c < 0)
        return json_fail(j, "expected four hexadecimal digits");
    if (c >= 0xd800 && c <= 0xdfff) {
        low = c < 0xdc00 && j->end - j->at >= 6 && j->at[4] == '\\' && j->at[5] == 'u'
                  ? hex_four(j, j->at + 6)
                  : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return json_fail(j, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        j->at += 6;
    }
    j->at += 4;
    *ret = (uint32_t)c;
    return true;
}

/* j->at is at the backslash. */
static bool read_escape(struct json *j, struct buf *out)
{
    static const char meant[256] = { ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                     ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t' };
    uint32_t c = 0;
    char said;

    if (j->end - j->at < 2)
        return json_fail(j, "the text ends within a string");
    if (j->at[1] == 'u') {
        j->at += 2;
        if (!read_unicode(j, &c))
            return false;
        if (out)
            put_utf8(out, c);
        return true;
    }
    said = meant[(unsigned char)j->at[1]];
    if (!said)
        return json_fail(j, "unknown escape in a string");
    if (out)
        buf_append(out, &said, 1);
    j->at += 2;
    return true;
}

/* Skips the characters of a string up to a quote or an escape. */
static bool skip_plain(struct json *j)
{
    while (j->at < j->end) {
        unsigned char c = (unsigned char)*j->at;

        if (c == '"' || c == '\\')
            return true;
        if (c < 0x20)
            return json_fail(j, "a control character in a string: expected an escape");
        if (c < 0x80) {
            j->at++;
        } else {
            uint32_t code;
            size_t n = utf8_decode((struct str){ j->at, (size_t)(j->end - j->at) }, &code);

            if (n == 0)
                return json_fail(j, "not UTF-8");
            j->at += n;
        }
    }
    return json_fail(j, "the text ends within a string");
}

bool json_string_read(struct json *j, struct buf *out)
{
    if (json_peek(j) != KIND_STRING)
        return json_fail(j, "expected a string");
    j->at++;
    for (;;) {
        const char *from = j->at;

        if (!skip_plain(j))
            return false;
        if (out)
            buf_append(out, from, (size_t)(j->at - from));
        if (*j->at == '"') {
            j->at++;
            return true;
        }
        if (!read_escape(j, out))
            return false;
    }
}

/* ---- Arrays and objects ---- */

bool json_open(struct json *j)
{
    enum json_kind kind = json_peek(j);

    if (kind != KIND_ARRAY && kind != KIND_OBJECT)
        return json_fail(j, "expected an array or an object");
    if (j->depth == JSON_DEPTH_MAX)
        return json_fail(j, "nested too deeply");
    j->depth++;
    j->at++;
    return true;
}

/* Whether this character comes next, behind blanks. */
static bool is_next(struct json *j, char c)
{
    skip_blanks(j);
    return !j->bad && j->at < j->end && *j->at == c;
}

int json_next(struct json *j, char close, size_t *n)
{
    if (j->bad)
        return -1;
    if (is_next(j, close)) {
        j->at++;
        j->depth--;
        return 0;
    }
    if ((*n)++ == 0)
        return 1;
    if (!is_next(j, ',')) {
        json_fail(j, close == '}' ? "expected , or }" : "expected , or ]");
        return -1;
    }
    j->at++;
    return 1;
}

static bool take_colon(struct json *j)
{
    if (!is_next(j, ':'))
        return json_fail(j, "expected : behind a field's name");
    j->at++;
    return true;
}

bool json_name(struct json *j, struct buf *out)
{
    if (!is_next(j, '"'))
        return json_fail(j, "expected a field's name");
    return json_string_read(j, out) && take_colon(j);
}

/* Whether the value that began at `from` is not longer than values may be, blanks not counted. */
static bool is_within(struct json *j, const char *from, size_t blanks)
{
    if (!j->most || (size_t)(j->at - from) - (j->blanks - blanks) <= j->most)
        return true;
    j->large = true;
    return json_fail(j, "the value is too long");
}

static bool skip_single(struct json *j, enum json_kind kind)
{
    struct str number;
    bool whole;

    if (kind == KIND_STRING)
        return json_string_read(j, NULL);
    return kind == KIND_NUMBER ? json_number(j, &number, &whole) : json_literal(j);
}

/* Takes any value, which is a part of the value that began at `from`. `blanks` is the count of
 * blanks at that point. */
static bool skip_value(struct json *j, const char *from,
                       size_t blanks) /* NOLINT(misc-no-recursion): bounded by depth */
{
    enum json_kind kind = json_peek(j);
    char close = kind == KIND_OBJECT ? '}' : ']';
    size_t n = 0;
    int more;

    if (kind != KIND_ARRAY && kind != KIND_OBJECT)
        return kind != KIND_BAD && skip_single(j, kind);
    if (!json_open(j))
        return false;
    while ((more = json_next(j, close, &n)) > 0) {
        if (kind == KIND_OBJECT && !json_name(j, NULL))
            return false;
        if (!skip_value(j, from, blanks) || !is_within(j, from, blanks))
            return false;
    }
    return more == 0;
}

/* Appends a valid text without the blanks between its parts. */
static void put_tight(struct buf *out, struct str text)
{
    const char *end = text.ptr + text.len;
    bool in_string = false;

    for (const char *p = text.ptr, *from = p; p < end; p++) {
        if (*p == '"')
            in_string = !in_string;
        else if (*p == '\\')
            p++;
        if (!in_string && is_blank(*p)) {
            buf_append(out, from, (size_t)(p - from));
            from = p + 1;
        } else if (p + 1 >= end) {
            buf_append(out, from, (size_t)(end - from));
        }
    }
}

bool json_take(struct json *j, struct buf *out)
{
    const char *from;
    size_t blanks;
    struct str text;

    if (json_peek(j) == KIND_BAD)
        return false;
    from = j->at;
    blanks = j->blanks;
    if (!skip_value(j, from, blanks) || !is_within(j, from, blanks))
        return false;
    text = (struct str){ from, (size_t)(j->at - from) };
    if (j->blanks == blanks)
        buf_str(out, text);
    else
        put_tight(out, text);
    return true;
}

bool json_done(struct json *j)
{
    if (j->bad)
        return false;
    skip_blanks(j);
    return j->at == j->end || json_fail(j, "expected nothing behind the value");
}
