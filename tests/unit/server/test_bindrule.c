/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "server/bindrule.h"
#include "server/tls.h"

static void loopback_needs_nothing(void **state)
{
    (void)state;
    assert_null(bindrule_refusal(&(struct bindrule){ .loopback = true }));
    assert_null(bindrule_refusal(&(struct bindrule){ .loopback = true, .tls = true }));
}

static void other_machines_need_users_whatever_else_there_is(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct bindrule r = { .tls = i & 1, .insecure = i & 2 };

        assert_non_null(strstr(bindrule_refusal(&r), "no tokens"));
    }
}

static void other_machines_need_tls_unless_one_insists(void **state)
{
    const char *why = bindrule_refusal(&(struct bindrule){ .users = true });

    (void)state;
    assert_non_null(strstr(why, "tls = on"));
    assert_non_null(strstr(why, "insecure_plaintext = yes"));
    assert_null(bindrule_refusal(&(struct bindrule){ .users = true, .tls = true }));
    assert_null(bindrule_refusal(&(struct bindrule){ .users = true, .insecure = true }));
}

static void who_may_speak_without_tls(void **state)
{
    struct sockaddr_in near = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
    struct sockaddr_in far = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001) };
    static const struct {
        int64_t tls, insecure;
        bool near, far;
    } cases[] = {
        { TLS_OFF, false, true, true }, /* where it listens has been decided */
        { TLS_ON, false, true, false },
        { TLS_ON, true, true, true },
        { TLS_ONLY, false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options o = { .tls = { .mode = cases[i].tls,
                                      .insecure_plaintext = cases[i].insecure } };
        struct peer n, f;

        peer_set(&n, (const struct sockaddr *)&near);
        peer_set(&f, (const struct sockaddr *)&far);
        assert_int_equal(tls_may_be_plain(&o, &n), cases[i].near);
        assert_int_equal(tls_may_be_plain(&o, &f), cases[i].far);
        f.tls = true;
        assert_true(tls_may_be_plain(&o, &f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_needs_nothing),
        cmocka_unit_test(other_machines_need_users_whatever_else_there_is),
        cmocka_unit_test(other_machines_need_tls_unless_one_insists),
        cmocka_unit_test(who_may_speak_without_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
