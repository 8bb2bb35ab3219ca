/* SPDX-License-Identifier: MIT */
/*
 * What pushes read of users and endpoints: URLs, headers, secrets, Retry-After, push_allow. The
 * first byte chooses. A URL that is accepted means the same to curl's parser.
 */
#include "fuzz.h"

#include <curl/curl.h>

#include "engine/push.h"
#include "server/push/push_answer.h"
#include "server/push/push_guard.h"
#include "server/push/push_request.h"

#define NOW INT64_C(1794778000000)

static void check_part(CURLU *c, CURLUPart part, const char *expected)
{
    char *text = NULL;

    CHECK(curl_url_get(c, part, &text, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) ==
          CURLUE_OK);
    CHECK(strcasecmp(text, expected) == 0);
    curl_free(text);
}

/* curl writes addresses in its own form (0x7f.1 is 127.0.0.1), so of these only that they are read
 * is compared: what is connected to is looked at in any case. */
static void check_like_curl(struct str url, const struct push_url *u)
{
    char text[URL_MAX_BYTES + 1], part[URL_MAX_BYTES + 1], *user = NULL;
    CURLU *c = curl_url();

    memcpy(text, url.ptr, url.len);
    text[url.len] = '\0';
    if (curl_url_set(c, CURLUPART_URL, text, 0) == CURLUE_OK) { /* it is stricter with IPv6 */
        CHECK(curl_url_get(c, CURLUPART_USER, &user, 0) == CURLUE_NO_USER);
        check_part(c, CURLUPART_SCHEME, u->secure ? "https" : "http");
        snprintf(part, sizeof(part), "%u", u->port);
        check_part(c, CURLUPART_PORT, part);
        snprintf(part, sizeof(part), "%.*s", STR_ARG(u->host));
        if (strspn(part, "0123456789abcdefABCDEFxX.:[]") != strlen(part))
            check_part(c, CURLUPART_HOST, part);
    }
    curl_url_cleanup(c);
}

static void check_url(struct str s)
{
    char origin[ORIGIN_MAX];
    const char *why = NULL;
    struct push_url u, again;

    if (!push_url_parse(s, &u, &why)) {
        CHECK(why && strstr(why, "expected"));
        return;
    }
    CHECK(u.port > 0 && u.port <= 65535 && u.host.len > 0 && u.host.ptr >= s.ptr &&
          u.host.ptr + u.host.len <= s.ptr + s.len);
    size_t n = push_origin(&u, origin);
    CHECK(push_url_parse((struct str){ origin, n }, &again, &why));
    CHECK(again.port == u.port && again.secure == u.secure && again.host.len == u.host.len);
    check_like_curl(s, &u);
}

static void check_headers(struct str s)
{
    const char *why = NULL;
    struct str name, value;
    bool good = push_headers_check(s, &why);
    size_t n = 0;

    CHECK(good || (why && strstr(why, "expected")));
    while (push_header_next(&s, &name, &value)) {
        if (!good)
            continue;
        n++;
        CHECK(name.len > 0 && value.len > 0);
        for (size_t i = 0; i < name.len; i++)
            CHECK(name.ptr[i] > ' ' && name.ptr[i] < 127 && name.ptr[i] != ':');
        for (size_t i = 0; i < value.len; i++)
            CHECK((value.ptr[i] >= ' ' || value.ptr[i] == '\t') && value.ptr[i] < 127);
    }
    CHECK(n <= HEADERS_MAX);
}

static void check_secrets(struct str s)
{
    struct buf out = { 0 };
    const char *why = NULL;

    if (push_secrets_check(s, &why))
        CHECK(push_sign(s, STR("id"), 1, STR("body"), &out) == 0);
    else
        CHECK(why);
    buf_fini(&out);
}

static void check_retry_after(struct str s)
{
    int64_t ms = retry_after_parse(s, NOW);

    CHECK(ms >= -1 && ms <= RETRY_AFTER_MAX);
}

static void check_allow(struct str s)
{
    struct push_guard g;
    struct str bad = { 0 };

    if (push_guard_parse(s, &g, &bad))
        CHECK(g.count <= GUARD_RULES);
    else
        CHECK(bad.ptr >= s.ptr && bad.ptr + bad.len <= s.ptr + s.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(struct str s) = { check_url, check_headers, check_secrets,
                                                    check_retry_after, check_allow };
    if (size == 0)
        return 0;
    char *copy = fuzz_copy((struct str){ (const char *)data + 1, size - 1 });

    checks[data[0] % 5]((struct str){ copy, size - 1 });
    free(copy);
    return 0;
}
