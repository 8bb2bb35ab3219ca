/* SPDX-License-Identifier: MIT */
/* Two relays that speak to each other: what goes in at one plain end comes out at the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/str.h"
#include "base/time.h"
#include "tls/relay.h"

#define WAIT_MS    20000
#define MANY_BYTES ((size_t)3 << 20)

static SSL_CTX *server_context, *client_context;

/* A certificate that signs itself; nobody checks it here. */
static int make_contexts(void **state)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    long modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    server_context = SSL_CTX_new(TLS_server_method());
    client_context = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_use_certificate(server_context, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server_context, key), 1);
    SSL_CTX_set_mode(server_context, modes);
    SSL_CTX_set_mode(client_context, modes);
    SSL_CTX_set_options(server_context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_options(client_context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    X509_free(cert);
    EVP_PKEY_free(key);
    return 0;
}

static int free_contexts(void **state)
{
    (void)state;
    SSL_CTX_free(server_context);
    SSL_CTX_free(client_context);
    return 0;
}

struct both {
    struct relay *server, *client;
    int near, far; /* plain ends: of the client, of the server */
};

static atomic_int gone_count;

static void on_gone(void *ticket)
{
    atomic_fetch_add((atomic_int *)ticket, 1);
}

static void open_relay(struct relay **ret, bool (*enough)(struct str first), int handshake_ms)
{
    struct relay_options o = { enough, handshake_ms, WAIT_MS, on_gone };

    assert_int_equal(relay_new(&o, ret), 0);
}

static void net_pair(int net[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, net), 0);
}

static int add(struct relay *r, SSL_CTX *context, int net)
{
    SSL *ssl = SSL_new(context);
    int fd;

    assert_non_null(ssl);
    if (context == server_context)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    fd = relay_add(r, ssl, net, "somebody", &gone_count);
    assert_true(fd >= 0);
    return fd;
}

static void open_both(struct both *b, bool (*enough)(struct str first))
{
    int net[2];

    open_relay(&b->server, enough, WAIT_MS);
    open_relay(&b->client, NULL, WAIT_MS);
    net_pair(net);
    b->far = add(b->server, server_context, net[0]);
    b->near = add(b->client, client_context, net[1]);
}

static void close_both(struct both *b)
{
    if (b->near >= 0)
        close(b->near);
    if (b->far >= 0)
        close(b->far);
    relay_free(b->client, 0);
    relay_free(b->server, 0);
}

static bool wait_for(int fd, short events, int ms)
{
    struct pollfd p = { .fd = fd, .events = events };

    return poll(&p, 1, ms) == 1;
}

static void say(int fd, const char *text)
{
    assert_true(wait_for(fd, POLLOUT, WAIT_MS));
    assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
}

/* Reads until it has so many bytes. */
static void expect(int fd, const char *text)
{
    char got[256];
    size_t n = 0;

    while (n < strlen(text)) {
        assert_true(wait_for(fd, POLLIN, WAIT_MS));
        ssize_t some = recv(fd, got + n, strlen(text) - n, 0);
        assert_true(some > 0);
        n += (size_t)some;
    }
    assert_memory_equal(got, text, n);
}

static void expect_end(int fd)
{
    char c;

    assert_true(wait_for(fd, POLLIN, WAIT_MS));
    assert_true(recv(fd, &c, 1, 0) <= 0);
}

static char byte_at(size_t i, int way)
{
    return (char)(i * 2654435761u >> (13 + way));
}

struct flow {
    int from, to;
    int way;
    size_t sent, got;
};

static void move(struct flow *f)
{
    char piece[50000];
    size_t n = 0;
    ssize_t some;

    for (; n < sizeof(piece) && f->sent + n < MANY_BYTES; n++)
        piece[n] = byte_at(f->sent + n, f->way);
    some = send(f->from, piece, n, 0);
    f->sent += some > 0 ? (size_t)some : 0;
    some = recv(f->to, piece, sizeof(piece), 0);
    for (ssize_t i = 0; i < some; i++)
        assert_int_equal(piece[i], byte_at(f->got + (size_t)i, f->way));
    f->got += some > 0 ? (size_t)some : 0;
}

