/* SPDX-License-Identifier: MIT */
#include "record/errorgroup.h"

#include <string.h>

#include "base/utf8.h"
#include "record/limits.h"

#define UUID_TEXT 36
#define ID_TEXT   26 /* a job's id, in base 32 */
#define HEX_LEAST 8

struct pattern {
    char *to;
    size_t len;
    bool full;
};

static void put(struct pattern *p, struct str s)
{
    size_t room = ERROR_GROUP_MAX - p->len;

    p->full = p->full || s.len > room;
    s.len = s.len < room ? s.len : room;
    memcpy(p->to + p->len, s.ptr, s.len);
    p->len += s.len;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_letter(c);
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_upper(char c)
{
    return is_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The length of the beginning whose characters are of a kind. */
static size_t span(struct str s, bool (*is)(char c))
{
    size_t n = 0;

    while (n < s.len && is(s.ptr[n]))
        n++;
    return n;
}

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_digit(s.ptr[i]))
            return true;
    return false;
}

static bool is_uuid(struct str s)
{
    if (s.len < UUID_TEXT || (s.len > UUID_TEXT && is_alnum(s.ptr[UUID_TEXT])))
        return false;
    for (size_t i = 0; i < UUID_TEXT; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? s.ptr[i] != '-' : !is_hex(s.ptr[i]))
            return false;
    return true;
}

/* Whether a word, which is letters and digits, is an id. */
static bool is_id(struct str word)
{
    if (word.len > 2 && word.ptr[0] == '0' && (word.ptr[1] == 'x' || word.ptr[1] == 'X'))
        return span((struct str){ word.ptr + 2, word.len - 2 }, is_hex) == word.len - 2;
    if (word.len == ID_TEXT && span(word, is_upper) == word.len && has_digit(word))
        return true;
    return word.len >= HEX_LEAST && span(word, is_hex) == word.len &&
           span(word, is_digit) < word.len && has_digit(word);
}

/* Writes a word with <n> in place of its digits. */
static void put_word(struct pattern *p, struct str word)
{
    while (word.len > 0) {
        size_t digits = span(word, is_digit), letters;

        if (digits > 0)
            put(p, STR("<n>"));
        word = (struct str){ word.ptr + digits, word.len - digits };
        letters = span(word, is_letter);
        put(p, (struct str){ word.ptr, letters });
        word = (struct str){ word.ptr + letters, word.len - letters };
    }
}

/* The length of a text in quotes that begins here, with its quotes; 0: none does. */
static size_t quoted(struct str s)
{
    const char *end;

    if (s.ptr[0] != '"' && s.ptr[0] != '\'' && s.ptr[0] != '`')
        return 0;
    end = memchr(s.ptr + 1, s.ptr[0], s.len - 1);
    return end ? (size_t)(end - s.ptr) + 1 : 0;
}

/* Writes one character, and ? in place of what is none. */
static size_t put_character(struct pattern *p, struct str s)
{
    uint32_t code;
    size_t n = utf8_decode(s, &code);

    if (n > ERROR_GROUP_MAX - p->len)
        p->full = true; /* no character is cut */
    else if (n == 0 || code < ' ' || code == 0x7f)
        put(p, STR("?"));
    else
        put(p, (struct str){ s.ptr, n });
    return n > 0 ? n : 1;
}

/* Writes what stands at the beginning of the text, and returns its length. `inside` says whether it
 * stands directly behind a letter or a digit, where an apostrophe is no quote. */
static size_t put_next(struct pattern *p, struct str s, bool inside)
{
    size_t n = is_uuid(s) ? UUID_TEXT : 0;

    if (n > 0) {
        put(p, STR("<id>"));
    } else if ((n = span(s, is_alnum)) > 0) {
        if (is_id((struct str){ s.ptr, n }))
            put(p, STR("<id>"));
        else
            put_word(p, (struct str){ s.ptr, n });
    } else if ((n = span(s, is_space)) > 0) {
        put(p, STR(" "));
    } else if (!inside && (n = quoted(s)) > 0) {
        put(p, STR("\"...\""));
    } else {
        n = put_character(p, s);
    }
    return n;
}

/* The first line that is more than white space, without white space around it. A line that goes on
 * behind the head is cut there: a request looks at the errors of thousands of jobs. */
static struct str first_line(struct str s)
{
    s.len = s.len < ERROR_HEAD_BYTES ? s.len : ERROR_HEAD_BYTES;
    while (s.len > 0 && (is_space(s.ptr[0]) || s.ptr[0] == '\n' || s.ptr[0] == '\r'))
        s = (struct str){ s.ptr + 1, s.len - 1 };
    const char *end = s.len > 0 ? memchr(s.ptr, '\n', s.len) : NULL;
    if (end)
        s.len = (size_t)(end - s.ptr);
    while (s.len > 0 && (is_space(s.ptr[s.len - 1]) || s.ptr[s.len - 1] == '\r'))
        s.len--;
    return s;
}

struct str error_group(struct str error, char buf[ERROR_GROUP_MAX])
{
    struct pattern p = { .to = buf };
    struct str left = first_line(error);
    bool inside = false;

    if (left.len == 0)
        return STR(ERROR_GROUP_NONE);
    while (left.len > 0 && !p.full) {
        size_t n = put_next(&p, left, inside);

        inside = is_alnum(left.ptr[n - 1]);
        left = (struct str){ left.ptr + n, left.len - n };
    }
    return (struct str){ buf, p.len };
}
