/* SPDX-License-Identifier: MIT */
/* Base64 with the usual alphabet and padding (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

void base64_put(struct buf *out, struct str bytes);

/* Appends what text stands for. Strict: whole groups of four, padding only at the end, no unused
 * bits. False otherwise; out may have got some bytes then. */
bool base64_read(struct str text, struct buf *out);

#endif
