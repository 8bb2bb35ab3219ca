/* SPDX-License-Identifier: MIT */
#include "cli/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define REFUSE(...) (snprintf(why, ADDRESS_WHY, __VA_ARGS__), false)

enum { HOST, PORT };

static bool is_port(struct str text)
{
    uint64_t n = 0;

    return text.len <= 5 && str_number(text, &n) && n >= 1 && n <= 65535;
}

bool address_port(struct cli *c, const char *text, char why[ADDRESS_WHY])
{
    if (!is_port(str_of(text)))
        return REFUSE("'%.100s' is not a port: expected a number from 1 to 65535", text);
    c->port = text;
    return true;
}

/* Splits `host`, `host:port` and `[address]:port`. An empty port: there is none. */
static bool split(struct str text, struct str *ret_host, struct str *ret_port,
                  char why[ADDRESS_WHY])
{
    bool bracket = text.len > 0 && text.ptr[0] == '[';
    const char *end = bracket ? memchr(text.ptr, ']', text.len) : memchr(text.ptr, ':', text.len);
    size_t len = end ? (size_t)(end - text.ptr) : text.len;
    struct str rest = str_from(text, len + (bracket && end));

    if (bracket && !end)
        return REFUSE("'%.*s': the closing ] is missing", STR_ARG(text));
    *ret_port = (struct str){ 0 };
    *ret_host = bracket ? (struct str){ text.ptr + 1, len - 1 } : (struct str){ text.ptr, len };
    if (!bracket && rest.len > 1 && memchr(rest.ptr + 1, ':', rest.len - 1)) {
        *ret_host = text; /* an address of IPv6 */
        return true;
    }
    if (rest.len > 0) {
        *ret_port = str_from(rest, 1);
        if (rest.ptr[0] != ':' || !is_port(*ret_port))
            return REFUSE("'%.*s': expected a port from 1 to 65535 behind the host", STR_ARG(text));
    }
    return ret_host->len > 0 || REFUSE("'%.*s': the host is missing", STR_ARG(text));
}

static bool set_address(struct cli *c, struct str text, char why[ADDRESS_WHY])
{
    struct str host, port;

    if (text.len >= sizeof(c->room[HOST]))
        return REFUSE("the address is too long");
    if (!split(text, &host, &port, why))
        return false;
    snprintf(c->room[HOST], sizeof(c->room[HOST]), "%.*s", STR_ARG(host));
    c->host = c->room[HOST];
    if (port.len > 0) {
        snprintf(c->room[PORT], sizeof(c->room[PORT]), "%.*s", STR_ARG(port));
        c->port = c->room[PORT];
    }
    return true;
}

bool address_host(struct cli *c, const char *text, char why[ADDRESS_WHY])
{
    return set_address(c, str_of(text), why);
}

/* Keeps the token of a URL as auth_token() looks for it. */
static void keep_token(struct str token)
{
    char *text = strndup(token.ptr, token.len);

    if (text)
        setenv("BELFRY_AUTH", text, 0);
    free(text);
}

bool address_url(struct cli *c, const char *text, bool secret, char why[ADDRESS_WHY])
{
    static const struct {
        const char *name;
        bool tls;
    } schemes[] = { { "belfry", false }, { "belfrys", true }, { "http", false },
                    { "https", true },   { "redis", false },  { "rediss", true } };
    const char *colon = strstr(text, "://"), *rest = colon ? colon + 3 : text;
    size_t len = strcspn(rest, "/?#"), i = 0;
    const char *at = memchr(rest, '@', len);
    struct str host = { at ? at + 1 : rest, at ? len - (size_t)(at + 1 - rest) : len };
    size_t count = sizeof(schemes) / sizeof(*schemes);

    while (i < count &&
           !(colon && str_ieq((struct str){ text, (size_t)(colon - text) }, schemes[i].name)))
        i++;
    if (i == count)
        return REFUSE("expected belfry://HOST:PORT, or belfrys:// for TLS");
    if (rest[len] && strcmp(rest + len, "/") != 0)
        return REFUSE("expected nothing behind the port");
    if (at && !secret)
        return REFUSE("a token does not belong on a command line, which others can see: use "
                      "--auth-file or $BELFRY_URL");
    if (!set_address(c, host, why))
        return false;
    c->tls = schemes[i].tls;
    if (at)
        keep_token((struct str){ rest, (size_t)(at - rest) });
    return true;
}
