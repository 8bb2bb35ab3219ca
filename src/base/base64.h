/* SPDX-License-Identifier: MIT */
/* Base64 with the usual alphabet and padding (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

void base64_put(struct buf *out, struct str bytes);

/* Appends the decoded bytes. False unless text is groups of four, with padding only at the end and
 * no unused bits; out may have got some bytes then. */
bool base64_read(struct str text, struct buf *out);

#endif
