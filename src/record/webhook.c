/* SPDX-License-Identifier: MIT */
#include "record/webhook.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"

#define SECRET_PREFIX STR("whsec_")
#define KEY_LEAST     24
#define KEY_MOST      64

/* ---- URLs ---- */

static bool push_refuse(const char **ret_why, const char *why)
{
    *ret_why = why;
    return false;
}

/* An empty slice may have no pointer, and NULL + 0 is undefined in C. */
static void skip(struct str *s, size_t n)
{
    if (n > 0)
        s->ptr += n;
    s->len -= n;
}

static size_t span(struct str s, const char *stop)
{
    size_t n = 0;

    while (n < s.len && (s.ptr[n] == '\0' || !strchr(stop, s.ptr[n])))
        n++;
    return n;
}

static bool host_valid(struct str host)
{
    bool brackets = host.len > 0 && host.ptr[0] == '[';

    if (host.len == 0 || host.len > 255 || host.ptr[0] == '.' || host.ptr[0] == '-')
        return false;
    if (brackets && (host.len < 4 || host.ptr[host.len - 1] != ']'))
        return false;
    for (size_t i = brackets; i < host.len - brackets; i++) {
        unsigned char c = (unsigned char)host.ptr[i];

        if (brackets ? !isxdigit(c) && c != ':' && c != '.'
                     : !isalnum(c) && c != '.' && c != '-' && c != '_')
            return false;
    }
    return true;
}

static bool port_read(struct str text, unsigned *ret)
{
    uint64_t port;

    if (text.len > 5 || !str_number(text, &port) || port == 0 || port > 65535)
        return false;
    *ret = (unsigned)port;
    return true;
}

static bool authority_parse(struct str s, struct push_url *ret, const char **ret_why)
{
    if (memchr(s.ptr, '@', s.len))
        return push_refuse(ret_why,
                           "expected no name or password in the URL: headers carry credentials");
    size_t n = s.len > 0 && s.ptr[0] == '[' ? span(s, "]") + 1 : span(s, ":");
    n = n < s.len ? n : s.len;
    ret->host = (struct str){ s.ptr, n };
    if (!host_valid(ret->host))
        return push_refuse(ret_why, "expected a host's name or address in plain ASCII behind ://");
    skip(&s, n);
    if (s.len == 0)
        return true;
    skip(&s, 1);
    if (s.ptr[-1] != ':' || !port_read(s, &ret->port))
        return push_refuse(ret_why, "expected a port from 1 to 65535 behind the host");
    return true;
}

bool push_url_parse(struct str url, struct push_url *ret, const char **ret_why)
{
    struct str s = url;

    if (url.len > URL_MAX_BYTES)
        return push_refuse(ret_why, "expected a URL of at most 2000 bytes");
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] >= 127 || strchr("\\\"<>^`{|}#", url.ptr[i]))
            return push_refuse(ret_why,
                               "expected a URL in plain ASCII, other characters as %XX, and no "
                               "fragment");
    size_t n = span(s, ":");
    if (str_ieq((struct str){ s.ptr, n }, "https"))
        *ret = (struct push_url){ .secure = true, .port = 443 };
    else if (str_ieq((struct str){ s.ptr, n }, "http"))
        *ret = (struct push_url){ .port = 80 };
    else
        return push_refuse(ret_why, "expected a URL that begins with http:// or https://");
    skip(&s, n);
    if (!str_starts(s, STR("://")))
        return push_refuse(ret_why, "expected a URL that begins with http:// or https://");
    skip(&s, 3);
    s.len = span(s, "/?");
    return authority_parse(s, ret, ret_why);
}

size_t push_origin(const struct push_url *u, char ret[ORIGIN_MAX])
{
    int n = snprintf(ret, ORIGIN_MAX, "%s://%.*s:%u", u->secure ? "https" : "http",
                     STR_ARG(u->host), u->port);

    for (int i = 0; i < n; i++)
        ret[i] = (char)tolower((unsigned char)ret[i]);
    return (size_t)n;
}

void endpoint_key_make(struct endpoint_key *ret, struct str tenant, struct str origin)
{
    size_t t = tenant.len < NAME_MAX_BYTES ? tenant.len : NAME_MAX_BYTES;
    size_t o = origin.len < ORIGIN_MAX ? origin.len : ORIGIN_MAX;

    memcpy(ret->text, tenant.ptr, t);
    ret->text[t] = '\0';
    memcpy(ret->text + t + 1, origin.ptr, o);
    ret->text[t + 1 + o] = '\0';
    ret->tenant_len = t;
    ret->len = t + 1 + o;
}

