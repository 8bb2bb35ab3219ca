/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "server/option.h"

/* The environment of the test at hand: NAME, value, ..., NULL. */
static const char *const *env_pairs;

static char *test_env(const char *name)
{
    for (const char *const *p = env_pairs; p && *p; p += 2)
        if (strcmp(*p, name) == 0)
            return (char *)(uintptr_t)p[1];
    return NULL;
}

/* Flags are split at blanks. The options borrow argv, so it is static. */
static int load(struct options *o, const char *flags, struct option_error *err)
{
    static char text[512], *argv[32];
    int argc = 1;
    argv[0] = text;
    snprintf(text, sizeof text, "%s", flags);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    assert_int_equal(options_init(o), 0);
    err->text[0] = '\0';
    return options_load(o, argc, argv, test_env, err);
}

static void assert_load_fails(const char *flags, const char *message)
{
    struct options o;
    struct option_error err;
    assert_int_equal(load(&o, flags, &err), BELFRY_INVALID);
    assert_string_equal(err.text, message);
    options_fini(&o);
}

static void assert_text_fails(struct str text, const char *message)
{
    struct options o;
    struct option_error err = { 0 };
    assert_int_equal(options_init(&o), 0);
    assert_int_equal(options_parse_text(&o, text, "b.ini", &err), BELFRY_INVALID);
    assert_string_equal(err.text, message);
    options_fini(&o);
}

