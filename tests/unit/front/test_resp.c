/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "front/resp.h"

#define MAX_BULK 1000

/* Reads from a copy of exactly that size, so that ASan sees any byte read beyond it. */
static enum resp_status read_copy(struct resp_request *r, struct str in, char **copy, size_t *used)
{
    *copy = malloc(in.len ? in.len : 1);
    memcpy(*copy, in.ptr, in.len);
    return resp_read_request(r, (struct str){ *copy, in.len }, MAX_BULK, used);
}

/* `words` are joined by '|'. Every proper prefix must ask for more, and ask for no more than there
 * is to come. */
static void assert_request(struct str in, size_t n, struct str words)
{
    struct resp_request r = { 0 };
    struct buf joined = { 0 };
    size_t used = 0;
    char *copy;
    for (size_t cut = 0; cut < in.len; cut++) {
        assert_int_equal(read_copy(&r, (struct str){ in.ptr, cut }, &copy, &used), RESP_MORE);
        assert_true(r.place.need == 0 || (r.place.need > cut && r.place.need <= in.len));
        assert_int_equal(used, 0);
        free(copy);
    }
    assert_int_equal(read_copy(&r, in, &copy, &used), RESP_OK);
    assert_int_equal(used, in.len);
    assert_int_equal(r.n, n);
    for (size_t i = 0; i < r.n; i++) {
        buf_text(&joined, i ? "|" : "");
        buf_str(&joined, r.args[i]);
    }
    if (!str_eq(buf_view(&joined), words))
        fail_msg("%.*s is not %.*s", STR_ARG(buf_view(&joined)), STR_ARG(words));
    free(copy);
    buf_fini(&joined);
    resp_request_fini(&r);
}

/* Bad at some prefix, and never good before. */
static void assert_bad(struct str in, const char *hint)
{
    struct resp_request r = { 0 };
    enum resp_status status = RESP_MORE;
    size_t used = 0;
    char *copy;
    for (size_t cut = 0; cut <= in.len && status == RESP_MORE; cut++) {
        status = read_copy(&r, (struct str){ in.ptr, cut }, &copy, &used);
        free(copy);
    }
    if (status != RESP_BAD)
        fail_msg("%.*s is not bad", STR_ARG(in));
    assert_int_equal(r.n, 0);
    if (!strstr(r.why, hint))
        fail_msg("%.*s: \"%s\" does not mention \"%s\"", STR_ARG(in), r.why, hint);
    resp_request_fini(&r);
}

static void arrays_of_bulk_strings_are_read_from_any_split(void **state)
{
    (void)state;
    assert_request(STR("*1\r\n$4\r\nPING\r\n"), 1, STR("PING"));
    assert_request(STR("*3\r\n$3\r\nGET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n"), 3, STR("GET||a\r\nb"));
    assert_request(STR("*1\r\n$3\r\na\0b\r\n"), 1, STR("a\0b"));
    assert_request(STR("*0000000001\r\n$01\r\nx\r\n"), 1, STR("x"));
}

static void nothing_is_an_empty_request(void **state)
{
    (void)state;
    assert_request(STR("*0\r\n"), 0, STR(""));
    assert_request(STR("*-1\r\n"), 0, STR(""));
    assert_request(STR("\r\n"), 0, STR(""));
    assert_request(STR("\n"), 0, STR(""));
    assert_request(STR("  \t \r\n"), 0, STR(""));
}

static void pipelined_requests_are_read_one_after_another(void **state)
{
    static const char stream[] = "*2\r\n$1\r\na\r\n$2\r\nbb\r\n"
                                 "PING\r\n*0\r\n\r\n*1\r\n$1\r\nz\r\nQUIT now\n";
    static const size_t counts[] = { 2, 1, 0, 0, 1, 2 };
    struct resp_request r = { 0 };
    struct str in = STR(stream);
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        size_t used;
        assert_int_equal(resp_read_request(&r, in, MAX_BULK, &used), RESP_OK);
        assert_int_equal(r.n, counts[i]);
        in = (struct str){ in.ptr + used, in.len - used };
    }
    assert_int_equal(in.len, 0);
    resp_request_fini(&r);
}

