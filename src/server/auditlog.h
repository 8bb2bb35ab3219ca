/* SPDX-License-Identifier: MIT */
/* What is entered into the audit log is a line of the server's log too. */
#ifndef SERVER_AUDITLOG_H
#define SERVER_AUDITLOG_H

#include "engine/audit.h"
#include "verbs/verb.h"

/* To be verb_host.audited of a server. */
void auditlog_line(const struct verb_host *h, const struct audit_entry *a);

/* Its auth_failed: the first wrong token from an address and the one from which on it is shut out.
 */
void auditlog_wrong_token(const struct verb_host *h, struct str address, uint32_t n);

#endif