static void many_bytes_go_both_ways_at_once(void **state)
{
    struct both b;
    int64_t end = time_mono_us() + WAIT_MS * INT64_C(1000) * 3;

    (void)state;
    open_both(&b, NULL);
    struct flow up = { b.near, b.far, 0, 0, 0 }, down = { b.far, b.near, 5, 0, 0 };
    while (up.got < MANY_BYTES || down.got < MANY_BYTES) {
        assert_true(time_mono_us() < end);
        move(&up);
        move(&down);
        if (up.sent == MANY_BYTES)
            wait_for(up.to, POLLIN, 10);
    }
    close_both(&b);
}

static void the_end_of_one_way_leaves_the_other(void **state)
{
    struct both b;

    (void)state;
    open_both(&b, NULL);
    say(b.near, "question");
    shutdown(b.near, SHUT_WR);
    expect(b.far, "question");
    expect_end(b.far);
    say(b.far, "answer");
    expect(b.near, "answer");
    assert_false(wait_for(b.near, POLLIN, 50));
    close(b.far);
    b.far = -1;
    expect_end(b.near);
    close_both(&b);
}

static void one_end_that_is_closed_closes_the_other_when_all_has_come(void **state)
{
    struct both b;

    (void)state;
    open_both(&b, NULL);
    say(b.near, "x");
    expect(b.far, "x");
    say(b.far, "last words");
    close(b.far);
    b.far = -1;
    expect(b.near, "last words");
    expect_end(b.near);
    close_both(&b);
}

static bool three(struct str first)
{
    return first.len >= 3;
}

static void the_first_bytes_come_together(void **state)
{
    struct both b;

    (void)state;
    open_both(&b, three);
    say(b.near, "a");
    assert_false(wait_for(b.far, POLLIN, 100));
    say(b.near, "b");
    assert_false(wait_for(b.far, POLLIN, 100));
    say(b.near, "c");
    assert_true(wait_for(b.far, POLLIN, WAIT_MS));
    expect(b.far, "abc");
    say(b.near, "d");
    expect(b.far, "d");
    close_both(&b);

    open_both(&b, three); /* or when nothing more comes */
    say(b.near, "a");
    shutdown(b.near, SHUT_WR);
    expect(b.far, "a");
    expect_end(b.far);
    close_both(&b);
}

static void who_does_not_read_is_not_written_for(void **state)
{
    struct both b;
    char piece[16384] = { 0 };
    size_t taken = 0;

    (void)state;
    open_both(&b, NULL);
    say(b.near, "x");
    expect(b.far, "x");
    while (wait_for(b.far, POLLOUT, 300)) {
        ssize_t n = send(b.far, piece, sizeof(piece), 0);

        taken += n > 0 ? (size_t)n : 0;
        assert_true(taken < 8 << 20);
    }
    while (taken > 0) { /* and all of it comes */
        assert_true(wait_for(b.near, POLLIN, WAIT_MS));
        ssize_t n = recv(b.near, piece, sizeof(piece), 0);

        assert_true(n > 0);
        taken -= (size_t)n;
    }
    close_both(&b);
}

static void a_link_is_gone_when_it_holds_nothing_any_more(void **state)
{
    char piece[16384] = { 0 };
    int64_t end;
    struct both b;
    int before;

    (void)state;
    open_both(&b, NULL);
    say(b.near, "x");
    expect(b.far, "x");
    while (wait_for(b.far, POLLOUT, 300))
        if (send(b.far, piece, sizeof(piece), 0) < 0)
            assert_int_equal(errno, EAGAIN);
    before = atomic_load(&gone_count);
    close(b.far);
    b.far = -1;
    wait_for(b.near, 0, 300);
    assert_int_equal(atomic_load(&gone_count), before); /* nobody took what was written */
    close(b.near);
    b.near = -1;
    end = time_mono_us() + WAIT_MS * INT64_C(1000);
    while (atomic_load(&gone_count) < before + 2 && time_mono_us() < end)
        usleep(1000);
    assert_int_equal(atomic_load(&gone_count), before + 2); /* of both relays */
    close_both(&b);
    assert_int_equal(atomic_load(&gone_count), before + 2);
}

