/* SPDX-License-Identifier: MIT */
/* Pages that are answered without a verb. */
#include <stdio.h>

#include "base/time.h"
#include "front/openapi.h"
#include "front/pages.h"
#include "server/http/http_client.h"
#include "verbs/secret.h"

/* A random text by which a page's scripts and styles are known. */
static bool draw_nonce(char *ret)
{
    uint64_t bits;

    if (!secret_draw((uint8_t *)&bits, sizeof(bits)))
        return false;
    sprintf(ret, "%016llx", (unsigned long long)bits);
    return true;
}

/* /metrics is for the roles of METRICS. */
static void answer_metrics(struct http_client *c)
{
    struct server *s = c->client.server;
    const struct identity *who = &c->client.session.who;
    const struct verb *v = verb_find(verb_table, STR("METRICS"));
    char roles[64], text[128];

    if (http_turn_away_early(c))
        return;
    if (!verb_allows(v, who->role)) {
        verb_roles(v, roles, sizeof(roles));
        snprintf(text, sizeof(text), "/metrics is for %s; this token is %s", roles,
                 role_name(who->role));
        http_turn_away(c, "NOPERM", 403, text);
        return;
    }
    c->type = "text/plain; version=0.0.4; charset=utf-8";
    if (metrics_text(s->host.engine, s->host.partition, &s->verb_host,
                     who->confined ? identity_tenant(who) : STR(TENANT_ALL), &c->answer.body) < 0)
        c->answer.body.failed = true;
}

static void answer_html(struct http_client *c, enum page page)
{
    c->html = true;
    if (!draw_nonce(c->nonce))
        c->answer.body.failed = true;
    page_write(&c->answer.body, page, c->nonce);
}

static void answer_file(struct http_client *c, const struct ui_file *file)
{
    char etag[UI_ETAG_TEXT];

    if (!file || !c->client.server->options.ui.on) {
        http_turn_away(c, "NOTFOUND", 404, "there is no such file");
        return;
    }
    c->file = file;
    c->packed = ui_takes_packed(http_header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    ui_etag(file, c->packed, etag);
    if (ui_is_held(http_header(c, MHD_HTTP_HEADER_IF_NONE_MATCH), etag))
        c->answer.status = 304;
    else
        c->shared = c->packed ? file->packed : file->plain; /* No copy: strangers may ask for it. */
}

/* ui_prefix without its slash leads to the page behind the slash, because links of the page are
 * relative. False: the request is about another path. */
static bool answer_prefix(struct http_client *c)
{
    struct str uri = buf_view(&c->uri), path = str_cut(&uri, '?');

    if (path.len == 0 || path.ptr[path.len - 1] == '/')
        return false;
    c->answer.status = 308;
    snprintf(c->answer.location, sizeof(c->answer.location), "%.*s/", STR_ARG(path));
    return true;
}

/* A page for browsers; JSON or text for programs, which mostly take anything. */
static void answer_home(struct http_client *c)
{
    const char *accept = http_header(c, MHD_HTTP_HEADER_ACCEPT);

    if (answer_prefix(c))
        return;
    if (accept && strstr(accept, "text/html") && c->client.server->options.ui.on) {
        answer_file(c, ui_find(STR(UI_INDEX)));
    } else if (accept && strstr(accept, "text/html")) {
        answer_html(c, PAGE_HOME);
    } else if (accept && strstr(accept, "json")) {
        home_json(&c->answer.body);
    } else {
        c->type = "text/plain; charset=utf-8";
        home_text(&c->answer.body);
    }
}

/* ---- Headers ---- */

/* A script can reach this server alone, and a form, too. */
#define UI_POLICY                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

static void add_file_headers(const struct http_client *c, struct MHD_Response *r)
{
    char etag[UI_ETAG_TEXT];

    ui_etag(c->file, c->packed, etag);
    http_add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, ui_type(c->file));
    http_add_header(r, "Content-Security-Policy", UI_POLICY);
    http_add_header(r, MHD_HTTP_HEADER_ETAG, etag);
    /* A browser asks each time, so that it sees the files of a new program at once. */
    http_add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    http_add_header(r, MHD_HTTP_HEADER_VARY,
                    c->match.route->page == HTTP_HOME ? "Accept, Accept-Encoding"
                                                      : "Accept-Encoding");
    if (c->packed && c->shared.ptr)
        http_add_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

/* The page takes nothing from elsewhere. */
static void add_html_headers(const struct http_client *c, struct MHD_Response *r)
{
    char policy[256];

    snprintf(policy, sizeof(policy),
             "default-src 'none'; connect-src 'self'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             c->nonce, c->nonce);
    http_add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
    http_add_header(r, "Content-Security-Policy", policy);
    http_add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

/* No other page may contain the page, or have hold of its window. */
void http_add_page_headers(const struct http_client *c, struct MHD_Response *r)
{
    if (c->file)
        add_file_headers(c, r);
    else
        add_html_headers(c, r);
    http_add_header(r, "Referrer-Policy", "no-referrer");
    http_add_header(r, "Cross-Origin-Opener-Policy", "same-origin");
}

/* ---- Pages ---- */

void http_answer_page(struct http_client *c)
{
    struct server *s = c->client.server;
    struct http_answer *a = &c->answer;
    int64_t begun_us = time_mono_us();

    a->status = 200;
    switch (c->match.route->page) {
    case HTTP_VERB: break;
    case HTTP_HEALTHZ: buf_text(&a->body, "{\"status\":\"ok\"}"); break;
    case HTTP_READYZ:
        if (http_turn_away_early(c))
            break;
        if (host_is_full(&s->host))
            http_turn_away(c, "FULL", 503, "a commit waits for space on the disk");
        else
            buf_text(&a->body, "{\"status\":\"ok\"}");
        break;
    case HTTP_OPENAPI:
        if (!s->http.openapi.len)
            openapi_write(&s->http.openapi);
        c->shared = buf_view(&s->http.openapi); /* No copy: strangers may ask for it. */
        a->body.failed = s->http.openapi.failed;
        break;
    case HTTP_METRICS: answer_metrics(c); break;
    case HTTP_EVENTS: http_stream_begin(c, http_header(c, "Last-Event-ID")); break;
    case HTTP_DOCS: answer_html(c, PAGE_DOCS); break;
    case HTTP_HOME: answer_home(c); break;
    case HTTP_ICON: a->status = 204; break;
    case HTTP_SESSION: http_answer_session(c); break;
    case HTTP_UI: answer_file(c, ui_find(c->match.args[0])); break;
    }
    slow_note(s, c->match.route->path, SLOW_REQUEST, time_mono_us() - begun_us,
              c->client.session.id);
    http_note_answer(c, c->lsn);
}