static char *file_new(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/test_option.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void defaults_are_those_of_the_table(void **state)
{
    struct options o;
    struct option_error err;
    (void)state;
    env_pairs = NULL;
    assert_int_equal(load(&o, "", &err), 0);
    assert_string_equal(o.data, "./data");
    assert_string_equal(o.bind, "127.0.0.1");
    assert_string_equal(o.port_file, "");
    assert_int_equal(o.port, 2355);
    assert_int_equal(o.durability, DURABILITY_SYNC);
    assert_int_equal(o.sync_interval_ms, 1000);
    assert_int_equal(o.sync_delay_ms, 0);
    assert_int_equal(o.segment_size, 32 << 20);
    assert_int_equal(o.max_payload, 1 << 20);
    assert_int_equal(o.max_connections, 16000);
    assert_int_equal(o.output_limit, 64 << 20);
    assert_int_equal(o.client_timeout_ms, 30000);
    assert_int_equal(o.idle_timeout_ms, 0);
    assert_int_equal(o.drain_timeout_ms, 10000);
    assert_int_equal(o.log.level, LOG_LEVEL_INFO);
    assert_int_equal(o.log.format, LOG_FORMAT_AUTO);
    assert_null(o.config);
    options_fini(&o);
    options_fini(&o);
    options_fini(NULL);
}

static void every_row_has_an_acceptable_default_and_a_place_of_its_own(void **state)
{
    const struct option_row *row, *other;
    int64_t v;
    size_t n = 0;
    (void)state;
    for (; (row = option_row(n)); n++) {
        assert_true(option_parse(row, str_of(row->initial), &v));
        assert_true(strlen(row->name) <= OPTION_NAME_MAX);
        assert_true(strlen(row->help) > 10);
        for (size_t i = 0; i < n; i++) {
            other = option_row(i);
            assert_string_not_equal(row->name, other->name);
            assert_int_not_equal(row->offset, other->offset);
        }
    }
    assert_true(n <= OPTION_ROWS_MAX);
}

static void flags_override_environment_overrides_file_overrides_defaults(void **state)
{
    static const char *const env[] = { "BELFRY_PORT", "3", "BELFRY_BIND", "e",
                                       "BELFRY_DATA", "",  NULL };
    struct options o;
    struct option_error err;
    char flags[128];
    (void)state;
    char *path = file_new("port = 2\nbind = f\ndata = f\nlog_level = warn\n");
    env_pairs = env;
    snprintf(flags, sizeof flags, "--port 4 --config %s --log-format=text", path);
    assert_int_equal(load(&o, flags, &err), 0);
    assert_int_equal(o.port, 4);
    assert_string_equal(o.bind, "e");
    assert_string_equal(o.data, "f"); /* an empty variable counts as unset */
    assert_int_equal(o.log.level, LOG_LEVEL_WARN);
    assert_int_equal(o.log.format, LOG_FORMAT_TEXT);
    assert_int_equal(o.max_connections, 16000);
    assert_string_equal(o.config, path);
    options_fini(&o);
    env_pairs = NULL;
    unlink(path);
}

static void flags_take_their_value_either_way(void **state)
{
    struct options o;
    struct option_error err;
    (void)state;
    assert_int_equal(load(&o, "--sync-interval=250ms --segment-size 64KiB --data=a=b", &err), 0);
    assert_int_equal(o.sync_interval_ms, 250);
    assert_int_equal(o.segment_size, 65536);
    assert_string_equal(o.data, "a=b");
    options_fini(&o);
    assert_int_equal(load(&o, "--port-file= --port 0 --port 1", &err), 0);
    assert_string_equal(o.port_file, "");
    assert_int_equal(o.port, 1);
    options_fini(&o);
}

static void help_and_version_look_no_further(void **state)
{
    struct options o;
    struct option_error err;
    (void)state;
    assert_int_equal(load(&o, "--port bad --help --unknown", &err), 0);
    assert_true(o.shows.help);
    options_fini(&o);
    assert_int_equal(load(&o, "--version", &err), 0);
    assert_true(o.shows.version);
    options_fini(&o);
    assert_int_equal(load(&o, "-h --unknown", &err), 0);
    assert_true(o.shows.help);
    options_fini(&o);
    assert_int_equal(load(&o, "-V --unknown", &err), 0);
    assert_true(o.shows.version);
    options_fini(&o);
}

static void wrong_flags_are_named_with_what_was_expected(void **state)
{
    (void)state;
    assert_load_fails("--port 65536", "flag --port: expected a whole number from 0 to 65535, such "
                                      "as 2355, not \"65536\"");
    assert_load_fails("--segment-size=1PB", "flag --segment-size: expected a size from 64KiB to "
                                            "1GiB, such as 32MiB, not \"1PB\"");
    assert_load_fails("--drain-timeout soon", "flag --drain-timeout: expected a duration from 0ms "
                                              "to 1h, such as 10s, not \"soon\"");
    assert_load_fails("--durability maybe", "flag --durability: expected sync or interval or none, "
                                            "not \"maybe\"");
    assert_load_fails("--data=", "flag --data: expected text of 1 to 4000 characters, not \"\"");
    assert_load_fails("--prot 1", "unknown flag --prot: did you mean --port?");
    assert_load_fails("--sync-intervall 1", "unknown flag --sync-intervall: did you mean "
                                            "--sync-interval?");
    assert_load_fails("--xylophone", "unknown flag --xylophone; --help lists them");
    assert_load_fails("--port", "flag --port: its value is missing");
    assert_load_fails("--config", "flag --config: its value is missing");
    assert_load_fails("2355", "unexpected argument \"2355\": options are flags, as in --port 2355");
    assert_load_fails("--", "unexpected argument \"--\": options are flags, as in --port 2355");
}

static void a_wrong_variable_is_named(void **state)
{
    static const char *const env[] = { "BELFRY_MAX_PAYLOAD", "33MiB", NULL };
    (void)state;
    env_pairs = env;
    assert_load_fails("", "environment variable BELFRY_MAX_PAYLOAD: expected a size from 1 to "
                          "16MiB, such as 1MiB, not \"33MiB\"");
    env_pairs = NULL;
}

static void a_missing_file_is_an_error_of_input(void **state)
{
    struct options o;
    struct option_error err;
    (void)state;
    assert_int_equal(load(&o, "--config /nonexistent/x", &err), BELFRY_IO);
    assert_string_equal(err.text, "--config /nonexistent/x: No such file or directory");
    options_fini(&o);
    assert_int_equal(load(&o, "--config /tmp", &err), BELFRY_IO);
    options_fini(&o);
}

static void files_may_have_comments_blanks_indents_and_our_section(void **state)
{
    struct options o;
    struct option_error err = { 0 };
    (void)state;
    assert_int_equal(options_init(&o), 0);
    assert_int_equal(options_parse_text(&o,
                                        STR("; c\n# c\r\n\n  port = 1\n\tbind=x y\r\n[belfry]\n"
                                            "  max_payload : 1kib ; c\nport_file =\ndata = d"),
                                        "b.ini", &err),
                     0);
    assert_int_equal(o.port, 1);
    assert_string_equal(o.bind, "x y");
    assert_int_equal(o.max_payload, 1024);
    assert_string_equal(o.port_file, "");
    assert_string_equal(o.data, "d");
    assert_int_equal(options_parse_text(&o, STR(""), "b.ini", &err), 0);
    options_fini(&o);
}

static void wrong_lines_in_a_file_are_named_by_number(void **state)
{
    (void)state;
    assert_text_fails(STR("\n\nport = x\n"), "b.ini:3: port: expected a whole number from 0 to "
                                             "65535, such as 2355, not \"x\"");
    assert_text_fails(STR("port = -1"), "b.ini:1: port: expected a whole number from 0 to 65535, "
                                        "such as 2355, not \"-1\"");
    assert_text_fails(STR("port = 1\n# x\nprt = 2\nport = 3\n"),
                      "b.ini:3: unknown option prt: did you mean port?\n"
                      "b.ini:4: port is given twice");
    assert_text_fails(STR("sync-interval = 2s\n"),
                      "b.ini:1: unknown option sync-interval: did you mean sync_interval?");
    assert_text_fails(STR("xylophone = 2\n"),
                      "b.ini:1: unknown option xylophone; --help lists them");
    assert_text_fails(STR("port = 1\nport = 1\n"), "b.ini:2: port is given twice");
    assert_text_fails(STR("port = 1\n[belfry]\n port = 1\n"), "b.ini:3: port is given twice");
    assert_text_fails(STR("port\n"), "b.ini:1: expected name = value, as in port = 2355");
    assert_text_fails(STR("[other]\n"),
                      "b.ini:1: unknown section [other]: options need none, or [belfry]");
    assert_text_fails(STR("[other]\nport = 1\nx = 2\n[belfry]\nport = x"),
                      "b.ini:1: unknown section [other]: options need none, or [belfry]\n"
                      "b.ini:5: port: expected a whole number from 0 to 65535, such as 2355, not "
                      "\"x\"");
    assert_text_fails(STR("\xef\xbb\xbf[other]\nport = 1\nport = 2\n"),
                      "b.ini:2: unknown section [other]");
    assert_text_fails(STR("port = 1\0\n"), "b.ini:1: a zero byte");
}

static void all_errors_are_told_at_once(void **state)
{
    static const char *const env[] = { "BELFRY_MEMORY", "much", NULL };
    struct options o;
    struct option_error err;
    char flags[128];
    (void)state;
    char *path = file_new("port = x\nprt = 1\ntls = maybe\n");
    env_pairs = env;
    snprintf(flags, sizeof flags, "--config %s --push-max 0 --sync-interval never", path);
    assert_int_equal(load(&o, flags, &err), BELFRY_INVALID);
    static const char *const told[] = {
        ":1: port: expected",      ":2: unknown option prt",    ":3: tls: expected",
        "BELFRY_MEMORY: expected", "flag --push-max: expected", "flag --sync-interval: expected"
    };
    const char *at = err.text;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        at = strstr(at, told[i]); /* in this order */
        assert_non_null(at);
    }
    options_fini(&o);
    env_pairs = NULL;
    unlink(path);
}

