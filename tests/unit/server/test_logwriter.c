/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "server/log.h"

#define RING 4096

static int ends[2]; /* of a pipe: to read, to write */
static struct options options;
static struct log l = { .options = &options };
static struct buf text;

static int setup(void **state)
{
    (void)state;
    options = (struct options){ .log.level = LOG_LEVEL_INFO, .log.format = LOG_FORMAT_TEXT };
    text = (struct buf){ 0 };
    if (pipe(ends) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return -1;
    l.writer = logwriter_new(ends[1], RING);
    return l.writer ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    close(ends[0]);
    buf_fini(&text);
    return 0;
}

/* Reads up to n bytes, if there are any. It must not wait for them: the thread may have written all
 * of its lines, and not have said yet that there is room. */
static bool read_some(size_t n)
{
    char bytes[1000];
    ssize_t got = read(ends[0], bytes, n < sizeof(bytes) ? n : sizeof(bytes));

    if (got > 0)
        buf_append(&text, bytes, (size_t)got);
    return got > 0;
}

/* Ends the writer, and reads the remaining lines. */
static const char *all_lines(void)
{
    bool ended;

    do {
        ended = logwriter_free(l.writer, 1);
        while (read_some(1000))
            continue;
    } while (!ended);
    close(ends[1]);
    buf_append(&text, "", 1);
    return text.ptr;
}

static void lines_come_in_order_and_whole_however_often_the_ring_goes_round(void **state)
{
    char line[64], *at;
    size_t n;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        n = (size_t)snprintf(line, sizeof(line), "line %d %.*s\n", i, i % 40,
                             "........................................");
        while (!logwriter_put(l.writer, (struct str){ line, n }))
            read_some(1);
    }
    all_lines();
    at = text.ptr;
    for (int i = 0; i < 1000; i++) {
        n = (size_t)snprintf(line, sizeof(line), "line %d %.*s\n", i, i % 40,
                             "........................................");
        assert_memory_equal(at, line, n);
        at += n;
    }
    assert_int_equal(*at, '\0');
}

/* The test does not read, so the pipe and then the ring are full. */
static void nobody_waits_for_a_reader_and_lost_lines_are_told(void **state)
{
    unsigned long lost;

    (void)state;
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    for (int i = 0; i < 1000; i++)
        log_info(&l, "some words", "i", "1");
    lost = l.writer->lost;
    assert_true(lost > 700 && lost < 1000);
    do { /* until the thread has made room for a line */
        lost = l.writer->lost;
        read_some(100);
        log_info(&l, "other words", "i", "2");
    } while (l.writer->lost > lost);
    assert_int_equal(l.writer->told, lost);
    assert_non_null(
        strstr(all_lines(), "warn  log lines were lost: nobody read them in time lines="));
    assert_non_null(strstr(text.ptr, "other words i=2\n"));
}

static void the_end_does_not_wait_for_ever(void **state)
{
    struct str line = STR("nobody reads this line\n");

    (void)state;
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    for (size_t n = 0; n < 6000;) /* the pipe takes 4096 of them */
        n += logwriter_put(l.writer, line) ? line.len : 0;
    assert_false(logwriter_free(l.writer, 10));
    all_lines();
}

static void a_text_in_a_line_for_people_cannot_look_like_other_fields(void **state)
{
    struct log_field fields[] = {
        { "client", STR("x user=root address=10.0.0.9:1"), 0 },
        { "word", STR("a-b.c:d/e"), 0 },
        { "empty", STR(""), 0 },
        { "quotes", STR("say \"so\" \\"), 0 },
        { "lines", STR("a\nb\x7f\x1b"), 0 },
        { "wide", STR("\xc3\xa9"), 0 },
        { "bytes", STR("\xff"), 0 },
        { "n", { 0 }, 7 },
    };

    (void)state;
    log_fields(&l, LOG_LEVEL_INFO, "audit", fields, 8);
    log_info(&l, "cannot", "error", "No such file");
    assert_non_null(strstr(all_lines(),
                           " info  audit client=\"x user=root address=10.0.0.9:1\" word=a-b.c:d/e "
                           "empty=\"\" quotes=\"say \\\"so\\\" \\\\\" lines=\"a?b??\" "
                           "wide=\xc3\xa9 bytes=? n=7\n"));
    assert_non_null(strstr(text.ptr, " info  cannot error=\"No such file\"\n"));
}

static void a_text_in_a_line_for_programs_is_json(void **state)
{
    struct log_field fields[] = { { "client", STR("a\"\n\x01\xff"), 0 }, { "n", { 0 }, -1 } };

    (void)state;
    options.log.format = LOG_FORMAT_JSON;
    log_fields(&l, LOG_LEVEL_INFO, "audit", fields, 2);
    assert_non_null(strstr(all_lines(), ",\"level\":\"info\",\"message\":\"audit\",\"client\":"
                                        "\"a\\\"\\n\\u0001?\",\"n\":-1}\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_come_in_order_and_whole_however_often_the_ring_goes_round),
        TEST(nobody_waits_for_a_reader_and_lost_lines_are_told),
        TEST(the_end_does_not_wait_for_ever),
        TEST(a_text_in_a_line_for_people_cannot_look_like_other_fields),
        TEST(a_text_in_a_line_for_programs_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