static void malformed_arrays_are_bad(void **state)
{
    (void)state;
    assert_bad(STR("*-2\r\n"), "count");
    assert_bad(STR("*-0\r\n"), "count");
    assert_bad(STR("*-\r\n"), "count");
    assert_bad(STR("*\r\n"), "count");
    assert_bad(STR("*a\r\n"), "count");
    assert_bad(STR("*+1\r\n"), "count");
    assert_bad(STR("* 1\r\n"), "count");
    assert_bad(STR("*1\n"), "count");
    assert_bad(STR("*1\rx"), "count");
    assert_bad(STR("*16385\r\n"), "too many");
    assert_bad(STR("*4294967297\r\n"), "too many");
    assert_bad(STR("*99999999999999999999\r\n"), "count");
    assert_bad(STR("*1\r\n:1\r\n"), "expected $");
    assert_bad(STR("*1\r\n\r\n"), "expected $");
    assert_bad(STR("*1\r\n$\r\n"), "length");
    assert_bad(STR("*1\r\n$-1\r\n"), "length");
    assert_bad(STR("*1\r\n$1x\r\n"), "length");
    assert_bad(STR("*1\r\n$1\n"), "length");
    assert_bad(STR("*1\r\n$18446744073709551615\r\n"), "length");
    assert_bad(STR("*1\r\n$9999999999\r\n"), "limit");
    assert_bad(STR("*1\r\n$1\r\nab\r\n"), "as announced");
    assert_bad(STR("*1\r\n$1\r\na\n\n"), "as announced");
    assert_bad(STR("*1\r\n$1\r\na\rb"), "as announced");
}

static void a_large_argument_is_refused_by_its_length_alone(void **state)
{
    struct resp_request r = { 0 };
    size_t used;
    (void)state;
    assert_int_equal(resp_read_request(&r, STR("*1\r\n$1001\r\n"), MAX_BULK, &used), RESP_BAD);
    assert_non_null(strstr(r.why, "limit"));
    assert_int_equal(resp_read_request(&r, STR("*1\r\n$1000\r\n"), MAX_BULK, &used), RESP_MORE);
    resp_request_fini(&r);
}

static void the_place_says_how_much_is_needed_for_a_large_argument(void **state)
{
    struct resp_request r = { 0 };
    size_t used;
    (void)state;
    assert_int_equal(resp_read_request(&r, STR("*2\r\n$500\r\n"), MAX_BULK, &used), RESP_MORE);
    assert_int_equal(r.place.need, 10 + 500 + 2);
    assert_int_equal(resp_read_request(&r, STR("*2\r\n$3\r\nabc\r\n$9\r\nx"), MAX_BULK, &used),
                     RESP_MORE);
    assert_int_equal(r.place.need, 17 + 9 + 2);
    assert_int_equal(resp_read_request(&r, STR("*2\r\n$3"), MAX_BULK, &used), RESP_MORE);
    assert_int_equal(r.place.need, 0);
    resp_request_fini(&r);
}

/* The bytes before the place are spoilt, but for the first, which tells the kind of request. */
static void assert_looked_at_once(struct str in)
{
    struct resp_request r = { 0 };
    size_t used, cut;
    char *copy = malloc(in.len);

    memcpy(copy, in.ptr, in.len);
    for (cut = 1; cut < in.len; cut++) {
        struct str some = { copy, cut };
        struct resp_place place = r.place;

        if (cut > 1 && (copy[0] != '*' || place.left)) {
            assert_false(resp_look_on(&place, some, MAX_BULK));
            assert_true(place.at >= r.place.at && place.at <= cut);
            r.place = place;
        } else {
            assert_int_equal(resp_read_request(&r, some, MAX_BULK, &used), RESP_MORE);
        }
        if (r.place.at > 1)
            memset(copy + 1, '?', r.place.at - 1);
    }
    assert_true(resp_look_on(&r.place, (struct str){ copy, in.len }, MAX_BULK));
    free(copy);
    resp_request_fini(&r);
}

static void a_request_in_pieces_is_looked_at_once(void **state)
{
    struct resp_request r = { 0 };
    struct resp_place place;
    size_t used;

    (void)state;
    assert_looked_at_once(STR("*3\r\n$3\r\nabc\r\n$0\r\n\r\n$12\r\nabcdefghijkl\r\n"));
    assert_looked_at_once(STR("SCHEDULE q 'a b' IN 1h\r\n"));
    /* What is bad is left to resp_read_request. */
    assert_int_equal(resp_read_request(&r, STR("*2\r\n$1\r\na\r\n"), MAX_BULK, &used), RESP_MORE);
    place = r.place;
    assert_true(resp_look_on(&place, STR("*2\r\n$1\r\na\r\n:"), MAX_BULK));
    place = r.place;
    assert_true(resp_look_on(&place, STR("*2\r\n$1\r\na\r\n$1001\r\n"), MAX_BULK));
    resp_request_fini(&r);
}

