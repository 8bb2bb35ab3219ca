/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/command.h"
#include "cli/help.h"
#include "base/suggest.h"
#include "front/resp.h"

/* A row with every kind of argument, so that the real table may change. */
static const struct verb rows[] = {
    { "PUT",
      0,
      "Puts.",
      "OK",
      "PUT q \"a b\" IN 10m RETAIN_DEAD 1d",
      NULL,
      { { "queue", ARG_NAME, .positional = true, .help = "" },
        { "payload", ARG_PAYLOAD, .positional = true, .help = "" },
        { "in", ARG_DURATION, .max = 1000000, .help = "" },
        { "priority", ARG_INT, .min = 1, .max = 5, .help = "" },
        { "retain_dead", ARG_DURATION, .max = 100000000, .help = "" },
        { "ifexists", ARG_WORD, .words = "keep|replace", .help = "" } } },
    { "DROP",
      0,
      "Drops.",
      "OK",
      "DROP KEY k QUEUE q",
      NULL,
      { { "id", ARG_ID, .positional = true, .optional = true, .help = "" },
        { "key", ARG_KEY, .help = "" },
        { "queue", ARG_NAME, .help = "" } } },
    { "SHOW",
      0,
      "Shows.",
      "pages",
      "SHOW LIMIT 5",
      NULL,
      { { "limit", ARG_INT, .min = 1, .max = 10, .help = "" },
        { "cursor", ARG_CURSOR, .help = "" } } },
    { 0 },
};

enum { PUT, DROP, SHOW };

struct parsed {
    struct command c;
    struct cli cli;
    int err;
    char line[512]; /* the words with | between */
};

/* Arguments are split at blanks and kept until the next call. */
static struct parsed *parse(int row, const char *arguments)
{
    static struct parsed p;
    static char text[512], *argv[32];
    int argc = 0;
    command_fini(&p.c);
    p = (struct parsed){ 0 };
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    p.err = command_parse(&p.c, &p.cli, &rows[row], argc, argv);
    for (size_t i = 0; i < p.c.n; i++)
        snprintf(p.line + strlen(p.line), sizeof p.line - strlen(p.line), "%s%.*s", i ? "|" : "",
                 STR_ARG(p.c.words[i]));
    return &p;
}

static void assert_words(int row, const char *arguments, const char *expected)
{
    struct parsed *p = parse(row, arguments);
    assert_string_equal(p->c.why, "");
    assert_int_equal(p->err, 0);
    assert_string_equal(p->line, expected);
}

static void assert_refused(int row, const char *arguments, const char *why)
{
    struct parsed *p = parse(row, arguments);
    assert_true(p->err < 0);
    assert_string_equal(p->c.why, why);
}

static void arguments_by_position_become_words(void **state)
{
    (void)state;
    assert_words(PUT, "q hi", "PUT|q|hi");
    assert_words(PUT, "q hi --in 2s", "PUT|q|hi|in|2s");
    assert_words(PUT, "--in 2s q --priority 1 hi", "PUT|q|hi|in|2s|priority|1");
}

static void arguments_by_name_take_their_positions(void **state)
{
    (void)state;
    assert_words(PUT, "--payload hi --queue q", "PUT|q|hi");
    assert_words(PUT, "hi --queue q", "PUT|q|hi");
    assert_words(PUT, "q --payload hi --in 2s", "PUT|q|hi|in|2s");
    assert_words(PUT, "q --payload --queue", "PUT|q|--queue"); /* a value may look like anything */
}

static void names_and_values_may_be_one_argument(void **state)
{
    (void)state;
    assert_words(PUT, "q hi --in=2s --priority=", "PUT|q|hi|in|2s|priority|");
    assert_words(PUT, "q --payload=a=b", "PUT|q|a=b");
}

static void dashes_and_underscores_are_the_same_in_names(void **state)
{
    (void)state;
    assert_words(PUT, "q hi --retain-dead 1d", "PUT|q|hi|retain_dead|1d");
    assert_words(PUT, "q hi --retain_dead 1d", "PUT|q|hi|retain_dead|1d");
    assert_words(PUT, "q hi --Retain-Dead 1d", "PUT|q|hi|retain_dead|1d");
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_words(PUT, "q -- --in", "PUT|q|--in");
    assert_words(PUT, "-- q -h", "PUT|q|-h");
}

static void an_optional_position_may_be_left_out(void **state)
{
    (void)state;
    assert_words(DROP, "--key k --queue q", "DROP|key|k|queue|q");
    assert_words(DROP, "01M7GJ040V0000000000000003", "DROP|01M7GJ040V0000000000000003");
    assert_words(DROP, "", "DROP");
}

