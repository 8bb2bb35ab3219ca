/* SPDX-License-Identifier: MIT */
/*
 * Accounts of what clients hold: connections and bytes of buffers. There is one account for each
 * tenant whose tokens clients have shown, one for strangers, and one for clients that are confined
 * to no tenant.
 *
 * All buffers together have a limit, clients_memory. A tenant's account may grow while it holds
 * less than is free. So n tenants that want all get 1/(n+1) each, and as much is free for the next
 * tenant. The account without a tenant may use all. Beyond that an account is *crowded*: its
 * clients have small buffers, as strangers have, and requests whose answers may be large wait.
 * While requests wait, the account that holds most gives way. The server closes those of its
 * clients that have taken and sent nothing for a while, the largest first.
 *
 * A tenant may have another connection while it has fewer than are free.
 *
 * Accounts take turns with requests that wait for the loop: one client of each after another. So a
 * tenant with many connections does not keep those of others waiting.
 */
#ifndef SERVER_ACCOUNT_H
#define SERVER_ACCOUNT_H

#include "base/list.h"
#include "base/named.h"
#include "record/limits.h"

#define ACCOUNT_SMALL ((size_t)4096) /* a buffer of a stranger, or in a crowded account */

struct client;
struct server;
struct session;

struct account {
    struct named named; /* first: by the tenant; "" for strangers, "*" for no tenant */
    char name[NAME_MAX_BYTES];
    uint64_t clients;
    size_t bytes;            /* of the buffers of its clients */
    struct list waiting;     /* Clients that wait for memory, by `resume`. */
    struct list called;      /* Clients that go on when it is their turn, by `resume`. */
    struct list turn;        /* In accounts.turns, while `called` has clients. */
    int64_t max_connections; /* the setting of the tenant; 0: as many as are free */
    int64_t requests;        /* the setting of the tenant, in a second; 0: any number */
    int64_t credit;          /* requests of this second that are left, in thousandths */
    int64_t filled_ms;       /* monotonic: when credit was added last */
    struct list all;
};

struct accounts {
    struct table table;
    struct list all;
    struct list turns;        /* accounts with clients that go on, the next one first */
    struct account strangers; /* not in the table */
    size_t bytes;             /* of all accounts */
    uint64_t waits;           /* requests that had to wait for memory, so far */
    uint64_t closed;          /* clients that were closed for their memory, so far */
    uint64_t refused; /* tokens that were refused because their tenant had too many clients */
    uint64_t limited; /* requests that REQUESTS of a tenant refused */
    char why[NAME_MAX_BYTES + 64]; /* text of the last refusal */
    uint64_t episode;              /* the number of the present span in which clients wait */
    bool short_of;                 /* Clients wait. */
};

/* What accounts keep of a client. */
struct holding {
    struct account *account;
    uint64_t serial; /* of the token by which the account was chosen */
    bool known;      /* The client was no stranger when the account was chosen. */
    bool forced;     /* The client has waited in vain: its next request goes on in any case. */
    size_t bytes;
    uint64_t took;     /* bytes that came from it, so far */
    uint64_t episode;  /* accounts.episode when `progress` was noted */
    uint64_t progress; /* the last answer of client_ops.progress */
    int64_t moved_ms;  /* monotonic: when `progress` last changed */
};

void accounts_init(struct accounts *a, struct hash_key key);
void accounts_fini(struct accounts *a);
/* The limit of all buffers. */
size_t accounts_limit(const struct server *s);

/* Notes that the client's buffers have `bytes` now. Its token may have changed, too. */
void client_hold(struct client *c, size_t bytes);
/* The client is being closed. */
void client_unhold(struct client *c);
/* Whether the client's account holds as much as it may. */
bool client_is_crowded(const struct client *c);

/* Why the tenant of a right token may have no further client, or NULL. See session_target.admit. */
const char *account_refuses(struct session *session);

/* Whether requests of the client's tenant are counted. */
static inline bool account_counts(const struct holding *h)
{
    return h->account && h->account->requests;
}
/* Counts a request, if account_counts. False: its tenant has sent as many as it may; accounts.why
 * says so. */
bool account_spend(struct client *c, struct str verb);
/* Takes back the count of a request that will be executed, and counted, again. */
void account_give_back(struct client *c);

/* Has the client wait until its account is not crowded. */
void account_wait(struct client *c);
/* Lets clients go on whose accounts are no longer crowded. */
void accounts_resume(struct server *s);
/* Has the clients in `resume` of the server take turns, by accounts. */
void accounts_call(struct server *s);
/* The client whose turn it is; NULL: no client is called. */
struct client *accounts_next(struct server *s);
/* The server calls it now and then. It closes clients that keep others waiting. */
void accounts_sweep(struct server *s, int64_t mono_ms);

#endif
