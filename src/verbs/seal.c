/* SPDX-License-Identifier: MIT */
#include "verbs/seal.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "verbs/handlers.h"
#include "verbs/secret.h"

/* A cursor is sealed as
 *
 *     nonce (12 bytes) | its text, enciphered | tag (16)     and that as base64url */
#define NONCE_BYTES 12
#define TAG_BYTES   16
#define PAIR_BYTES  16
#define SEALED_MAX  ((size_t)NONCE_BYTES + CURSOR_TEXT + TAG_BYTES)

/* AES-256-GCM in either direction. Purpose and tenant are bound to the text, but not in it. */
static bool cipher_text(const struct seal *s, bool seals, const uint8_t *nonce, const void *in,
                        size_t len, void *ret, uint8_t *tag)
{
    const uint8_t *key = engine_token_key(s->engine);
    EVP_CIPHER_CTX *x = key ? EVP_CIPHER_CTX_new() : NULL;
    const void *purpose = s->purpose, *tenant = s->tenant.ptr;
    uint8_t *to = ret;
    int n = 0, last = 0;
    bool ok = x && EVP_CipherInit_ex2(x, EVP_aes_256_gcm(), key, nonce, seals, NULL) == 1 &&
              EVP_CipherUpdate(x, NULL, &n, purpose, (int)strlen(s->purpose) + 1) == 1 &&
              EVP_CipherUpdate(x, NULL, &n, tenant, (int)s->tenant.len) == 1 &&
              EVP_CipherUpdate(x, to, &n, in, (int)len) == 1 &&
              (seals || EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1) &&
              EVP_CipherFinal_ex(x, to + n, &last) == 1 &&
              (!seals || EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) == 1);

    EVP_CIPHER_CTX_free(x);
    return ok;
}

/* Returns the length; 0: it cannot be done. */
static size_t encipher(const struct seal *s, struct str text, uint8_t ret[SEALED_MAX])
{
    uint8_t *body = ret + NONCE_BYTES;

    return secret_draw(ret, NONCE_BYTES) &&
                   cipher_text(s, true, ret, text.ptr, text.len, body, body + text.len)
               ? NONCE_BYTES + text.len + TAG_BYTES
               : 0;
}

/* Returns the length of the text; 0: the server has not sealed it. */
static size_t decipher(const struct seal *s, const struct buf *sealed, char ret[CURSOR_TEXT])
{
    uint8_t *nonce = (uint8_t *)sealed->ptr;
    size_t len;

    if (sealed->len <= NONCE_BYTES + TAG_BYTES || sealed->len > SEALED_MAX)
        return 0;
    len = sealed->len - NONCE_BYTES - TAG_BYTES;
    return cipher_text(s, false, nonce, nonce + NONCE_BYTES, len, ret, nonce + NONCE_BYTES + len)
               ? len
               : 0;
}

/* ---- Pairs of numbers ---- */

/* AES-256 of single blocks, with a key for this purpose and tenant; there is no nonce to use twice.
 * NULL: it cannot be done. */
static EVP_CIPHER_CTX *block_cipher(const struct seal *s, bool seals)
{
    const uint8_t *key = engine_token_key(s->engine);
    EVP_CIPHER_CTX *x = key ? EVP_CIPHER_CTX_new() : NULL;
    struct buf about = { 0 };
    uint8_t own[EVP_MAX_MD_SIZE];
    bool ok;

    buf_append(&about, s->purpose, strlen(s->purpose) + 1);
    buf_str(&about, s->tenant);
    ok = x && !about.failed &&
         HMAC(EVP_sha256(), key, TOKEN_HASH_BYTES, (const unsigned char *)about.ptr, about.len, own,
              NULL) &&
         EVP_CipherInit_ex2(x, EVP_aes_256_ecb(), own, NULL, seals, NULL) == 1 &&
         EVP_CIPHER_CTX_set_padding(x, 0) == 1;
    buf_fini(&about);
    if (ok)
        return x;
    EVP_CIPHER_CTX_free(x);
    return NULL;
}

static bool cipher_block(EVP_CIPHER_CTX *x, const uint8_t in[PAIR_BYTES], uint8_t ret[PAIR_BYTES])
{
    int n = 0;

    return x && EVP_CipherUpdate(x, ret, &n, in, PAIR_BYTES) == 1 && n == PAIR_BYTES;
}

struct seal_pairs {
    EVP_CIPHER_CTX *cipher;
};

struct seal_pairs *seal_pairs_new(const struct seal *s)
{
    struct seal_pairs *p = malloc(sizeof(*p));

    if (p)
        p->cipher = block_cipher(s, true);
    if (p && p->cipher)
        return p;
    free(p);
    return NULL;
}

void seal_pairs_free(struct seal_pairs *p)
{
    if (p)
        EVP_CIPHER_CTX_free(p->cipher);
    free(p);
}

void seal_pairs_put(const struct seal_pairs *p, uint64_t a, uint64_t b, struct buf *out)
{
    uint8_t plain[PAIR_BYTES], sealed[PAIR_BYTES];

    memcpy(plain, &a, sizeof(a));
    memcpy(plain + sizeof(a), &b, sizeof(b));
    if (p && cipher_block(p->cipher, plain, sealed))
        base64url_write(out, sealed, sizeof(sealed));
}

bool seal_pair_open(const struct seal *s, struct str text, uint64_t *ret_a, uint64_t *ret_b)
{
    EVP_CIPHER_CTX *x = block_cipher(s, false);
    struct buf sealed = { 0 };
    uint8_t plain[PAIR_BYTES];
    bool ok = text.len == SEAL_PAIR_TEXT && base64url_read(text, &sealed) && !sealed.failed &&
              sealed.len == PAIR_BYTES && cipher_block(x, (const uint8_t *)sealed.ptr, plain);

    EVP_CIPHER_CTX_free(x);
    buf_fini(&sealed);
    if (!ok)
        return false;
    memcpy(ret_a, plain, sizeof(*ret_a));
    memcpy(ret_b, plain + sizeof(*ret_a), sizeof(*ret_b));
    return true;
}

/* ---- Cursors ---- */

static struct seal seal_of(const struct verb_call *c)
{
    return (struct seal){ c->engine, c->verb->name, c->tenant };
}

void seal_reply(const struct verb_call *c, const struct list_cursor *cursor)
{
    char text[CURSOR_TEXT];
    struct str plain = { text, cursor_format(cursor, text) };
    struct seal s = seal_of(c);
    uint8_t sealed[SEALED_MAX];
    struct buf out = { 0 };

    if (verb_is_confined(c)) {
        base64url_write(&out, sealed, encipher(&s, plain, sealed));
        plain = out.failed ? STR("") : buf_view(&out);
    }
    reply_bytes(c->reply, plain);
    buf_fini(&out);
}

bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret)
{
    struct seal s = seal_of(c);
    struct buf sealed = { 0 };
    char plain[CURSOR_TEXT];
    size_t len;

    if (!verb_is_confined(c))
        return cursor_parse(text, ret);
    len = text.len <= 2 * SEALED_MAX && base64url_read(text, &sealed) && !sealed.failed
              ? decipher(&s, &sealed, plain)
              : 0;
    buf_fini(&sealed);
    return len > 0 && cursor_parse((struct str){ plain, len }, ret);
}