static void a_part_of_an_id_is_kept_beside_its_word(void **state)
{
    struct parsed *p = parse(DROP, "8k3");
    (void)state;
    assert_string_equal(p->line, "DROP|00000000000000000000000000");
    assert_true(str_eq(p->c.parts[1], STR("8k3")));
    assert_false(p->c.odd_id);
    p = parse(DROP, "--key 8k3 --queue 8k3");
    assert_string_equal(p->line, "DROP|key|8k3|queue|8k3");
    assert_int_equal(p->c.parts[2].len + p->c.parts[4].len, 0);
    assert_string_equal(parse(DROP, "8k")->line, "DROP|8k"); /* too short to be a part */
    assert_true(parse(DROP, "8k")->c.odd_id);
    assert_string_equal(parse(DROP, "user-7")->line, "DROP|user-7");
}

static void global_options_go_to_the_command_line_itself(void **state)
{
    struct parsed *p = parse(PUT, "q hi --json --port 7 --host=h --in 2s");
    (void)state;
    assert_string_equal(p->line, "PUT|q|hi|in|2s");
    assert_true(p->cli.json);
    assert_string_equal(p->cli.port, "7");
    assert_string_equal(p->cli.host, "h");
    assert_true(parse(PUT, "-h")->cli.help);
    assert_true(parse(PUT, "--help")->cli.help);
    assert_false(parse(PUT, "q --payload --help")->cli.help);
}

static void verbs_with_cursors_take_all(void **state)
{
    (void)state;
    assert_true(parse(SHOW, "--all --limit 5")->c.all);
    assert_string_equal(parse(SHOW, "--all --limit 5")->line, "SHOW|limit|5");
    assert_refused(PUT, "q hi --all", "unknown option --all");
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    assert_refused(PUT, "", "no queue given");
    assert_refused(PUT, "q hi more", "unexpected argument 'more'");
    assert_refused(PUT, "q hi --queue r --queue s", "--queue is given twice");
    assert_refused(PUT, "q hi --in", "--in needs a value (DURATION)");
    assert_refused(PUT, "q hi --json=yes", "--json takes no value");
    assert_refused(PUT, "q hi --priorty 1", "unknown option --priorty; did you mean --priority?");
    assert_refused(PUT, "q hi --retain-daed 1",
                   "unknown option --retain-daed; did you mean --retain-dead?");
    assert_refused(PUT, "q hi --hots h", "unknown option --hots; did you mean --host?");
    assert_refused(PUT, "q hi -x", "unknown option -x");
}

static void the_word_help_alone_is_no_name(void **state)
{
    (void)state;
    assert_refused(PUT, "help",
                   "help is shown by `belfry help put`; a queue called help is --queue help");
    assert_words(PUT, "--queue help", "PUT|help|");
    assert_words(PUT, "help x", "PUT|help|x");
}

static void assert_address(const char *arguments, const char *host, const char *port, bool tls)
{
    struct parsed *p = parse(PUT, arguments);
    assert_string_equal(p->c.why, "");
    assert_string_equal(p->cli.host, host);
    assert_string_equal(p->cli.port, port);
    assert_int_equal(p->cli.tls, tls);
}

static void a_server_is_named_by_host_and_port_or_by_a_url(void **state)
{
    (void)state;
    assert_address("q --port 1 --host h", "h", "1", false);
    assert_address("q --host h:7", "h", "7", false);
    assert_address("q --host [::1]:7", "::1", "7", false);
    assert_address("q --port 7 --host ::1", "::1", "7", false);
    assert_address("q --url belfry://h:7", "h", "7", false);
    assert_address("q --url belfrys://[::1]:7/", "::1", "7", true);
    assert_address("q --url https://h:7", "h", "7", true);
    assert_refused(PUT, "q --port abc", "'abc' is not a port: expected a number from 1 to 65535");
    assert_refused(PUT, "q --host h:70000",
                   "'h:70000': expected a port from 1 to 65535 behind the host");
    assert_refused(PUT, "q --host [::1", "'[::1': the closing ] is missing");
    assert_refused(PUT, "q --url h:7", "expected belfry://HOST:PORT, or belfrys:// for TLS");
    assert_refused(PUT, "q --url belfry://h:7/x", "expected nothing behind the port");
    assert_refused(PUT, "q --url belfry://a.b@h",
                   "a token does not belong on a command line, which others can see: use "
                   "--auth-file or $BELFRY_URL");
}

static void words_are_checked_as_the_server_does(void **state)
{
    struct parsed *p = parse(PUT, "q hi --priority 9");
    (void)state;
    assert_int_equal(command_check(&p->c), BELFRY_INVALID);
    assert_string_equal(p->c.why, "priority: expected 1 to 5");
    p = parse(PUT, "q hi --ifexists perhaps");
    assert_int_equal(command_check(&p->c), BELFRY_INVALID);
    p = parse(PUT, "q hi --in 2s --ifexists replace");
    assert_int_equal(command_check(&p->c), 0);
}

/* With a file in place of standard input. */
static void with_input(const char *bytes, void (*test)(void))
{
    FILE *f = tmpfile();
    int before = dup(STDIN_FILENO);
    fputs(bytes, f);
    rewind(f);
    dup2(fileno(f), STDIN_FILENO);
    test();
    dup2(before, STDIN_FILENO);
    close(before);
    fclose(f);
}

