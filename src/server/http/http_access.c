/* SPDX-License-Identifier: MIT */
/* Who asks: the token of a request, and the page in a browser that may have sent it. */
#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <stdio.h>

#include "base/time.h"
#include "server/http/http_client.h"
#include "verbs/secret.h"

/* Whether the host is a name that only this machine has, or an address. The owner of a web page
 * could let any other name resolve to this machine. */
static bool is_own_host(const char *host)
{
    bool brackets = host[0] == '[';
    size_t len = strcspn(host, brackets ? "]" : ":");
    const char *rest = host + len + (brackets && host[len]);
    char name[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if ((rest[0] && (rest[0] != ':' || strspn(rest + 1, "0123456789") != strlen(rest + 1))) ||
        len >= sizeof(name))
        return false;
    memcpy(name, host, len);
    name[len] = '\0';
    if (brackets)
        return host[len] && inet_pton(AF_INET6, name + 1, &address) == 1;
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1;
}

static bool has_tokens(const struct server *s)
{
    return s->host.partition && engine_token_count(s->host.engine) > 0;
}

/* Whether the browser says that a page of another origin asks. A person may follow a link from
 * anywhere to the page of the API. */
static bool is_cross_site(const struct http_client *c)
{
    const char *site = http_header(c, "Sec-Fetch-Site"), *mode = http_header(c, "Sec-Fetch-Mode");

    if (!site || strcasecmp(site, "same-origin") == 0 || strcasecmp(site, "none") == 0)
        return false;
    return !(c->match.route && mode && strcasecmp(mode, "navigate") == 0 &&
             (c->match.route->page == HTTP_DOCS || c->match.route->page == HTTP_HOME));
}

/* Whether the origin of a page is this server, as far as Host says. */
static bool is_own_origin(const struct http_client *c, const char *origin)
{
    const char *host = http_header(c, MHD_HTTP_HEADER_HOST), *from = strstr(origin, "://");

    return host && from && strcasecmp(from + 3, host) == 0;
}

bool http_refuse_strangers(struct http_client *c)
{
    const char *host = http_header(c, MHD_HTTP_HEADER_HOST),
               *origin = http_header(c, MHD_HTTP_HEADER_ORIGIN);

    if (has_tokens(c->client.server)) /* No browser sends tokens by itself; cookies: refuse_page. */
        return false;
    if (host && !c->client.peer.tls && !is_own_host(host))
        http_turn_away(c, "INVALID", 421, "Host: expected localhost or an address");
    else if (origin && !is_own_origin(c, origin))
        http_turn_away(c, "INVALID", 403, "Origin: pages of other origins are not answered");
    else if (is_cross_site(c))
        http_turn_away(c, "INVALID", 403,
                       "Sec-Fetch-Site: pages of other origins are not answered");
    return c->answered;
}

/* The token of `Bearer name.secret`; ptr NULL if the header is missing or says something else. */
static struct str bearer_of(const char *value)
{
    const char *token = http_behind(value, "Bearer ");

    return token ? str_of(token + strspn(token, " ")) : (struct str){ 0 };
}

/* Whether this token was right before on this connection, and still is. Then it is not looked up
 * again, and wrong tokens of others at this address do not matter. */
static bool is_shown_again(struct http_client *c, const uint8_t *hash)
{
    return c->has_shown && CRYPTO_memcmp(c->shown, hash, sizeof(c->shown)) == 0 &&
           identity_check(&c->client.session.who, c->client.server->host.engine,
                          c->client.session.remote) == 0;
}

/* 0, WRONGPASS, BUSY. */
static int show_token(struct http_client *c, struct str token)
{
    struct session_target target = client_target(c->client.server, client_is_crowded(&c->client));
    uint8_t hash[TOKEN_HASH_BYTES];
    int err;

    secret_hash(token, hash);
    if (is_shown_again(c, hash))
        return 0;
    http_become_nobody(c);
    err = session_auth(&c->client.session, &target, (struct str){ 0 }, token);
    if (!err) {
        memcpy(c->shown, hash, sizeof(hash));
        c->has_shown = true;
    }
    return err;
}

void http_become_nobody(struct http_client *c)
{
    c->has_shown = false;
    c->client.session.login = 0;
    identity_forget(&c->client.session.who);
}

/* Whether the route is a page that a person may open by its address, and that changes nothing. */
static bool is_page(const struct http_route *r)
{
    return r && r->page != HTTP_VERB && r->method == HTTP_GET;
}

/* Why a page may not use the cookie of a session; NULL: it may. A browser sends a cookie with each
 * request to this server, whatever page makes it ask. The browser says which page it was. */
static const char *refuse_page(const struct http_client *c)
{
    const char *site = http_header(c, "Sec-Fetch-Site");
    const char *origin = http_header(c, MHD_HTTP_HEADER_ORIGIN);

    if (!site)
        return "Sec-Fetch-Site: is missing, which browsers send over TLS and to localhost; other "
               "clients show their token in the header Authorization";
    if (strcasecmp(site, "none") == 0 && is_page(c->match.route))
        return NULL;
    if (strcasecmp(site, "same-origin") != 0)
        return "Sec-Fetch-Site: pages of other origins cannot use a session";
    /* A page that hides where it comes from has no Origin of its own: null. */
    if (origin && strcmp(origin, "null") != 0 && !is_own_origin(c, origin))
        return "Origin: differs from Host; a proxy has to hand Host on as it is";
    return NULL;
}

/* Takes the token of the session whose cookie the request has. After an error, or if the request
 * was turned away, the client is nobody. NOAUTH, BUSY. */
static int show_cookie(struct http_client *c)
{
    struct session_target target = client_target(c->client.server, client_is_crowded(&c->client));
    struct str cookie = login_cookie(http_header(c, MHD_HTTP_HEADER_COOKIE));
    const char *why = cookie.ptr ? refuse_page(c) : NULL;
    const struct login *l =
        cookie.ptr && !why ? logins_find(&c->client.server->http.logins, cookie, time_mono_ms())
                           : NULL;

    if (!l || l->number != c->client.session.login)
        http_become_nobody(c);
    if (why)
        http_turn_away(c, "NOPERM", 403, why);
    else if (!l && cookie.ptr)
        http_turn_away(c, "NOAUTH", 401, "the session of this browser has ended: log in again");
    return l ? login_resume(l, &c->client.session, &target) : 0;
}

void http_authenticate(struct http_client *c)
{
    struct server *s = c->client.server;
    struct str token = bearer_of(http_header(c, MHD_HTTP_HEADER_AUTHORIZATION));
    const struct http_route *route = c->match.route;
    char text[160];
    int err = 0;

    if (route && route->open && route->page == HTTP_SESSION) {
        const char *why = refuse_page(c);

        if (why)
            http_turn_away(c, "NOPERM", 403, why);
    }
    if ((route && route->open) || http_turn_away_early(c))
        return;
    if (!has_tokens(s))
        http_become_nobody(c);
    else if (token.ptr)
        err = show_token(c, token);
    else
        err = show_cookie(c);
    if (c->answered)
        return;
    if (err == BELFRY_BUSY) {
        http_turn_away(c, "BUSY", 429, session_auth_why(&c->client.session, err));
    } else if (err == BELFRY_WRONGPASS) {
        http_turn_away(c, error_name(err), 401, session_auth_why(&c->client.session, err));
    } else if (err || identity_check(&c->client.session.who, s->host.engine,
                                     c->client.session.remote) < 0) {
        snprintf(text, sizeof(text), "%s: %s", error_text(BELFRY_NOAUTH),
                 identity_why(&c->client.session.who, s->host.engine));
        http_turn_away(c, "NOAUTH", 401, text);
    } else if (route && !http_admit(&c->client.session, route, &c->answer)) {
        c->answered = true;
    }
}
