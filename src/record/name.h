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

/* Names of queues and tenants: 1-128 of A-Z a-z 0-9 . _ - : / */
bool name_valid(struct str name);

/* A queue is named in full: `queue` for the default tenant, `tenant@queue` for another tenant. In a
 * lease_request `*@queue` stands for the queues of that name of all tenants. */
bool queue_name_valid(struct str full);
/* Also true for the engine's own queues, whose names begin with ~, as no user's name does. */
bool stored_name_valid(struct str full);
void scope_split(struct str full, struct str *ret_tenant, struct str *ret_queue);

/* The full name of a hidden queue of a tenant, in buf or `queue` itself. */
void hidden_queue_name(struct str tenant, struct str queue, char buf[QUEUE_MAX_BYTES],
                       struct str *ret);

#endif
