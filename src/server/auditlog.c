/* SPDX-License-Identifier: MIT */
#include "server/auditlog.h"

#include "server/server.h"

/* A field of a log line: what is no plain text there is left out. */
static const char *log_text(struct str s, char buf[AUDIT_WORDS_MAX + 1])
{
    size_t n = s.len < AUDIT_WORDS_MAX ? s.len : AUDIT_WORDS_MAX;

    for (size_t i = 0; i < n; i++)
        buf[i] = s.ptr[i] >= ' ' && s.ptr[i] < 127 ? s.ptr[i] : '?';
    buf[n] = '\0';
    return buf;
}

void auditlog_line(const struct verb_host *h, const struct audit_entry *a)
{
    const struct server *s = container_of(h, struct server, verb_host);
    char tenant[AUDIT_WORDS_MAX + 1], client[AUDIT_WORDS_MAX + 1], request[AUDIT_WORDS_MAX + 1];
    char user[AUDIT_WORDS_MAX + 1], address[AUDIT_WORDS_MAX + 1], verb[AUDIT_WORDS_MAX + 1],
        outcome[AUDIT_WORDS_MAX + 1];

    log_line(&s->log, LOG_LEVEL_INFO, "audit", "tenant", log_text(a->tenant, tenant), "user",
             log_text(a->user, user), "client", log_text(a->client, client), "address",
             log_text(a->address, address), "verb", log_text(a->verb, verb), "request",
             log_text(a->request, request), "outcome", log_text(a->outcome, outcome), NULL);
}
