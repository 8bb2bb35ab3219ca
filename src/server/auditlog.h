/* SPDX-License-Identifier: MIT */
/* What is entered into the audit log is a line of the server's log too. */
#ifndef SERVER_AUDITLOG_H
#define SERVER_AUDITLOG_H

#include "engine/audit.h"
#include "verbs/verb.h"

/* To be verb_host.audited of a server. */
void auditlog_line(const struct verb_host *h, const struct audit_entry *a);

#endif
