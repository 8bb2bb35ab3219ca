/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <string.h>
#include <cmocka.h>

#include "server/peer.h"

static struct peer peer_at(const char *text, uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct peer p;

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        peer_set(&p, (const struct sockaddr *)&v4);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
        peer_set(&p, (const struct sockaddr *)&v6);
    }
    return p;
}

static void addresses_as_text(void **state)
{
    static const struct {
        const char *address, *text;
        bool loopback;
    } cases[] = {
        { "127.0.0.1", "127.0.0.1:7", true },        { "127.200.0.1", "127.200.0.1:7", true },
        { "10.1.2.3", "10.1.2.3:7", false },         { "::1", "[::1]:7", true },
        { "2001:db8::5", "[2001:db8::5]:7", false }, { "::ffff:10.1.2.3", "10.1.2.3:7", false },
        { "::ffff:127.0.0.1", "127.0.0.1:7", true }, { "::", "[::]:7", false },
        { "0.0.0.0", "0.0.0.0:7", false },
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct peer p = peer_at(cases[i].address, 7);

        peer_text(&p, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
        assert_int_equal(peer_is_loopback(&p), cases[i].loopback);
    }
    peer_set(&(struct peer){ 0 }, &(struct sockaddr){ .sa_family = AF_UNIX });
    peer_text(&(struct peer){ 0 }, text, sizeof(text));
    assert_string_equal(text, "");
}

static void connections_are_counted_by_address_not_by_port(void **state)
{
    struct peer a = peer_at("10.0.0.1", 1), again = peer_at("10.0.0.1", 2);
    struct peer b = peer_at("10.0.0.2", 1), mapped = peer_at("::ffff:10.0.0.1", 3);
    struct peers ps;

    (void)state;
    peers_init(&ps, (struct hash_key){ 1, 2 });
    assert_int_equal(peers_count(&ps, &a), 0);
    assert_true(peers_add(&ps, &a, PEER_PLAIN) && peers_add(&ps, &again, PEER_PLAIN) &&
                peers_add(&ps, &b, PEER_PLAIN));
    assert_int_equal(peers_count(&ps, &mapped), 2);
    assert_int_equal(peers_count(&ps, &b), 1);
    peers_remove(&ps, &a, PEER_PLAIN, true);
    assert_int_equal(peers_count(&ps, &again), 1);
    peers_remove(&ps, &again, PEER_PLAIN, true);
    assert_int_equal(peers_count(&ps, &a), 0);
    assert_int_equal(peers_count(&ps, &b), 1);
    peers_fini(&ps);
}

static void a_network_of_ipv6_is_one_address(void **state)
{
    struct peer a = peer_at("2001:db8:0:1::1", 1), near = peer_at("2001:db8:0:1:ffff::9", 1);
    struct peer far = peer_at("2001:db8:0:2::1", 1);
    struct peers ps;

    (void)state;
    peers_init(&ps, (struct hash_key){ 1, 2 });
    peers_add(&ps, &a, PEER_PLAIN);
    assert_int_equal(peers_count(&ps, &near), 1);
    assert_int_equal(peers_count(&ps, &far), 0);
    peers_fini(&ps); /* with what is left in it */
}

static void a_client_by_tls_and_its_link_are_one(void **state)
{
    struct peer plain = peer_at("10.0.0.1", 1), tls = peer_at("10.0.0.1", 2);
    struct peers ps;

    (void)state;
    tls.tls = true;
    peers_init(&ps, (struct hash_key){ 1, 2 });
    assert_true(peers_add(&ps, &plain, PEER_PLAIN) && peers_add(&ps, &plain, PEER_LINK) &&
                peers_add(&ps, &tls, PEER_TLS));
    assert_int_equal(peers_count(&ps, &plain), 2);
    peers_remove(&ps, &tls, PEER_TLS, true); /* its link has something to send still */
    assert_int_equal(peers_count(&ps, &plain), 2);
    assert_true(peers_add(&ps, &tls, PEER_LINK) && peers_add(&ps, &tls, PEER_TLS));
    assert_int_equal(peers_count(&ps, &plain), 3);
    assert_int_equal(peers_total(&ps), 3);
    peers_remove(&ps, &tls, PEER_LINK, true);
    peers_remove(&ps, &tls, PEER_LINK, true);
    assert_int_equal(peers_count(&ps, &plain), 2); /* the client is there still */
    peers_remove(&ps, &tls, PEER_TLS, true);
    peers_remove(&ps, &plain, PEER_PLAIN, true);
    assert_int_equal(ps.table.count, 0);
    assert_int_equal(peers_total(&ps), 0);
    peers_fini(&ps);
}

static void many_addresses_leave_nothing_behind(void **state)
{
    struct peers ps;

    (void)state;
    peers_init(&ps, (struct hash_key){ 1, 2 });
    for (int add = 1; add >= 0; add--) {
        for (uint32_t i = 0; i < 20000; i++) {
            struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(i) };
            struct peer p;

            peer_set(&p, (const struct sockaddr *)&v4);
            if (add)
                peers_add(&ps, &p, PEER_PLAIN);
            else
                peers_remove(&ps, &p, PEER_PLAIN, true);
        }
    }
    assert_int_equal(ps.table.count, 0);
    peers_fini(&ps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_as_text),
        cmocka_unit_test(connections_are_counted_by_address_not_by_port),
        cmocka_unit_test(a_network_of_ipv6_is_one_address),
        cmocka_unit_test(a_client_by_tls_and_its_link_are_one),
        cmocka_unit_test(many_addresses_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
