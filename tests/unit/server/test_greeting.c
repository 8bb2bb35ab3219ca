/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "server/greeting.h"
#include "server/root_token.h"

static char *greeting(struct greeting g)
{
    struct buf out = { 0 };
    g.program = "belfry";
    greeting_put(&g, &out);
    buf_append(&out, "", 1);
    assert_false(out.failed);
    return out.ptr;
}

static void it_names_the_port_if_that_is_not_the_usual_one(void **state)
{
    (void)state;
    char *text = greeting((struct greeting){ .bind = "127.0.0.1", .port = 2355 });
    assert_non_null(strstr(text, "\n    belfry schedule hello --in 2s"));
    assert_non_null(strstr(text, "\n    redis-cli -p 2355 COMPLETE <id> <token>"));
    assert_non_null(strstr(text, "http://127.0.0.1:2355/docs"));
    assert_null(strstr(text, "token:"));
    assert_null(strstr(text, "ashboard"));
    free(text);
    text = greeting(
        (struct greeting){ .bind = "0.0.0.0", .port = 77, .dashboard = true, .tokens = true });
    assert_non_null(strstr(text, "\nThe dashboard is at http://127.0.0.1:77/\n"));
    assert_non_null(strstr(text, "\n    belfry --port 77 work hello -- cat"));
    assert_non_null(strstr(text, "http://127.0.0.1:77/docs"));
    assert_non_null(strstr(text, "BELFRY_AUTH_FILE"));
    free(text);
    text = greeting((struct greeting){ .bind = "::1", .port = 77, .tls_only = true });
    assert_non_null(strstr(text, "\n    belfry --host ::1 --port 77 --tls work"));
    assert_non_null(strstr(text, "\n    redis-cli --tls -h ::1 -p 77 LEASE"));
    assert_non_null(strstr(text, "https://[::1]:77/docs"));
    free(text);
}

static void assert_program(const char *self, const char *cwd, const char *path, const char *want)
{
    struct buf out = { 0 };
    greeting_program(self, cwd, path, &out);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, want);
    buf_fini(&out);
}

static void the_program_is_called_as_it_can_be_called_from_here(void **state)
{
    char dir[] = "/tmp/test_greeting.XXXXXX", bin[64], self[96], program[96], path[128];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(bin, sizeof(bin), "%s/bin", dir);
    snprintf(self, sizeof(self), "%s/belfryd", bin);
    snprintf(program, sizeof(program), "%s/belfry", bin);
    snprintf(path, sizeof(path), "/nonexistent::%s:/bin", bin);
    assert_int_equal(mkdir(bin, 0700), 0);
    assert_program(self, "/", NULL, "belfry"); /* it is not there */
    FILE *f = fopen(program, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(chmod(program, 0700), 0);
    assert_program(self, "/nonexistent", "/bin", program);
    assert_program(self, dir, "/bin", "bin/belfry");
    assert_program(self, bin, "", "./belfry");
    assert_program(self, dir, path, "belfry");
    unlink(program);
    rmdir(bin);
    rmdir(dir);
}

static void a_root_token_has_a_name_and_a_long_secret(void **state)
{
    struct str name, secret;
    (void)state;
    assert_null(
        root_token_parse(STR(" my.root.0123456789abcdef0123456789abcde-\n"), &name, &secret));
    assert_true(str_eq(name, STR("my.root")));
    assert_true(str_eq(secret, STR("0123456789abcdef0123456789abcde-")));
    assert_non_null(root_token_parse(STR(""), &name, &secret));
    assert_non_null(root_token_parse(STR("0123456789abcdef0123456789abcdef"), &name, &secret));
    assert_non_null(root_token_parse(STR("root.0123456789abcdef0123456789abcde"), &name, &secret));
    assert_non_null(
        root_token_parse(STR("root.0123456789abcdef 0123456789abcdef"), &name, &secret));
    assert_non_null(root_token_parse(STR(".0123456789abcdef0123456789abcdef"), &name, &secret));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_names_the_port_if_that_is_not_the_usual_one),
        cmocka_unit_test(the_program_is_called_as_it_can_be_called_from_here),
        cmocka_unit_test(a_root_token_has_a_name_and_a_long_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