static void as_many_arguments_as_allowed_are_read(void **state)
{
    struct resp_request r = { 0 };
    struct buf b = { 0 };
    size_t used;
    (void)state;
    resp_array(&b, RESP_ARGS_MAX);
    for (int i = 0; i < RESP_ARGS_MAX; i++)
        resp_bulk(&b, STR("x"));
    assert_int_equal(resp_read_request(&r, buf_view(&b), MAX_BULK, &used), RESP_OK);
    assert_int_equal(r.n, RESP_ARGS_MAX);
    assert_int_equal(used, b.len);
    b.len = 0;
    for (int i = 0; i < RESP_ARGS_MAX; i++)
        buf_text(&b, "y ");
    buf_text(&b, "\n");
    assert_int_equal(resp_read_request(&r, buf_view(&b), MAX_BULK, &used), RESP_OK);
    assert_int_equal(r.n, RESP_ARGS_MAX);
    buf_consume(&b, 0);
    b.len--;
    buf_text(&b, "y\n");
    assert_int_equal(resp_read_request(&r, buf_view(&b), MAX_BULK, &used), RESP_BAD);
    buf_fini(&b);
    resp_request_fini(&r);
}

static void inline_words_are_unquoted(void **state)
{
    (void)state;
    assert_request(STR("PING\r\n"), 1, STR("PING"));
    assert_request(STR("  SCHEDULE \t q   x \n"), 3, STR("SCHEDULE|q|x"));
    assert_request(STR("a \"b c\" 'd e'\r\n"), 3, STR("a|b c|d e"));
    assert_request(STR("\"\" ''\r\n"), 2, STR("|"));
    assert_request(STR("\"\\n\\r\\t\\b\\a\\\\\\\"\\x41\\xfF\\q\"\n"), 1,
                   STR("\n\r\t\b\a\\\"A\xffq"));
    assert_request(STR("'it\\'s \\n \"x\"'\n"), 1, STR("it's \\n \"x\""));
    assert_request(STR("\"\\x4\" \"\\xg1\" \"\\x\"\n"), 3, STR("x4|xg1|x"));
    assert_request(STR("k\"v w\" z\n"), 2, STR("kv w|z"));
    assert_request(STR("a\\nb $5 +x\n"), 3, STR("a\\nb|$5|+x"));
}

static void unbalanced_quotes_are_bad(void **state)
{
    (void)state;
    assert_bad(STR("a \"b\r\n"), "unbalanced");
    assert_bad(STR("a 'b\n"), "unbalanced");
    assert_bad(STR("\"a\"b\n"), "unbalanced");
    assert_bad(STR("'a''b'\n"), "unbalanced");
    assert_bad(STR("\"a\\\"\n"), "unbalanced");
    assert_bad(STR("\"a\\\n"), "unbalanced");
    assert_bad(STR("'a\\\n"), "unbalanced");
}

static void an_inline_line_has_a_limit(void **state)
{
    struct resp_request r = { 0 };
    char *line = malloc(RESP_INLINE_MAX);
    size_t used;
    (void)state;
    memset(line, 'x', RESP_INLINE_MAX);
    struct str in = { line, RESP_INLINE_MAX - 1 };
    assert_int_equal(resp_read_request(&r, in, MAX_BULK, &used), RESP_MORE);
    in.len++;
    assert_int_equal(resp_read_request(&r, in, MAX_BULK, &used), RESP_BAD);
    assert_non_null(strstr(r.why, "64 KiB"));
    line[RESP_INLINE_MAX - 1] = '\n';
    assert_int_equal(resp_read_request(&r, in, MAX_BULK, &used), RESP_OK);
    assert_int_equal(r.args[0].len, RESP_INLINE_MAX - 1);
    free(line);
    resp_request_fini(&r);
}

