/* SPDX-License-Identifier: MIT */
/*
 * Contexts of OpenSSL: certificates, keys, and the authorities to believe. They allow TLS 1.2 and
 * 1.3, and ciphers that encrypt and authenticate in one. They allow neither renegotiation nor
 * compression. No session is resumed,
 * so a certificate that is no longer accepted is refused from the next connection on.
 *
 * Every file is PEM. The text of an error names the setting, the file and the mistake.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#define TLS_WHY 512

enum tls_side { TLS_SERVER, TLS_CLIENT };

struct tls_file {
    const char *name; /* of the setting, for messages */
    const char *path; /* "" or NULL: none */
};

struct tls_files {
    struct tls_file cert; /* the certificate, followed by the intermediate certificates */
    struct tls_file key;
    struct tls_file ca; /* Servers ask for client certificates of these authorities, or for none.
                           Clients believe these authorities, or those of the system. */
};

/* A context that the caller frees with SSL_CTX_free, or NULL with why. */
SSL_CTX *tls_context(enum tls_side side, const struct tls_files *f, char why[TLS_WHY]);

/* When the context's certificate ends, in milliseconds; 0 if that is unknown. */
int64_t tls_expires_ms(SSL_CTX *context);

/* Takes OpenSSL's last complaint in this thread, for people. Never empty. */
void tls_error(char why[TLS_WHY]);

#endif
