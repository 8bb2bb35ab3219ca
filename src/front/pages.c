/* SPDX-License-Identifier: MIT */
#include "front/pages.h"

#define NONCE "NONCE"

/* The bytes of the pages, from CMake. */
static const unsigned char docs_html[] = {
#include <docs_html.inc>
};

static const unsigned char home_html[] = {
#include <home_html.inc>
};

/* Appends a text up to a mark. False: the mark does not come any more, and all is appended. */
static bool put_until(struct buf *out, struct str *rest, const char *mark)
{
    const char *found = memmem(rest->ptr, rest->len, mark, strlen(mark));
    size_t before = found ? (size_t)(found - rest->ptr) : rest->len;
    size_t used = found ? before + strlen(mark) : before;

    buf_append(out, rest->ptr, before);
    *rest = (struct str){ rest->ptr + used, rest->len - used };
    return found;
}

void page_write(struct buf *out, enum page page, const char *nonce)
{
    struct str rest = page == PAGE_DOCS
                          ? (struct str){ (const char *)docs_html, sizeof(docs_html) }
                          : (struct str){ (const char *)home_html, sizeof(home_html) };

    while (put_until(out, &rest, NONCE))
        buf_text(out, nonce);
}

void home_json(struct buf *out)
{
    buf_text(out, "{\"server\":\"belfry\",\"version\":\"" BELFRY_VERSION
                  "\",\"docs\":\"/docs\",\"openapi\":\"/openapi.json\",\"metrics\":\"/metrics\","
                  "\"ready\":\"/readyz\",\"health\":\"/healthz\"}");
}

void home_text(struct buf *out)
{
    buf_text(out, "Belfry " BELFRY_VERSION " runs jobs at their time: durable, exact, fast.\n\n"
                  "    /docs          the HTTP interface, as a page to read\n"
                  "    /openapi.json  the same for programs\n"
                  "    /metrics       figures for Prometheus\n"
                  "    /readyz        200 while requests are taken\n\n"
                  "A first job, due in five seconds:\n\n"
                  "    curl --json '{\"queue\":\"hello\",\"payload\":\"world\",\"in\":\"5s\"}' "
                  "http://HOST:PORT/v1/jobs\n"
                  "    redis-cli -p PORT SCHEDULE hello world IN 5s\n");
}