static void writers_differ_by_protocol_where_they_must(void **state)
{
    struct buf b = { 0 };
    struct resp_reply r = resp_reply_of(&b, 2);
    (void)state;
    reply_status(&r.base, "OK");
    r.base.ops->error(&r.base, "STALE", STR("a\r\nb"));
    reply_integer(&r.base, INT64_MIN);
    reply_bytes(&r.base, STR("x\0y"));
    reply_bytes(&r.base, (struct str){ NULL, 0 });
    reply_array(&r.base, 2);
    assert_true(str_eq(buf_view(&b), STR("+OK\r\n-STALE a  b\r\n:-9223372036854775808\r\n"
                                         "$3\r\nx\0y\r\n$0\r\n\r\n*2\r\n")));
    for (int proto = 2; proto <= 3; proto++) {
        b.len = 0;
        r.proto = proto;
        reply_null(&r.base);
        reply_boolean(&r.base, true);
        reply_boolean(&r.base, false);
        reply_map(&r.base, 3);
        assert_true(str_eq(buf_view(&b), proto == 2 ? STR("$-1\r\n:1\r\n:0\r\n*6\r\n")
                                                    : STR("_\r\n#t\r\n#f\r\n%3\r\n")));
    }
    buf_fini(&b);
}

static void a_text_of_any_length_is_written_whole(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char expected[sizeof(letters) + 16];

    (void)state;
    for (size_t n = 0; n < sizeof(letters); n++) {
        struct buf names = { 0 }, texts = { 0 };
        struct resp_reply name = resp_reply_of(&names, 2), text = resp_reply_of(&texts, 2);
        struct str s = { letters, n }, line;

        line = (struct str){ expected, (size_t)snprintf(expected, sizeof(expected),
                                                        "$%zu\r\n%.*s\r\n", n, STR_ARG(s)) };
        for (int i = 0; i < 2; i++) { /* into no room, and into room */
            names.len = texts.len = 0;
            reply_name(&name.base, s);
            reply_bytes(&text.base, s);
            assert_true(str_eq(buf_view(&names), line));
            assert_true(str_eq(buf_view(&texts), line));
            buf_reserve(&names, 100);
        }
        buf_fini(&names);
        buf_fini(&texts);
    }
}

/* Writes values as one line each, children in brackets. */
static uint32_t show(struct buf *out, const struct resp_values *v, uint32_t i)
{
    static const char *const names[] = { "simple", "error",  "int",   "bulk", "null",
                                         "bool",   "double", "array", "map" };
    const struct resp_value *node = &v->at[i];
    buf_printf(out, "%s", names[node->type]);
    if (node->type == RESP_INT || node->type == RESP_BOOL)
        buf_printf(out, " %jd", (intmax_t)node->number);
    else if (node->type < RESP_NULL || node->type == RESP_DOUBLE)
        buf_printf(out, " %.*s", STR_ARG(node->text));
    uint32_t next = i + 1;
    if (node->type >= RESP_ARRAY) {
        buf_text(out, "(");
        for (uint32_t k = 0; k < node->children; k++) {
            buf_text(out, k ? ", " : "");
            next = show(out, v, next);
        }
        buf_text(out, ")");
    }
    assert_int_equal(next, node->next);
    return next;
}

static void assert_value(struct str in, const char *expected)
{
    struct resp_values v = { 0 };
    struct buf shown = { 0 };
    size_t used = 0;
    for (size_t cut = 0; cut <= in.len; cut++) {
        char *copy = malloc(cut + 1);
        memcpy(copy, in.ptr, cut);
        enum resp_status status = resp_read_value(&v, (struct str){ copy, cut }, &used);
        assert_int_equal(status, cut < in.len ? RESP_MORE : RESP_OK);
        if (status == RESP_OK) {
            assert_int_equal(show(&shown, &v, 0), v.n);
            buf_append(&shown, "", 1);
            assert_string_equal(shown.ptr, expected);
        }
        free(copy);
    }
    assert_int_equal(used, in.len);
    buf_fini(&shown);
    resp_values_fini(&v);
}

