/* SPDX-License-Identifier: MIT */
#include "tls/context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20" /* of TLS 1.2; all ciphers of 1.3 are good */

void tls_error(char why[TLS_WHY])
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;

    if (text)
        snprintf(why, TLS_WHY, "%s", text);
    else if (code)
        ERR_error_string_n(code, why, TLS_WHY);
    else
        snprintf(why, TLS_WHY, "the connection broke");
    ERR_clear_error();
}

/* "tls_cert /etc/belfry.pem: No such file or directory" */
static bool file_fail(char why[TLS_WHY], const struct tls_file *f, const char *text)
{
    snprintf(why, TLS_WHY, "%s %.200s: %.200s", f->name, f->path, text);
    ERR_clear_error();
    return false;
}

static bool is_given(const struct tls_file *f)
{
    return f->path && *f->path;
}

/* Refuses to ask for a passphrase. */
static int no_passphrase(char *ret, int size, int writing, void *arg)
{
    (void)ret;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static bool use_cert(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    char text[TLS_WHY];

    if (access(f->cert.path, R_OK) < 0)
        return file_fail(why, &f->cert, strerror(errno));
    if (SSL_CTX_use_certificate_chain_file(c, f->cert.path) == 1)
        return true;
    if (ERR_GET_REASON(ERR_peek_error()) == PEM_R_NO_START_LINE ||
        ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_PEM_LIB)
        return file_fail(why, &f->cert, "expected a certificate in PEM");
    tls_error(text); /* The key may be too short, for example. */
    return file_fail(why, &f->cert, text);
}

static bool use_key(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    FILE *file = fopen(f->key.path, "re");
    EVP_PKEY *key;
    bool fits;

    if (!file)
        return file_fail(why, &f->key, strerror(errno));
    key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    fclose(file);
    if (!key)
        return file_fail(why, &f->key, "expected a private key in PEM, without a passphrase");
    fits = X509_check_private_key(SSL_CTX_get0_certificate(c), key) == 1 &&
           SSL_CTX_use_PrivateKey(c, key) == 1;
    EVP_PKEY_free(key);
    if (!fits) {
        snprintf(why, TLS_WHY, "%s %.200s does not belong to the certificate of %s %.200s",
                 f->key.name, f->key.path, f->cert.name, f->cert.path);
        ERR_clear_error();
    }
    return fits;
}

static bool use_own(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    if (!is_given(&f->cert) || !is_given(&f->key)) {
        snprintf(why, TLS_WHY, "%s is missing: %s and %s go together",
                 is_given(&f->cert) ? f->key.name : f->cert.name, f->cert.name, f->key.name);
        return false;
    }
    return use_cert(c, f, why) && use_key(c, f, why);
}

static bool use_ca(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    if (access(f->ca.path, R_OK) < 0)
        return file_fail(why, &f->ca, strerror(errno));
    if (SSL_CTX_load_verify_file(c, f->ca.path) != 1)
        return file_fail(why, &f->ca, "expected certificates in PEM");
    return true;
}

static bool set_up_server(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    SSL_CTX_set_options(c, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_num_tickets(c, 0);
    if (!use_own(c, f, why))
        return false;
    if (!is_given(&f->ca))
        return true;
    if (!use_ca(c, f, why))
        return false;
    SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(f->ca.path));
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

static bool set_up_client(SSL_CTX *c, const struct tls_files *f, char why[TLS_WHY])
{
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    if (is_given(&f->ca) ? !use_ca(c, f, why) : SSL_CTX_set_default_verify_paths(c) != 1)
        return false;
    return (!is_given(&f->cert) && !is_given(&f->key)) || use_own(c, f, why);
}

/* Settings of servers and clients. */
static bool set_up_both(SSL_CTX *c, char why[TLS_WHY])
{
    if (!c || SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(c, CIPHERS) != 1) {
        tls_error(why);
        return false;
    }
    /* A connection that just ends counts as ended. Requests and replies say how long they are, so a
     * cut message is never taken for a whole one. */
    SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                               SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

SSL_CTX *tls_context(enum tls_side side, const struct tls_files *f, char why[TLS_WHY])
{
    bool server = side == TLS_SERVER;
    SSL_CTX *c = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

    if (!set_up_both(c, why) || !(server ? set_up_server : set_up_client)(c, f, why)) {
        SSL_CTX_free(c);
        c = NULL;
    }
    ERR_clear_error();
    return c;
}

int64_t tls_expires_ms(SSL_CTX *context)
{
    X509 *cert = SSL_CTX_get0_certificate(context);
    struct tm tm;

    if (!cert || ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
        return 0;
    return (int64_t)timegm(&tm) * 1000;
}
