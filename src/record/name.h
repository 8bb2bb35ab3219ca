/* SPDX-License-Identifier: MIT */
/* The names of queues and tenants. */
#ifndef RECORD_NAME_H
#define RECORD_NAME_H

#include "base/str.h"
#include "record/limits.h"

#define SCOPE_SEP      '@'
#define HIDDEN_MARK    '~'
#define TENANT_DEFAULT "default"
#define TENANT_ALL     "*"

#define NAME_RULE "expected 1-128 characters of A-Z a-z 0-9 . _ - : /" /* for error texts */

/* Whether the name of a queue, tenant, tag or the like obeys NAME_RULE. */
bool name_valid(struct str name);

/* A queue is named in full: `queue` for the default tenant, `tenant@queue` for another tenant. In a
 * lease_request `*@queue` stands for the queues of that name of all tenants. */
bool queue_name_valid(struct str full);
/* Also true for the engine's own queues, whose names begin with ~, as no user's name does. */
bool stored_name_valid(struct str full);
void scope_split(struct str full, struct str *ret_tenant, struct str *ret_queue);

/* The engine's own queues, which are hidden from users: kind, name, and whether the queue lists its
 * ended jobs. The audit log is one queue for all tenants. */
#define HIDDEN_QUEUES(X)           \
    X(RECURRENCE, "~recur", false) \
    X(BULK, "~bulk", true)         \
    X(AUDIT, "~audit", true)

enum hidden {
    HIDDEN_NONE,
#define HIDDEN_ENUM(kind, name, lists_ended) HIDDEN_##kind,
    HIDDEN_QUEUES(HIDDEN_ENUM)
#undef HIDDEN_ENUM
        HIDDEN_KINDS
};

struct hidden_row {
    struct str name;
    bool lists_ended;
};

extern const struct hidden_row hidden_rows[HIDDEN_KINDS];

/* The kind of a queue whose name without the tenant is this. */
enum hidden hidden_kind(struct str queue);
/* The full name of a tenant's hidden queue; it may be in buf. */
struct str hidden_queue_name(struct str tenant, enum hidden kind, char buf[QUEUE_MAX_BYTES]);

#endif
