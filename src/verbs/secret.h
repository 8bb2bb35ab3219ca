/* SPDX-License-Identifier: MIT */
/*
 * Secrets of tokens: how they are drawn, written, hashed and taken apart. A token's text is
 * `name.secret`; the secret is 32 random bytes as base64url, which has no dot, so the last dot
 * divides. What is stored is SHA-256 of the secret's text: with 256 bits of chance in it nothing
 * slower is needed.
 */
#ifndef VERBS_SECRET_H
#define VERBS_SECRET_H

#include "base/buf.h"
#include "engine/token.h"

#define SECRET_BYTES 32
#define SECRET_TEXT  43  /* of base64url without padding */
#define SECRET_MAX   512 /* of what is given for one; longer is wrong without being hashed whole */

/* False: the system has no random bytes. */
bool secret_draw(uint8_t *ret, size_t n);
void secret_write(const uint8_t bytes[SECRET_BYTES], char ret[SECRET_TEXT]);
void secret_hash(struct str secret, uint8_t ret[TOKEN_HASH_BYTES]);

/* The parts of what a client gave as user and password: a password with a dot in it is a token's
 * text, whatever the user; else the user is the token's name. Without user.ptr there was none. Any
 * bytes are taken apart somehow; what is no token's is then not found. */
void secret_parts(struct str user, struct str password, struct str *ret_name,
                  struct str *ret_secret);

/* Base64 for URLs, without padding. */
void base64url_write(struct buf *out, const uint8_t *bytes, size_t n);
/* False if it is none, or has bits beyond its bytes. */
bool base64url_read(struct str text, struct buf *out);

#endif
