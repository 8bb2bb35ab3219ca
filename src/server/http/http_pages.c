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

/* A page for browsers; JSON or text for programs, which mostly take anything. */
static void answer_home(struct http_client *c)
{
    const char *accept = http_header(c, MHD_HTTP_HEADER_ACCEPT);

    if (accept && strstr(accept, "text/html")) {
        answer_html(c, PAGE_HOME);
    } else if (accept && strstr(accept, "json")) {
        home_json(&c->answer.body);
    } else {
        c->type = "text/plain; charset=utf-8";
        home_text(&c->answer.body);
    }
}

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
        c->shared = &s->http.openapi; /* No copy: strangers may ask for it. */
        a->body.failed = s->http.openapi.failed;
        break;
    case HTTP_METRICS: answer_metrics(c); break;
    case HTTP_EVENTS: http_stream_begin(c, http_header(c, "Last-Event-ID")); break;
    case HTTP_DOCS: answer_html(c, PAGE_DOCS); break;
    case HTTP_HOME: answer_home(c); break;
    case HTTP_ICON: a->status = 204; break;
    }
    slow_note(s, c->match.route->path, SLOW_REQUEST, time_mono_us() - begun_us,
              c->client.session.id);
    c->answered = true;
}