static void values_of_every_type_are_read_from_any_split(void **state)
{
    (void)state;
    assert_value(STR("+OK\r\n"), "simple OK");
    assert_value(STR("+\r\n"), "simple ");
    assert_value(STR("-STALE no\r\n"), "error STALE no");
    assert_value(STR(":-9223372036854775808\r\n"), "int -9223372036854775808");
    assert_value(STR(":9223372036854775807\r\n"), "int 9223372036854775807");
    assert_value(STR("$5\r\na\r\nbc\r\n"), "bulk a\r\nbc");
    assert_value(STR("$-1\r\n"), "null");
    assert_value(STR("*-1\r\n"), "null");
    assert_value(STR("_\r\n"), "null");
    assert_value(STR("#t\r\n"), "bool 1");
    assert_value(STR("#f\r\n"), "bool 0");
    assert_value(STR(",-1.5e3\r\n"), "double -1.5e3");
    assert_value(STR(",inf\r\n"), "double inf");
    assert_value(STR("(-123456789012345678901234567890\r\n"),
                 "bulk -123456789012345678901234567890");
    assert_value(STR("!5\r\nSOME \r\n"), "error SOME ");
    assert_value(STR("=7\r\ntxt:abc\r\n"), "bulk abc");
    assert_value(STR("*0\r\n"), "array()");
    assert_value(STR("*3\r\n:1\r\n*2\r\n+a\r\n$1\r\nb\r\n_\r\n"),
                 "array(int 1, array(simple a, bulk b), null)");
    assert_value(STR("%2\r\n+k\r\n:1\r\n+l\r\n*1\r\n%0\r\n"),
                 "map(simple k, int 1, simple l, array(map()))");
    assert_value(STR("~1\r\n:1\r\n"), "array(int 1)");
    assert_value(STR(">2\r\n+a\r\n+b\r\n"), "array(simple a, simple b)");
}

static void malformed_values_are_bad(void **state)
{
    static const struct str rows[] = {
        STR("x\r\n"),
        STR("\0\r\n"),
        STR("+a\nb\r\n"),
        STR("+a\rb\r\n"),
        STR(":\r\n"),
        STR(":1x\r\n"),
        STR(":-\r\n"),
        STR(":9223372036854775808\r\n"),
        STR(":-9223372036854775809\r\n"),
        STR("$-2\r\n"),
        STR("$x\r\n"),
        STR("$1\r\nab\r\n"),
        STR("$99999999999\r\n"),
        STR("*-2\r\n"),
        STR("*99999999\r\n"),
        STR("%-1\r\n"),
        STR("#x\r\n"),
        STR("#\r\n"),
        STR("_x\r\n"),
        STR(",\r\n"),
        STR(",1x\r\n"),
        STR("(\r\n"),
        STR("(1.5\r\n"),
        STR("=3\r\ntxt\r\n"),
        STR("=4\r\ntxt;\r\n"),
        STR("$?\r\n"),
        STR("|1\r\n"),
        STR("*1\r\n*1\r\n?"),
    };
    struct resp_values v = { 0 };
    size_t used;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (resp_read_value(&v, rows[i], &used) != RESP_BAD)
            fail_msg("%.*s is not bad", STR_ARG(rows[i]));
        assert_non_null(v.why);
    }
    resp_values_fini(&v);
}

static void values_may_be_nested_32_deep_and_no_deeper(void **state)
{
    struct resp_values v = { 0 };
    struct buf b = { 0 };
    size_t used;
    (void)state;
    for (int i = 0; i < 31; i++)
        buf_text(&b, "*1\r\n");
    buf_text(&b, "_\r\n");
    assert_int_equal(resp_read_value(&v, buf_view(&b), &used), RESP_OK);
    b.len -= 3;
    buf_text(&b, "*1\r\n_\r\n");
    assert_int_equal(resp_read_value(&v, buf_view(&b), &used), RESP_BAD);
    assert_non_null(strstr(v.why, "deep"));
    buf_fini(&b);
    resp_values_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_bulk_strings_are_read_from_any_split),
        cmocka_unit_test(nothing_is_an_empty_request),
        cmocka_unit_test(pipelined_requests_are_read_one_after_another),
        cmocka_unit_test(malformed_arrays_are_bad),
        cmocka_unit_test(a_large_argument_is_refused_by_its_length_alone),
        cmocka_unit_test(the_place_says_how_much_is_needed_for_a_large_argument),
        cmocka_unit_test(a_request_in_pieces_is_looked_at_once),
        cmocka_unit_test(as_many_arguments_as_allowed_are_read),
        cmocka_unit_test(inline_words_are_unquoted),
        cmocka_unit_test(unbalanced_quotes_are_bad),
        cmocka_unit_test(an_inline_line_has_a_limit),
        cmocka_unit_test(writers_differ_by_protocol_where_they_must),
        cmocka_unit_test(a_text_of_any_length_is_written_whole),
        cmocka_unit_test(values_of_every_type_are_read_from_any_split),
        cmocka_unit_test(malformed_values_are_bad),
        cmocka_unit_test(values_may_be_nested_32_deep_and_no_deeper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