static void left_out(void)
{
    assert_words(PUT, "q --in 2s", "PUT|q||in|2s"); /* empty: a loop of a shell keeps its input */
}

static void dash(void)
{
    assert_words(PUT, "q -", "PUT|q|from input");
}

static void dash_by_name(void)
{
    assert_words(PUT, "--payload - q", "PUT|q|from input");
}

static void a_payload_is_read_from_standard_input(void **state)
{
    (void)state;
    with_input("from input", left_out);
    with_input("from input", dash);
    with_input("from input", dash_by_name);
}

static void a_payload_by_name_is_read_from_a_file(void **state)
{
    char path[] = "/tmp/test_command.XXXXXX", arguments[64];
    int fd = mkstemp(path);
    (void)state;
    assert_int_equal(write(fd, "a\0b", 3), 3);
    close(fd);
    snprintf(arguments, sizeof arguments, "q --payload @%s", path);
    struct parsed *p = parse(PUT, arguments);
    assert_int_equal(p->err, 0);
    assert_int_equal(p->c.words[2].len, 3);
    assert_memory_equal(p->c.words[2].ptr, "a\0b", 3);
    unlink(path);
    assert_true(parse(PUT, arguments)->err < 0);
    assert_words(PUT, "q @plain", "PUT|q|@plain"); /* by position it is what it says */
}

static void examples_are_shown_as_one_would_type_them(void **state)
{
    struct buf out = { 0 };
    (void)state;
    help_example(&rows[PUT], &out);
    buf_text(&out, "\n");
    help_example(&rows[DROP], &out);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, "belfry put q 'a b' --in 10m --retain-dead 1d\n"
                                 "belfry drop --key k --queue q");
    buf_fini(&out);
}

/* Splits a shown example as a shell would: at blanks, but not inside quotes. */
static int split(char *text, char **argv)
{
    int argc = 0;
    while (*text) {
        bool quoted = *text == '\'';
        char *start = text + quoted;
        char *end = start + strcspn(start, quoted ? "'" : " ");
        argv[argc++] = start;
        text = end + (*end != 0);
        text += quoted && *text == ' ';
        *end = 0;
    }
    return argc;
}

static void every_example_of_the_table_becomes_the_same_request(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++) {
        struct buf line = { 0 }, shown = { 0 };
        struct resp_request expected = { 0 };
        struct command c;
        struct cli cli = { 0 };
        char *argv[32];
        size_t used;
        buf_printf(&line, "%s\r\n", v->example);
        assert_int_equal(resp_read_request(&expected, buf_view(&line), SIZE_MAX, &used), RESP_OK);
        help_example(v, &shown);
        buf_append(&shown, "", 1);
        int argc = split(shown.ptr, argv);
        assert_int_equal(command_parse(&c, &cli, v, argc - 2, argv + 2), 0);
        assert_int_equal(c.n, expected.n);
        for (size_t i = 0; i < c.n; i++) {
            assert_int_equal(c.words[i].len, expected.args[i].len);
            assert_int_equal(strncasecmp(c.words[i].ptr, expected.args[i].ptr, c.words[i].len), 0);
        }
        command_fini(&c);
        resp_request_fini(&expected);
        buf_fini(&line);
        buf_fini(&shown);
    }
}

static void the_nearest_name_is_suggested(void **state)
{
    struct suggest s = { .given = STR("shcedule") };
    (void)state;
    suggest_offer(&s, "LEASE");
    suggest_offer(&s, "SCHEDULE");
    suggest_offer(&s, "RESCHEDULE");
    assert_string_equal(s.best, "SCHEDULE");
    s = (struct suggest){ .given = STR("comp") };
    suggest_offer(&s, "COMPLETE");
    assert_string_equal(s.best, "COMPLETE");
    s = (struct suggest){ .given = STR("xyzzy") };
    suggest_offer(&s, "LEASE");
    assert_null(s.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_by_position_become_words),
        cmocka_unit_test(arguments_by_name_take_their_positions),
        cmocka_unit_test(names_and_values_may_be_one_argument),
        cmocka_unit_test(dashes_and_underscores_are_the_same_in_names),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(an_optional_position_may_be_left_out),
        cmocka_unit_test(a_part_of_an_id_is_kept_beside_its_word),
        cmocka_unit_test(global_options_go_to_the_command_line_itself),
        cmocka_unit_test(verbs_with_cursors_take_all),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(the_word_help_alone_is_no_name),
        cmocka_unit_test(a_server_is_named_by_host_and_port_or_by_a_url),
        cmocka_unit_test(words_are_checked_as_the_server_does),
        cmocka_unit_test(a_payload_is_read_from_standard_input),
        cmocka_unit_test(a_payload_by_name_is_read_from_a_file),
        cmocka_unit_test(examples_are_shown_as_one_would_type_them),
        cmocka_unit_test(every_example_of_the_table_becomes_the_same_request),
        cmocka_unit_test(the_nearest_name_is_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
