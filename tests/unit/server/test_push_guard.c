/* SPDX-License-Identifier: MIT */
#include "server/push/push_guard.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static bool allows(const char *rules, const char *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } at = { .any.sa_family = strchr(address, ':') ? AF_INET6 : AF_INET };
    struct push_guard g;
    struct str bad;

    assert_true(push_guard_parse(str_of(rules), &g, &bad));
    if (at.any.sa_family == AF_INET6)
        assert_int_equal(inet_pton(AF_INET6, address, &at.six.sin6_addr), 1);
    else
        assert_int_equal(inet_pton(AF_INET, address, &at.four.sin_addr), 1);
    return push_guard_allows(&g, &at.any);
}

static void only_public_addresses_are_allowed(void **state)
{
    static const struct {
        const char *address;
        bool allowed;
    } rows[] = {
        { "8.8.8.8", true },
        { "1.1.1.1", true },
        { "9.255.255.255", true },
        { "11.0.0.0", true },
        { "100.63.255.255", true },
        { "100.128.0.0", true },
        { "126.255.255.255", true },
        { "128.0.0.1", true },
        { "169.253.255.255", true },
        { "172.15.255.255", true },
        { "172.32.0.0", true },
        { "192.167.255.255", true },
        { "192.169.0.0", true },
        { "198.17.255.255", true },
        { "198.20.0.0", true },
        { "223.255.255.255", true },
        { "2606:4700::1111", true },
        { "2a00:1450:4001::1", true },
        { "2001:200::1", true },
        { "::ffff:8.8.8.8", true },
        { "64:ff9b::8.8.8.8", true },
        { "0.0.0.0", false },
        { "0.1.2.3", false },
        { "10.0.0.1", false },
        { "10.255.255.255", false },
        { "100.64.0.0", false },
        { "100.127.255.255", false },
        { "127.0.0.1", false },
        { "127.255.255.254", false },
        { "169.254.169.254", false },
        { "172.16.0.1", false },
        { "172.31.255.255", false },
        { "192.0.0.1", false },
        { "192.0.2.1", false },
        { "192.88.99.1", false },
        { "192.168.0.1", false },
        { "198.18.0.1", false },
        { "198.19.255.255", false },
        { "198.51.100.7", false },
        { "203.0.113.7", false },
        { "224.0.0.1", false },
        { "239.255.255.255", false },
        { "240.0.0.1", false },
        { "255.255.255.255", false },
        { "::", false },
        { "::1", false },
        { "::127.0.0.1", false },
        { "::ffff:127.0.0.1", false },
        { "::ffff:10.0.0.1", false },
        { "::ffff:169.254.169.254", false },
        { "64:ff9b::10.0.0.1", false },
        { "64:ff9b:1::1", false },
        { "100::1", false },
        { "fc00::1", false },
        { "fd12:3456::1", false },
        { "fe80::1", false },
        { "fec0::1", false },
        { "ff02::1", false },
        { "2001::1", false },
        { "2001:db8::1", false },
        { "2002:7f00:1::", false },
        { "3fff::1", false },
        { "4000::1", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (allows("", rows[i].address) != rows[i].allowed)
            fail_msg("%s should %sbe allowed", rows[i].address, rows[i].allowed ? "" : "not ");
}

static void what_is_listed_is_allowed_and_nothing_more(void **state)
{
    (void)state;
    assert_true(allows("10.1.0.0/16", "10.1.255.255"));
    assert_false(allows("10.1.0.0/16", "10.2.0.0"));
    assert_true(allows("192.168.7.9 , 10.1.0.0/16", "192.168.7.9"));
    assert_false(allows("192.168.7.9", "192.168.7.8"));
    assert_true(allows("10.1.0.0/16", "::ffff:10.1.2.3"));
    assert_true(allows("fd00:1::/32", "fd00:1:ffff::1"));
    assert_false(allows("fd00:1::/32", "fd00:2::1"));
    assert_true(allows("127.0.0.0/9", "127.127.255.255"));
    assert_false(allows("127.0.0.0/9", "127.128.0.0"));
    assert_true(allows("0.0.0.0/0", "127.0.0.1"));
    assert_false(allows("0.0.0.0/0", "::1"));
    assert_true(allows("::1", "::1"));
    assert_true(allows("private", "192.168.1.1"));
    assert_true(allows("private", "fd00::1"));
    assert_false(allows("private", "127.0.0.1"));
    assert_false(allows("private", "169.254.169.254"));
    assert_false(allows("private", "fe80::1"));
    assert_true(allows("loopback", "127.0.0.1"));
    assert_true(allows("loopback", "::1"));
    assert_false(allows("loopback", "10.0.0.1"));
}

static void metadata_of_clouds_is_allowed_by_its_address_only(void **state)
{
    (void)state;
    assert_false(allows("169.254.0.0/16", "169.254.169.254"));
    assert_true(allows("169.254.0.0/16", "169.254.169.253"));
    assert_false(allows("0.0.0.0/0,::/0", "169.254.169.254"));
    assert_false(allows("169.254.169.254/31", "169.254.169.254"));
    assert_false(allows("0.0.0.0/0,::/0", "::ffff:169.254.169.254"));
    assert_false(allows("0.0.0.0/0,::/0", "64:ff9b::169.254.169.254"));
    assert_false(allows("private", "100.100.100.200"));
    assert_true(allows("private", "100.100.100.201"));
    assert_false(allows("private,::/0", "fd00:ec2::254"));
    assert_true(allows("private", "fd00:ec2::253"));
    assert_true(allows("169.254.169.254", "169.254.169.254"));
    assert_true(allows("private,169.254.169.254/32", "::ffff:169.254.169.254"));
    assert_true(allows("100.100.100.200/32", "100.100.100.200"));
    assert_true(allows("fd00:ec2::254/128", "fd00:ec2::254"));
}

static void what_is_no_network_is_named(void **state)
{
    static const char *const bad[] = { "intranet", "10.0.0.0/33", "10.0.0.0/",   "10.0.0/8",
                                       "::1/129",  "10.0.0.0/8x", "10.0.0.0/-1", "fe80::1%eth0" };
    char text[64];
    struct push_guard g;
    struct str word;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "private,%s,loopback", bad[i]);
        assert_false(push_guard_parse(str_of(text), &g, &word));
        assert_true(str_eq(word, str_of(bad[i])));
    }
    assert_false(push_guard_parse(STR("private,,loopback"), &g, &word));
}

