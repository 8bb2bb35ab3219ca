/* SPDX-License-Identifier: MIT */
/* /v1/session: a browser shows a token once, and has a cookie from then on. */
#include <openssl/crypto.h>
#include <stdio.h>

#include "base/time.h"
#include "front/json_reply.h"
#include "front/login.h"
#include "server/http/http_client.h"

/* Over TLS the browser sends the cookie over TLS only. A proxy may speak TLS in place of the
 * server, which the browser tells by its Origin. */
static bool is_secure(const struct http_client *c)
{
    return c->client.peer.tls ||
           http_behind(http_header(c, MHD_HTTP_HEADER_ORIGIN), "https://") != NULL;
}

/* Has the browser keep a cookie for so long; 0: it forgets the cookie. No script sees the cookie,
 * and no page of another site makes the browser send it. */
static void set_cookie(struct http_client *c, struct str value, int64_t ms)
{
    snprintf(c->cookie, sizeof(c->cookie),
             LOGIN_COOKIE "=%.*s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
             STR_ARG(value), (long long)(ms / 1000), is_secure(c) ? "; Secure" : "");
}

/* When the session ends, by the wall clock; -1: never. */
static int64_t session_end(const struct http_client *c)
{
    const struct server *s = c->client.server;
    const struct session *session = &c->client.session;
    int64_t mono_ms = time_mono_ms(), end = session->who.expires_ms;
    const struct login *l = logins_get(&s->http.logins, session->login, mono_ms);
    int64_t login_end = l ? engine_now(s->host.engine) + l->until_ms - mono_ms : 0;

    if (l && (end == 0 || login_end < end))
        end = login_end;
    return end ? end : -1;
}

static void show_session(struct http_client *c)
{
    const struct server *s = c->client.server;
    const struct identity *who = &c->client.session.who;
    struct login_view v = {
        .role = who->role,
        .tenant = who->confined ? identity_tenant(who) : STR(TENANT_ALL),
        .label = str_of(s->options.ui.label),
        .version = STR(BELFRY_VERSION),
        .token_name = identity_name(who),
        .expires_ms = session_end(c),
        .open = engine_token_count(s->host.engine) == 0,
    };
    struct json_reply reply;

    json_reply_init(&reply, &c->answer.body, NULL);
    shape_put(&reply.base, login_fields, &v);
}

/* 0, or an error with the sentence in `why`. */
static int log_in(struct http_client *c, struct str token, char *why, size_t why_size)
{
    struct server *s = c->client.server;
    struct session *session = &c->client.session;
    struct session_target target = client_target(s, client_is_crowded(&c->client));
    int64_t ms = s->options.ui.session_ms;
    char secret[SECRET_TEXT];
    const struct login *l;
    int err = session_auth(session, &target, (struct str){ 0 }, token);

    if (err) {
        snprintf(why, why_size, "%s", session_auth_why(session, err));
        return err;
    }
    err = session_enter(session, &target, "LOGIN", why, why_size);
    if (err)
        return err;
    c->lsn = engine_visible_lsn(s->host.engine); /* the answer waits for the entry */
    l = logins_add(&s->http.logins, &session->who, time_mono_ms(), ms, secret);
    if (!l)
        return BELFRY_NOMEM;
    session->login = l->number;
    set_cookie(c, (struct str){ secret, sizeof(secret) }, ms);
    OPENSSL_cleanse(secret, sizeof(secret));
    return 0;
}

static void answer_login(struct http_client *c)
{
    struct server *s = c->client.server;
    struct arg_value args[VERB_ARGS_MAX];
    char why[256] = "";
    uint32_t given;
    int err;

    if (http_turn_away_early(c))
        return;
    if (!host_may_execute(&s->host)) {
        http_turn_away(c, "BUSY", 503, "the disk does not keep up: try again in a while");
        return;
    }
    host_advance(&s->host);
    http_become_nobody(c);
    if (engine_token_count(s->host.engine) == 0) {
        http_fail(BELFRY_INVALID, "there are no tokens, so that no session is needed", &c->answer);
        return;
    }
    err = verb_parse(&login_options, &s->verb_host, c->call.words, c->call.n, why, sizeof(why),
                     args, &given);
    if (!err)
        err = log_in(c, args[0].str, why, sizeof(why));
    if (err == BELFRY_BUSY || err == BELFRY_WRONGPASS) /* as for a token in a header */
        http_turn_away(c, error_name(err), err == BELFRY_BUSY ? 429 : 401, why);
    else if (err)
        http_fail(err, why, &c->answer);
    else
        show_session(c);
}

/* Without a session there is nothing to end. */
static void answer_logout(struct http_client *c)
{
    struct server *s = c->client.server;
    struct session_target target = client_target(s, false);
    uint64_t number = c->client.session.login;
    char why[256] = "";

    c->answer.status = 204;
    set_cookie(c, STR(""), 0);
    if (!number)
        return;
    logins_remove(&s->http.logins, number);
    host_advance(&s->host);
    if (session_enter(&c->client.session, &target, "LOGOUT", why, sizeof(why)) == 0)
        c->lsn = engine_visible_lsn(s->host.engine);
    clients_end_login(s, number);
}

/* The token may have expired although no request has noticed that yet. */
static void answer_look(struct http_client *c)
{
    struct host *h = &c->client.server->host;
    struct session *session = &c->client.session;

    host_advance(h);
    if (identity_check(&session->who, h->engine, session->remote) < 0)
        http_fail(BELFRY_NOAUTH, identity_why(&session->who, h->engine), &c->answer);
    else
        show_session(c);
}

void http_answer_session(struct http_client *c)
{
    switch (c->match.route->method) {
    case HTTP_POST: answer_login(c); break;
    case HTTP_DELETE: answer_logout(c); break;
    default: answer_look(c); break;
    }
}
