/* SPDX-License-Identifier: MIT */
#include "verbs/secret.h"

#include <openssl/sha.h>
#include <sys/random.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool secret_draw(uint8_t *ret, size_t n)
{
    return getrandom(ret, n, 0) == (ssize_t)n; /* the system gives up to 256 bytes at once */
}

void secret_hash(struct str secret, uint8_t ret[TOKEN_HASH_BYTES])
{
    _Static_assert(TOKEN_HASH_BYTES == SHA256_DIGEST_LENGTH, "hashes are SHA-256");
    size_t n = secret.len < SECRET_MAX ? secret.len : SECRET_MAX;

    SHA256((const unsigned char *)(n ? secret.ptr : ""), n, ret);
}

/* Writes up to three bytes as digits; returns the number of digits. */
static size_t put_group(char *ret, const uint8_t *bytes, size_t n)
{
    uint32_t v = (uint32_t)bytes[0] << 16;

    v |= n > 1 ? (uint32_t)bytes[1] << 8 : 0;
    v |= n > 2 ? bytes[2] : 0;
    for (size_t i = 0; i <= n; i++)
        ret[i] = digits[v >> (18 - 6 * i) & 63];
    return n + 1;
}

void secret_write(const uint8_t bytes[SECRET_BYTES], char ret[SECRET_TEXT])
{
    size_t at = 0;

    for (size_t i = 0; i < SECRET_BYTES; i += 3)
        at += put_group(ret + at, bytes + i, SECRET_BYTES - i < 3 ? SECRET_BYTES - i : 3);
}

void base64url_write(struct buf *out, const uint8_t *bytes, size_t n)
{
    char group[4];

    for (size_t i = 0; i < n; i += 3)
        buf_append(out, group, put_group(group, bytes + i, n - i < 3 ? n - i : 3));
}

static int digit_of(char c)
{
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

bool base64url_read(struct str text, struct buf *out)
{
    uint32_t v = 0;
    unsigned bits = 0;

    if (text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int d = digit_of(text.ptr[i]);

        if (d < 0)
            return false;
        v = v << 6 | (uint32_t)d;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            buf_append(out, &(uint8_t){ (uint8_t)(v >> bits) }, 1);
            v &= (1u << bits) - 1;
        }
    }
    return v == 0;
}

void secret_parts(struct str user, struct str password, struct str *ret_name,
                  struct str *ret_secret)
{
    const char *dot = password.len ? memrchr(password.ptr, '.', password.len) : NULL;

    if (dot) {
        *ret_name = (struct str){ password.ptr, (size_t)(dot - password.ptr) };
        *ret_secret = (struct str){ dot + 1, password.len - ret_name->len - 1 };
    } else {
        *ret_name = user.ptr ? user : STR("");
        *ret_secret = password;
    }
}