static bool allows_port(const char *rules, const char *ports, const char *address, unsigned port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct push_guard g;
    struct str bad;

    assert_true(push_guard_parse(str_of(rules), &g, &bad));
    assert_true(push_guard_ports(str_of(ports), &g, &bad));
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    return push_guard_allows(&g, (const struct sockaddr *)&at);
}

static void only_listed_ports_of_public_addresses_are_allowed(void **state)
{
    static const char *const bad[] = { "x", "0", "65536", "90-80", "1-", "-1", "80,,90", "1-2-3" };
    struct push_guard g;
    struct str word;

    (void)state;
    assert_true(allows_port("", "", "8.8.8.8", 25));
    assert_true(allows_port("", "80, 443,8000-8999", "8.8.8.8", 443));
    assert_true(allows_port("", "80,443,8000-8999", "8.8.8.8", 8000));
    assert_true(allows_port("", "80,443,8000-8999", "8.8.8.8", 8999));
    assert_false(allows_port("", "80,443,8000-8999", "8.8.8.8", 9000));
    assert_false(allows_port("", "80,443,8000-8999", "8.8.8.8", 25));
    assert_false(allows_port("", "80,443", "10.0.0.1", 80));
    assert_true(allows_port("10.0.0.0/8", "80,443", "10.0.0.1", 25));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        push_guard_parse(STR(""), &g, &word);
        if (push_guard_ports(str_of(bad[i]), &g, &word))
            fail_msg("%s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_public_addresses_are_allowed),
        cmocka_unit_test(only_listed_ports_of_public_addresses_are_allowed),
        cmocka_unit_test(what_is_listed_is_allowed_and_nothing_more),
        cmocka_unit_test(metadata_of_clouds_is_allowed_by_its_address_only),
        cmocka_unit_test(what_is_no_network_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