static void errors_beyond_the_room_are_counted(void **state)
{
    struct options o;
    struct option_error err = { 0 };
    struct buf text = { 0 };
    size_t lines = 1;
    (void)state;
    for (int i = 0; i < 500; i++)
        buf_text(&text, "xylophone = 1\n");
    assert_int_equal(options_init(&o), 0);
    assert_int_equal(options_parse_text(&o, buf_view(&text), "b.ini", &err), BELFRY_INVALID);
    for (const char *p = err.text; (p = strchr(p, '\n')); p++)
        lines++;
    const char *more = strstr(err.text, "\nand ");
    assert_non_null(more);
    assert_int_equal(lines - 1 + strtoul(more + 5, NULL, 10), 500);
    assert_string_equal(strchr(more + 5, ' '), " more errors");
    options_fini(&o);
    buf_fini(&text);
}

static void a_file_behind_a_dash_may_be_missing(void **state)
{
    struct options o;
    struct option_error err;
    char flags[128];
    (void)state;
    assert_int_equal(load(&o, "--config -/nonexistent/x", &err), 0);
    options_fini(&o);
    assert_int_equal(load(&o, "--config -/tmp", &err), BELFRY_IO); /* it is there, and no file */
    options_fini(&o);
    char *path = file_new("port = 7\n");
    snprintf(flags, sizeof flags, "--config -%s", path);
    assert_int_equal(load(&o, flags, &err), 0);
    assert_int_equal(o.port, 7);
    options_fini(&o);
    unlink(path);
}

