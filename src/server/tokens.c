/* SPDX-License-Identifier: MIT */
#include "server/tokens.h"

#include <stdio.h>

#include "server/client.h"

void tokens_note(struct server *s)
{
    uint64_t now = engine_token_generation(s->host.engine);
    struct list *node, *after;

    if (s->token_generation == now)
        return;
    s->token_generation = now;
    list_each_safe (node, after, &s->clients) {
        struct client *c = client_of_all(node);

        if (identity_check(&c->session->who, s->host.engine, c->session->remote) < 0)
            client_drain(c);
    }
}

void tokens_wrong(const struct verb_host *h, struct str address, uint32_t n)
{
    const struct server *s = container_of(h, struct server, verb_host);
    char from[sizeof(((struct session *)0)->address)];

    snprintf(from, sizeof(from), "%.*s", STR_ARG(address));
    if (n == 1)
        log_line(&s->log, LOG_LEVEL_WARN, "a wrong token was shown", "address", from, NULL);
    else if (n == GUARD_FAILURES)
        log_line(&s->log, LOG_LEVEL_WARN,
                 "many wrong tokens were shown: no more are looked at from there for a minute",
                 "address", from, NULL);
}
