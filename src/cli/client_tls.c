/* SPDX-License-Identifier: MIT */
#include "cli/client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "tls/context.h"
#include "tls/relay.h"

/* The process has one set of these: callers that open a connection know only a host and a port. */
static const struct cli *options;
static SSL_CTX *context;
static struct relay *relay;
static bool ends; /* end() is registered */

void client_tls_use(const struct cli *cli)
{
    options = cli;
}

/* Ends the relay before OpenSSL, which registered its own end earlier, ends itself. Every answer
 * that matters has come by then. */
static void end(void)
{
    relay_free(relay, 0);
    SSL_CTX_free(context);
}

static bool prepare(char why[TLS_WHY])
{
    struct tls_files files = { .cert = { "--cert", options->cert },
                               .key = { "--cert-key", options->cert_key },
                               .ca = { "--ca", options->ca } };
    struct relay_options o = { NULL, CLIENT_CONNECT_MS, CLIENT_CONNECT_MS, NULL };

    if (!context)
        context = tls_context(TLS_CLIENT, &files, why);
    if (context && !relay && relay_new(&o, &relay) < 0)
        snprintf(why, TLS_WHY, "cannot start a thread");
    else if (relay && !ends)
        ends = atexit(end) == 0;
    return context && relay;
}

/* The name or address that the certificate has to be for. */
static bool expect(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static void explain(SSL *ssl, const char *host, char why[TLS_WHY])
{
    long verified = SSL_get_verify_result(ssl);
    unsigned long code = ERR_peek_last_error();

    if (verified != X509_V_OK) {
        snprintf(why, TLS_WHY, "the certificate of %.200s is not accepted: %s", host,
                 X509_verify_cert_error_string(verified));
        ERR_clear_error();
    } else if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) {
        snprintf(why, TLS_WHY, "what answers there does not speak TLS");
        ERR_clear_error();
    } else if (code) {
        tls_error(why);
    } else {
        snprintf(why, TLS_WHY, "the server closed the connection within the handshake");
    }
}

static bool shake_hands(SSL *ssl, int fd, const char *host, int timeout_ms, char why[TLS_WHY])
{
    int64_t until = time_mono_ms() + timeout_ms;

    for (;;) {
        struct pollfd p = { .fd = fd };
        int64_t left = until - time_mono_ms();
        int result, error;

        ERR_clear_error();
        result = SSL_do_handshake(ssl);
        if (result == 1)
            return true;
        error = SSL_get_error(ssl, result);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            explain(ssl, host, why);
            return false;
        }
        p.events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        if (left <= 0 || poll(&p, 1, (int)left) == 0) {
            snprintf(why, TLS_WHY, "no TLS handshake in time");
            return false;
        }
    }
}

bool client_uses_tls(void)
{
    return options && (options->tls || *options->ca || *options->cert || *options->cert_key);
}

int client_tls_begin(struct client *c, const char *host, int timeout_ms)
{
    char why[TLS_WHY] = "out of memory";
    SSL *ssl = NULL;
    int fd = c->fd;

    if (!client_uses_tls())
        return 0;
    c->fd = -1;
    if (prepare(why))
        ssl = SSL_new(context);
    if (ssl && expect(ssl, host) && SSL_set_fd(ssl, fd) == 1) {
        SSL_set_connect_state(ssl);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        if (shake_hands(ssl, fd, host, timeout_ms, why)) {
            c->fd = relay_add(relay, ssl, fd, host, NULL);
            if (c->fd >= 0) {
                fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
                return 0;
            }
            return cli_fail(c->why, BELFRY_IO, "out of memory or descriptors");
        }
    }
    SSL_free(ssl);
    close(fd);
    return cli_fail(c->why, BELFRY_IO, "%.250s", why);
}

const char *client_tls_why(void)
{
    static struct relay_failures last;

    return relay && relay_take_failures(relay, &last) ? last.why : NULL;
}