void endpoint_key_of_url(struct endpoint_key *ret, struct str tenant, const struct push_url *u)
{
    char origin[ORIGIN_MAX];

    endpoint_key_make(ret, tenant, (struct str){ origin, push_origin(u, origin) });
}

/* ---- Headers ---- */

static struct str trimmed(struct str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        skip(&s, 1);
    while (s.len > 0 &&
           (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r'))
        s.len--;
    return s;
}

bool push_header_next(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    while (rest->len > 0) {
        struct str line = trimmed(str_cut(rest, '\n'));

        if (line.len == 0)
            continue;
        *ret_name = str_cut(&line, ':');
        *ret_value = trimmed(line);
        return true;
    }
    return false;
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.ptr[i]) &&
            (s.ptr[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", s.ptr[i])))
            return false;
    return s.len > 0;
}

/* Headers that the server sets itself, or that would change how a request is read. */
static bool is_reserved(struct str name)
{
    static const char *const names[] = {
        "host",   "content-length", "transfer-encoding",  "te", "trailer", "connection", "upgrade",
        "expect", "keep-alive",     "proxy-authorization"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_ieq(name, names[i]))
            return true;
    return (name.len >= 8 && strncasecmp(name.ptr, "webhook-", 8) == 0) ||
           (name.len >= 7 && strncasecmp(name.ptr, "belfry-", 7) == 0);
}

bool push_headers_check(struct str headers, const char **ret_why)
{
    struct str name, value;
    size_t n = 0;

    if (headers.len > HEADERS_MAX_BYTES)
        return push_refuse(ret_why, "expected at most 4096 bytes");
    while (push_header_next(&headers, &name, &value)) {
        if (++n > HEADERS_MAX)
            return push_refuse(ret_why, "expected at most 32 of them");
        if (!is_token(name) || value.len == 0)
            return push_refuse(ret_why, "expected lines such as `Authorization: Bearer abc`");
        if (is_reserved(name))
            return push_refuse(ret_why,
                               "expected no header that the server sets itself, such as Host, "
                               "Content-Length or those that begin with webhook- and belfry-");
        for (size_t i = 0; i < value.len; i++)
            if ((value.ptr[i] < ' ' && value.ptr[i] != '\t') || value.ptr[i] >= 127)
                return push_refuse(ret_why, "expected values in plain ASCII");
    }
    return true;
}

/* ---- Secrets ---- */

bool push_secret_next(struct str *rest, struct str *ret)
{
    while (rest->len > 0 && rest->ptr[0] == ' ')
        skip(rest, 1);
    *ret = (struct str){ rest->ptr, span(*rest, " ") };
    skip(rest, ret->len);
    return ret->len > 0;
}

bool push_secret_read(struct str secret, struct buf *out)
{
    size_t before = out->len;

    if (!str_starts(secret, SECRET_PREFIX))
        return false;
    skip(&secret, SECRET_PREFIX.len);
    return base64_read(secret, out) && !out->failed && out->len - before >= KEY_LEAST &&
           out->len - before <= KEY_MOST;
}

bool push_secrets_check(struct str secrets, const char **ret_why)
{
    struct buf key = { 0 };
    struct str secret;
    size_t n = 0;
    bool good = secrets.len <= SECRETS_MAX_BYTES;

    while (good && push_secret_next(&secrets, &secret))
        good = ++n <= SECRETS && push_secret_read(secret, &key);
    buf_fini(&key);
    return good ||
           push_refuse(ret_why, "expected `whsec_` and 24 to 64 bytes in base64; two of them with "
                                "a blank between while one replaces the other");
}

_Static_assert(PUSH_RUNNING_MAX == 1000 && PUSH_TIMEOUT_MAX == 3600000, "as the errors say");

const char *push_settings_why(const struct push_settings *s, const char **ret_field)
{
    struct push_url u;
    const char *why;

    *ret_field = "push_url";
    if (s->url.len > 0 && !push_is_by_job(s) && !push_url_parse(s->url, &u, &why))
        return why;
    *ret_field = "push_headers";
    if (!push_headers_check(s->headers, &why))
        return why;
    *ret_field = "push_secret";
    if (!push_secrets_check(s->secrets, &why))
        return why;
    *ret_field = "push_timeout";
    if (s->timeout_ms < 1 || s->timeout_ms > PUSH_TIMEOUT_MAX)
        return "expected 1ms to 1h";
    *ret_field = "push_concurrency";
    if (s->concurrency < 1 || s->concurrency > PUSH_RUNNING_MAX)
        return "expected 1 to 1000";
    return NULL;
}
