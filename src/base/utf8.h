/* SPDX-License-Identifier: MIT */
/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdint.h>

#include "base/str.h"

/* The bytes of the first character of s (1-4), 0 if it is malformed or s is empty. */
size_t utf8_decode(struct str s, uint32_t *ret);
/* The length of the longest beginning of s that is UTF-8. */
size_t utf8_span(struct str s);
bool utf8_valid(struct str s);

#endif
