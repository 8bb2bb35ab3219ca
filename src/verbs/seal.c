/* SPDX-License-Identifier: MIT */
#include "verbs/seal.h"

#include <openssl/evp.h>

#include "verbs/handlers.h"
#include "verbs/secret.h"

/*     nonce (12 bytes) | the text, enciphered | tag (16)     and that as base64url */
#define NONCE_BYTES 12
#define TAG_BYTES   16
#define SEALED_MAX  ((size_t)NONCE_BYTES + SEAL_TEXT + TAG_BYTES)

/* Whose it is, and what for, is bound to it but not in it. */
static bool bind(EVP_CIPHER_CTX *x, const struct seal *s, bool seals)
{
    int n;
    int (*update)(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int) =
        seals ? EVP_EncryptUpdate : EVP_DecryptUpdate;

    return update(x, NULL, &n, (const unsigned char *)s->purpose, (int)strlen(s->purpose) + 1) ==
               1 &&
           update(x, NULL, &n, (const unsigned char *)s->tenant.ptr, (int)s->tenant.len) == 1;
}

/* Returns the length; 0: it cannot be done. */
static size_t encipher(const struct seal *s, struct str text, uint8_t ret[SEALED_MAX])
{
    const uint8_t *key = engine_token_key(s->engine);
    EVP_CIPHER_CTX *x = key && secret_draw(ret, NONCE_BYTES) ? EVP_CIPHER_CTX_new() : NULL;
    uint8_t *body = ret + NONCE_BYTES;
    int n = 0, last = 0;
    bool ok = x && EVP_EncryptInit_ex2(x, EVP_aes_256_gcm(), key, ret, NULL) == 1 &&
              bind(x, s, true) &&
              EVP_EncryptUpdate(x, body, &n, (const unsigned char *)text.ptr, (int)text.len) == 1 &&
              EVP_EncryptFinal_ex(x, body + n, &last) == 1 &&
              EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, body + text.len) == 1;

    EVP_CIPHER_CTX_free(x);
    return ok ? NONCE_BYTES + text.len + TAG_BYTES : 0;
}

/* Returns the length of the text; 0: it is none of ours. */
static size_t decipher(const struct seal *s, const struct buf *sealed, char ret[SEAL_TEXT])
{
    const uint8_t *key = engine_token_key(s->engine);
    size_t len = sealed->len > NONCE_BYTES + TAG_BYTES && sealed->len <= SEALED_MAX
                     ? sealed->len - NONCE_BYTES - TAG_BYTES
                     : 0;
    EVP_CIPHER_CTX *x = key && len ? EVP_CIPHER_CTX_new() : NULL;
    const unsigned char *nonce = (const unsigned char *)sealed->ptr;
    int n = 0, last = 0;
    bool ok = x && EVP_DecryptInit_ex2(x, EVP_aes_256_gcm(), key, nonce, NULL) == 1 &&
              bind(x, s, false) &&
              EVP_DecryptUpdate(x, (unsigned char *)ret, &n, nonce + NONCE_BYTES, (int)len) == 1 &&
              EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_SET_TAG, TAG_BYTES,
                                  sealed->ptr + NONCE_BYTES + len) == 1 &&
              EVP_DecryptFinal_ex(x, (unsigned char *)ret + n, &last) == 1;

    EVP_CIPHER_CTX_free(x);
    return ok ? len : 0;
}

void seal_put(const struct seal *s, struct str text, struct buf *out)
{
    uint8_t sealed[SEALED_MAX];

    base64url_write(out, sealed, encipher(s, text, sealed));
}

size_t seal_open(const struct seal *s, struct str text, char ret[SEAL_TEXT])
{
    struct buf sealed = { 0 };
    size_t len = text.len <= 2 * SEALED_MAX && base64url_read(text, &sealed) && !sealed.failed
                     ? decipher(s, &sealed, ret)
                     : 0;

    buf_fini(&sealed);
    return len;
}

/* ---- Cursors ---- */

static struct seal seal_of(const struct verb_call *c)
{
    return (struct seal){ c->engine, c->verb->name, c->tenant };
}

void seal_reply(struct verb_call *c, const struct list_cursor *cursor)
{
    char text[CURSOR_TEXT];
    struct str plain = { text, cursor->more ? cursor_format(cursor, text) : 0 };
    struct seal s = seal_of(c);
    struct buf out = { 0 };

    if (!cursor->more) {
        reply_null(c->reply);
    } else if (!verb_is_confined(c)) {
        reply_bytes(c->reply, plain);
    } else {
        seal_put(&s, plain, &out);
        reply_bytes(c->reply, out.failed ? STR("") : buf_view(&out));
    }
    buf_fini(&out);
}

bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret)
{
    struct seal s = seal_of(c);
    char plain[SEAL_TEXT];
    size_t len;

    if (!verb_is_confined(c))
        return cursor_parse(text, ret);
    len = seal_open(&s, text, plain);
    return len > 0 && cursor_parse((struct str){ plain, len }, ret);
}
