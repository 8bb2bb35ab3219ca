/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "server/tls.h"

static struct peer peer_at(uint32_t address)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    struct peer p;

    peer_set(&p, (const struct sockaddr *)&a);
    return p;
}

#define NEAR 0x7f000001
#define FAR  0x0a000001

static const char *refusal(uint32_t address, bool tokens, bool tls, bool insecure)
{
    struct options o = { .tls = { .mode = tls ? TLS_ON : TLS_OFF,
                                  .insecure_plaintext = insecure } };
    struct peer at = peer_at(address);

    return tls_bind_refusal(&o, &at, tokens);
}

static void loopback_needs_nothing(void **state)
{
    (void)state;
    assert_null(refusal(NEAR, false, false, false));
    assert_null(refusal(NEAR, false, true, false));
}

static void other_machines_need_users_whatever_else_there_is(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_non_null(strstr(refusal(FAR, false, i & 1, i & 2), "no tokens"));
}

static void other_machines_need_tls_unless_one_insists(void **state)
{
    const char *why = refusal(FAR, true, false, false);

    (void)state;
    assert_non_null(strstr(why, "tls = on"));
    assert_non_null(strstr(why, "insecure_plaintext = yes"));
    assert_null(refusal(FAR, true, true, false));
    assert_null(refusal(FAR, true, false, true));
}

static void who_may_speak_without_tls(void **state)
{
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
        struct peer n = peer_at(NEAR), f = peer_at(FAR);

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
