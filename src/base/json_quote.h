/* SPDX-License-Identifier: MIT */
/* Any bytes as a JSON string. */
#ifndef BASE_JSON_QUOTE_H
#define BASE_JSON_QUOTE_H

#include "base/buf.h"

/* Appends s with its quotes; each byte that is not UTF-8 becomes U+FFFD. */
void json_quote(struct buf *out, struct str s);

/* Appends s, which is UTF-8, with its quotes. False, and nothing is appended: with its escapes it
 * is longer than `most` bytes. */
bool json_quote_within(struct buf *out, struct str s, size_t most);

/* Appends s as json_quote() does, with other text around it: `"name":`, s, `,`. */
void json_quote_in(struct buf *out, const char *before, struct str s, const char *after);

#endif