static char *printed(void (*print)(const struct options *o, FILE *out), const struct options *o)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    print(o, out);
    fclose(out);
    return text;
}

static void the_values_are_shown_with_their_origins_and_can_be_loaded(void **state)
{
    static const char *const env[] = { "BELFRY_MEMORY", "1GB", "BELFRY_OTLP_HEADERS", "key=hush",
                                       NULL };
    struct options o, again;
    struct option_error err;
    const struct option_row *row;
    char flags[128], line[128];
    (void)state;
    char *path = file_new("\nsync_interval = 90s\n");
    env_pairs = env;
    snprintf(flags, sizeof flags, "--config -%s --tls=off", path);
    assert_int_equal(load(&o, flags, &err), 0);
    char *text = printed(options_print, &o);
    snprintf(line, sizeof line, "; %s:2\n", path);
    assert_non_null(strstr(text, "\nsync_interval = 1m30s"));
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "\nmemory = 1000000000"));
    assert_non_null(strstr(text, " ; BELFRY_MEMORY\n"));
    assert_non_null(strstr(text, " ; flag --tls\n"));
    assert_non_null(strstr(text, "data = ./data"));
    assert_non_null(strstr(text, "; otlp_headers is not shown: from BELFRY_OTLP_HEADERS\n"));
    assert_null(strstr(text, "hush"));
    err = (struct option_error){ 0 };
    assert_int_equal(options_init(&again), 0);
    assert_int_equal(options_parse_text(&again, str_of(text), "shown.ini", &err), 0);
    for (size_t i = 0; (row = option_row(i)); i++) {
        struct buf a = { 0 }, b = { 0 };
        option_value(row, &o, &a);
        option_value(row, &again, &b);
        assert_true(option_is_secret(row) || str_eq(buf_view(&a), buf_view(&b)));
        buf_fini(&a);
        buf_fini(&b);
    }
    options_fini(&o);
    options_fini(&again);
    free(text);
    env_pairs = NULL;
    unlink(path);
}

static void print_sample(const struct options *o, FILE *out)
{
    (void)o;
    options_print_sample(out);
}

