/* SPDX-License-Identifier: MIT */
/* Headers of requests that a proxy could read in another way than the server. */
#include <ctype.h>
#include <stdio.h>

#include "server/http/http_client.h"

/* Headers that may stand in a request once. */
static const char *const single[] = { MHD_HTTP_HEADER_HOST,
                                      MHD_HTTP_HEADER_CONTENT_LENGTH,
                                      MHD_HTTP_HEADER_TRANSFER_ENCODING,
                                      MHD_HTTP_HEADER_CONTENT_TYPE,
                                      "Idempotency-Key",
                                      MHD_HTTP_HEADER_AUTHORIZATION,
                                      MHD_HTTP_HEADER_COOKIE,
                                      MHD_HTTP_HEADER_ORIGIN,
                                      "Sec-Fetch-Site" };
#define SINGLES (sizeof(single) / sizeof(single[0]))

/* Facts about the headers of a request. */
struct headers {
    unsigned counts[SINGLES];
    bool bad_name; /* A name has a character that no name may have, such as a blank. */
};

/* Whether a name consists of the characters of a token (RFC 9110, 5.6.2). libmicrohttpd takes any,
 * also a blank before the colon. */
static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    const char *p = name;

    while (isalnum((unsigned char)*p) || (*p && strchr(others, *p)))
        p++;
    return *p == '\0' && p > name;
}

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct headers *h = arg;

    (void)kind;
    (void)value;
    h->bad_name = h->bad_name || !is_token(name);
    for (size_t i = 0; i < SINGLES; i++)
        h->counts[i] += strcasecmp(name, single[i]) == 0;
    return MHD_YES;
}

const char *http_ambiguous(struct http_client *c, char *text, size_t size)
{
    struct headers h = { 0 };

    MHD_get_connection_values(c->connection, MHD_HEADER_KIND, look_at_header, &h);
    if (h.bad_name)
        return "the name of a header has a blank or another character that names do not have";
    for (size_t i = 0; i < SINGLES; i++) {
        if (h.counts[i] > 1) {
            snprintf(text, size, "%s: is given twice", single[i]);
            return text;
        }
    }
    return h.counts[1] && h.counts[2] ? "Content-Length and Transfer-Encoding: expected one of them"
                                      : NULL;
}
