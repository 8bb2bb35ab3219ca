/* SPDX-License-Identifier: MIT */
/*
 * Secrets of tokens. The text of a token is `name.secret`; the secret is 32 random bytes as
 * base64url, which has no dot, so the last dot divides. The server stores SHA-256 of the secret's
 * text: 256 random bits need no slower hash.
 */
#ifndef VERBS_SECRET_H
#define VERBS_SECRET_H

#include "base/buf.h"
#include "engine/token.h"

#define SECRET_BYTES 32
#define SECRET_TEXT  43  /* of base64url without padding */
#define SECRET_MAX   512 /* bytes that are hashed; a longer secret is wrong */

/* False: the system has no random bytes. */
bool secret_draw(uint8_t *ret, size_t n);
void secret_write(const uint8_t bytes[SECRET_BYTES], char ret[SECRET_TEXT]);
void secret_hash(struct str secret, uint8_t ret[TOKEN_HASH_BYTES]);

/* The name and secret that a client gave as user (ptr NULL: none) and password. A password with a
 * dot is a token's text, whatever the user; else the user is the token's name. Any bytes have such
 * parts, though no token may match them. */
void secret_parts(struct str user, struct str password, struct str *ret_name,
                  struct str *ret_secret);

/* Base64 for URLs, without padding. */
void base64url_write(struct buf *out, const uint8_t *bytes, size_t n);
/* False if the text is no base64url, or has bits beyond its bytes. */
bool base64url_read(struct str text, struct buf *out);

#endif