static void the_sample_has_all_options_and_can_be_loaded(void **state)
{
    struct options o;
    struct option_error err = { 0 };
    const struct option_row *row;
    char *text = printed(print_sample, NULL), name[64];
    (void)state;
    assert_int_equal(options_init(&o), 0);
    assert_int_equal(options_parse_text(&o, str_of(text), "sample.ini", &err), 0);
    for (size_t i = 0; (row = option_row(i)); i++) {
        snprintf(name, sizeof name, "\n;%s = ", row->name);
        char *at = strstr(text, name);
        assert_non_null(at);
        at[1] = ' '; /* no comment any more */
    }
    assert_int_equal(options_parse_text(&o, str_of(text), "sample.ini", &err), 0);
    options_fini(&o);
    free(text);
}

static void note_unknown(void *arg, const char *name, const char *nearest)
{
    buf_printf(arg, "%s>%s ", name, nearest);
}

static void variables_that_are_no_options_are_found(void **state)
{
    char *env[] = { (char[]){ "BELFRY_PORTT=1" },
                    (char[]){ "BELFRY_PORT=1" },
                    (char[]){ "BELFRY=1" },
                    (char[]){ "BELFRY_AUTH_FILE=x" },
                    (char[]){ "BELFRY_SETUP=no" },
                    (char[]){ "BELFRY_memory=1" },
                    (char[]){ "HOME=/BELFRY_X=" },
                    (char[]){ "BELFRY_XYLOPHONES=1" },
                    (char[]){ "BELFRY_AN_ENDLESS_NAME_THAT_NO_OPTION_HAS=1" },
                    NULL };
    struct buf told = { 0 };
    (void)state;
    options_unknown_env(env, note_unknown, &told);
    assert_true(str_eq(buf_view(&told), STR("BELFRY_PORTT>BELFRY_PORT BELFRY_memory>BELFRY_MEMORY "
                                            "BELFRY_XYLOPHONES> "
                                            "BELFRY_AN_ENDLESS_NAME_THAT_NO_OPTION_HAS> ")));
    buf_fini(&told);
}

static void a_line_too_long_for_inih_is_refused_rather_than_split(void **state)
{
    struct options o;
    struct option_error err = { 0 };
    char *text = malloc(100000);
    (void)state;
    memset(text, ' ', 100000);
    memcpy(text, "data = x", 8);
    text[99999] = 'y';
    assert_int_equal(options_init(&o), 0);
    assert_int_equal(options_parse_text(&o, (struct str){ text, 100000 }, "b.ini", &err),
                     BELFRY_INVALID);
    assert_non_null(strstr(err.text, "b.ini:1: a line may have at most "));
    assert_string_equal(o.data, "./data");
    options_fini(&o);
    free(text);
}

static void sizes_have_units_of_1024_or_by_si_of_1000(void **state)
{
    static const struct {
        const char *text;
        int64_t size;
    } rows[] = {
        { "65536", 65536 },    { "65536B", 65536 },
        { "64KiB", 65536 },    { "64kib", 65536 },
        { "1GiB", 1 << 30 },   { "1MiB", 1 << 20 },
        { "65535", -1 },       { "2GiB", -1 },
        { "1M", 1 << 20 },     { "1G", 1 << 30 },
        { "64k", 65536 },      { "1MB", 1000000 },
        { "1gb", 1000000000 }, { "64KB", -1 },
        { "1Mi", -1 },         { "1MBB", -1 },
        { "1iB", -1 },         { "1P", -1 },
        { "1GG", -1 },         { "MiB", -1 },
        { "1 MiB", -1 },       { "-1MiB", -1 },
        { "1.5MiB", -1 },      { "0", -1 },
        { "16777216TiB", -1 }, { "99999999999999999999", -1 },
    };
    struct options o;
    struct option_error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "segment_size = %s", rows[i].text);
        options_init(&o);
        err = (struct option_error){ 0 };
        int code = options_parse_text(&o, str_of(text), "b.ini", &err);
        assert_int_equal(code, rows[i].size < 0 ? BELFRY_INVALID : 0);
        assert_int_equal(o.segment_size, rows[i].size < 0 ? 32 << 20 : rows[i].size);
        options_fini(&o);
    }
}

