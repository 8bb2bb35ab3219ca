/* SPDX-License-Identifier: MIT */
#include "front/http_docs.h"

#define NONCE "NONCE"

/* docs.html, as bytes; made by CMake. */
static const unsigned char page[] = {
#include <docs_html.inc>
};

void http_docs(struct buf *out, const char *nonce)
{
    struct str rest = { (const char *)page, sizeof(page) };
    const char *found;

    while ((found = memmem(rest.ptr, rest.len, NONCE, strlen(NONCE)))) {
        size_t before = (size_t)(found - rest.ptr), used = before + strlen(NONCE);

        buf_append(out, rest.ptr, before);
        buf_text(out, nonce);
        rest = (struct str){ rest.ptr + used, rest.len - used };
    }
    buf_str(out, rest);
}