static void garbage_ends_it_and_is_reported(void **state)
{
    struct relay *r;
    struct relay_failures f;
    static const unsigned char record[] = { 0x16, 3, 1, 0, 4, 0x63, 0, 0, 0 }; /* no such message */
    int net[2], plain;
    unsigned char alert;

    (void)state;
    open_relay(&r, NULL, WAIT_MS);
    assert_false(relay_take_failures(r, &f));
    net_pair(net);
    plain = add(r, server_context, net[0]);
    assert_int_equal(send(net[1], record, sizeof(record), 0), sizeof(record));
    expect_end(plain);
    assert_true(relay_take_failures(r, &f));
    assert_int_equal(f.count, 1);
    assert_string_equal(f.label, "somebody");
    assert_true(strlen(f.why) > 5);
    assert_false(relay_take_failures(r, &f));
    assert_true(wait_for(net[1], POLLIN, WAIT_MS));
    assert_int_equal(recv(net[1], &alert, 1, 0), 1);
    assert_int_equal(alert, 0x15); /* it is told */
    close(net[1]);
    close(plain);
    relay_free(r, 0);
}

static void a_handshake_that_stops_is_given_up(void **state)
{
    struct relay *r;
    struct relay_failures f;
    int net[2], plain;

    (void)state;
    open_relay(&r, NULL, 20);
    net_pair(net);
    plain = add(r, server_context, net[0]);
    say(net[1], "\x16\x03\x01");
    expect_end(plain);
    assert_true(relay_take_failures(r, &f));
    assert_string_equal(f.why, "its handshake took too long");
    expect_end(net[1]);
    close(net[1]);
    close(plain);
    relay_free(r, 0);
}

static void what_is_under_way_is_sent_before_the_relay_ends(void **state)
{
    struct both b;
    char piece[4096] = { 0 };
    size_t left = 100000;

    (void)state;
    open_both(&b, NULL);
    say(b.near, "x");
    expect(b.far, "x");
    for (size_t n = left; n > 0;) {
        ssize_t some = send(b.far, piece, n < sizeof(piece) ? n : sizeof(piece), 0);

        assert_true(some > 0 || errno == EAGAIN);
        n -= some > 0 ? (size_t)some : 0;
    }
    close(b.far);
    relay_free(b.server, WAIT_MS);
    b.server = NULL;
    b.far = -1;
    while (left > 0) {
        assert_true(wait_for(b.near, POLLIN, WAIT_MS));
        ssize_t n = recv(b.near, piece, sizeof(piece), 0);

        assert_true(n > 0);
        left -= (size_t)n;
    }
    expect_end(b.near);
    close_both(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_bytes_go_both_ways_at_once),
        cmocka_unit_test(the_end_of_one_way_leaves_the_other),
        cmocka_unit_test(one_end_that_is_closed_closes_the_other_when_all_has_come),
        cmocka_unit_test(the_first_bytes_come_together),
        cmocka_unit_test(who_does_not_read_is_not_written_for),
        cmocka_unit_test(a_link_is_gone_when_it_holds_nothing_any_more),
        cmocka_unit_test(garbage_ends_it_and_is_reported),
        cmocka_unit_test(a_handshake_that_stops_is_given_up),
        cmocka_unit_test(what_is_under_way_is_sent_before_the_relay_ends),
    };

    return cmocka_run_group_tests(tests, make_contexts, free_contexts);
}
