/* SPDX-License-Identifier: MIT */
#include "front/http_guess.h"

enum http_guess http_guess(struct str first)
{
    static const char *const begins[] = { "GET /",    "POST /",    "PUT /", "PATCH /",
                                          "DELETE /", "OPTIONS /", "HEAD /" };

    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        size_t len = strlen(begins[i]);
        size_t n = first.len < len ? first.len : len;

        if (memcmp(first.ptr, begins[i], n) == 0)
            return n == len ? HTTP_GUESS_YES : HTTP_GUESS_MORE;
    }
    return HTTP_GUESS_NO;
}
