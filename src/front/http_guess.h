/* SPDX-License-Identifier: MIT */
/*
 * Whether a connection's first bytes are those of HTTP: a method, a blank and a slash. No verb of
 * RESP typed as a line looks like that: `GET` takes an id, which has no slash.
 */
#ifndef FRONT_HTTP_GUESS_H
#define FRONT_HTTP_GUESS_H

#include "base/str.h"

#define HTTP_GUESS_BYTES 9 /* enough to tell */

enum http_guess { HTTP_GUESS_NO, HTTP_GUESS_YES, HTTP_GUESS_MORE };

enum http_guess http_guess(struct str first);

/* Whether a request of RESP that was a line is one of HTTP all the same: a browser, or somebody who
 * has a browser ask for him. */
bool http_guess_words(const struct str *words, size_t n);

#endif
