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

bool http_guess_words(const struct str *words, size_t n)
{
    static const char *const methods[] = { "GET",   "POST",   "HEAD",   "PUT",
                                           "PATCH", "DELETE", "OPTIONS" };

    if (n > 0 && str_ieq(words[0], "host:"))
        return true;
    if (n != 3 || !str_starts(words[2], STR("HTTP/")))
        return false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (str_ieq(words[0], methods[i]))
            return true;
    return false;
}