static void reloading_takes_over_what_may_change_and_lists_the_rest(void **state)
{
    struct options o;
    struct option_error err;
    struct buf ignored = { 0 };
    char flags[128];
    (void)state;
    char *path = file_new("log_level = warn\nport = 1\n");
    snprintf(flags, sizeof flags, "--max-connections 5 --config %s", path);
    assert_int_equal(load(&o, flags, &err), 0);

    file_write(path, "log_level = debug\nport = 2\ndata = x\nmax_connections = 9\n");
    assert_int_equal(options_reload(&o, &ignored, &err), 0);
    assert_int_equal(o.log.level, LOG_LEVEL_DEBUG);
    assert_int_equal(o.port, 1);
    assert_string_equal(o.data, "./data");
    assert_int_equal(o.max_connections, 5); /* the flag is still above the file */
    assert_true(str_eq(buf_view(&ignored), STR("data, port")));

    ignored.len = 0;
    file_write(path, "log_level = error\nport = x\n");
    assert_int_equal(options_reload(&o, &ignored, &err), BELFRY_INVALID);
    assert_non_null(strstr(err.text, ":2: port: expected"));
    assert_int_equal(o.log.level, LOG_LEVEL_DEBUG);
    assert_int_equal(ignored.len, 0);

    file_write(path, "port = 1\n");
    assert_int_equal(options_reload(&o, &ignored, &err), 0);
    assert_int_equal(o.log.level, LOG_LEVEL_INFO);
    assert_int_equal(ignored.len, 0);
    unlink(path);
    buf_fini(&ignored);
    options_fini(&o);
}

static void help_lists_every_option_in_80_columns(void **state)
{
    char *text = NULL, flag[OPTION_NAME_MAX + 8];
    size_t size = 0, n = 0;
    const struct option_row *row;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    options_print_help(out);
    fclose(out);
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
        assert_true(strcspn(p, "\n") <= 80);
    for (const char *p = text; *p; p++) /* lines become one */
        if (!(*p == ' ' || *p == '\n') || (n > 0 && text[n - 1] != ' '))
            text[n++] = *p == '\n' ? ' ' : *p;
    text[n] = '\0';
    for (size_t i = 0; (row = option_row(i)); i++) {
        option_flag_name(row, flag);
        assert_non_null(strstr(text, flag));
        assert_non_null(strstr(text, row->help));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(every_row_has_an_acceptable_default_and_a_place_of_its_own),
        cmocka_unit_test(flags_override_environment_overrides_file_overrides_defaults),
        cmocka_unit_test(flags_take_their_value_either_way),
        cmocka_unit_test(help_and_version_look_no_further),
        cmocka_unit_test(wrong_flags_are_named_with_what_was_expected),
        cmocka_unit_test(a_wrong_variable_is_named),
        cmocka_unit_test(a_missing_file_is_an_error_of_input),
        cmocka_unit_test(files_may_have_comments_blanks_indents_and_our_section),
        cmocka_unit_test(wrong_lines_in_a_file_are_named_by_number),
        cmocka_unit_test(a_line_too_long_for_inih_is_refused_rather_than_split),
        cmocka_unit_test(sizes_have_units_of_1024_or_by_si_of_1000),
        cmocka_unit_test(all_errors_are_told_at_once),
        cmocka_unit_test(errors_beyond_the_room_are_counted),
        cmocka_unit_test(a_file_behind_a_dash_may_be_missing),
        cmocka_unit_test(the_values_are_shown_with_their_origins_and_can_be_loaded),
        cmocka_unit_test(the_sample_has_all_options_and_can_be_loaded),
        cmocka_unit_test(variables_that_are_no_options_are_found),
        cmocka_unit_test(reloading_takes_over_what_may_change_and_lists_the_rest),
        cmocka_unit_test(help_lists_every_option_in_80_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
