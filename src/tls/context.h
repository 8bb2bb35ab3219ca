/* SPDX-License-Identifier: MIT */
/*
 * What TLS is spoken with: certificates, keys, whom to believe. TLS 1.2 and 1.3; ciphers that
 * encrypt and authenticate in one; no renegotiation, no compression, and no sessions that are
 * resumed, so that a certificate that is no longer accepted is not accepted from the next
 * connection on.
 *
 * Every file is PEM. The text of an error names the setting, the file and the mistake.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#define TLS_WHY 512

struct tls_files {
    const char *cert; /* with the intermediate certificates; "" or NULL: none */
    const char *key;
    const char *ca; /* server: issuers of client certificates, "": none is asked for; client: "":
                       the system's */
};

/* The names under which the files are known to the user, for messages. */
struct tls_names {
    const char *cert;
    const char *key;
    const char *ca;
};

/* A context of the caller's (SSL_CTX_free), or NULL with why. */
SSL_CTX *tls_server_context(const struct tls_files *f, const struct tls_names *n,
                            char why[TLS_WHY]);
SSL_CTX *tls_client_context(const struct tls_files *f, const struct tls_names *n,
                            char why[TLS_WHY]);

/* When the context's certificate ends, in milliseconds; 0 if that is not known. */
int64_t tls_expires_ms(SSL_CTX *context);

/* What OpenSSL last complained of in this thread, for people; forgets it. Never empty. */
void tls_error(char why[TLS_WHY]);

#endif
