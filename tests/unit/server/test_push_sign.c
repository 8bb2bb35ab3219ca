/* SPDX-License-Identifier: MIT */
#include "server/push/push_sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define SIGNED "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static void is_signed(const char *secrets, const char *expected)
{
    struct buf out = { 0 };

    assert_int_equal(push_sign(str_of(secrets), STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                               STR("{\"test\": 2432232314}"), &out),
                     0);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
}

/* The one that the libraries of the Standard Webhooks specification are tested with. */
static void the_specifications_example_is_signed_as_there(void **state)
{
    (void)state;
    is_signed(SECRET, SIGNED);
}

static void two_secrets_give_two_signatures_in_their_order(void **state)
{
    struct buf one = { 0 };

    (void)state;
    assert_int_equal(push_sign(STR(OTHER), STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                               STR("{\"test\": 2432232314}"), &one),
                     0);
    buf_text(&one, " " SIGNED);
    buf_append(&one, "", 1);
    is_signed(OTHER " " SECRET, one.ptr);
    assert_string_not_equal(one.ptr, SIGNED);
    buf_fini(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_specifications_example_is_signed_as_there),
        cmocka_unit_test(two_secrets_give_two_signatures_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
