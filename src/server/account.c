/* SPDX-License-Identifier: MIT */
#include "server/account.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "server/client.h"

#define LEAST_LIMIT ((size_t)16 << 20)
#define MEMORY_PART 8                  /* The limit is this part of `memory` if none is set. */
#define LAZY_BYTES  ((size_t)64 << 10) /* Clients that hold less are not closed. */
#define LAZY_MS     2000               /* A client without progress for this time is lazy. */
#define FORCED_PART 16                 /* An account below this part of the limit is forced on. */

void accounts_init(struct accounts *a, struct hash_key key)
{
    *a = (struct accounts){ 0 };
    named_init(&a->table, key);
    list_init(&a->all);
    lists_init(&a->turns, &a->strangers.waiting, &a->strangers.called, &a->strangers.turn);
    list_append(&a->all, &a->strangers.all);
}

void accounts_fini(struct accounts *a)
{
    list_each_of_safe (struct account, each, &a->all, all) {
        if (each == &a->strangers)
            continue;
        table_remove(&a->table, &each->named.node);
        free(each);
    }
    table_fini(&a->table);
}

size_t accounts_limit(const struct server *s)
{
    size_t part = (size_t)s->options.memory / MEMORY_PART;

    if (s->options.clients_memory)
        return (size_t)s->options.clients_memory;
    return part > LEAST_LIMIT ? part : LEAST_LIMIT;
}

/* ---- Which account ---- */

static struct account *account_get(struct accounts *as, struct str name)
{
    struct account *a = (struct account *)named_find(&as->table, name);

    if (a)
        return a;
    a = calloc(1, sizeof(*a));
    if (!a)
        return &as->strangers; /* This account has the narrowest limits. */
    named_add(&as->table, &a->named, a->name, name);
    lists_init(&a->waiting, &a->called, &a->turn);
    list_append(&as->all, &a->all);
    return a;
}

static struct account *account_of(struct client *c)
{
    struct accounts *as = &c->server->accounts;
    const struct identity *who = &c->session.who;

    if (client_is_stranger(c))
        return &as->strangers;
    return account_get(as, who->confined ? identity_tenant(who) : STR(TENANT_ALL));
}

static bool is_open(const struct account *a)
{
    return str_eq(a->named.name, STR(TENANT_ALL));
}

static void leave(struct client *c)
{
    struct accounts *as = &c->server->accounts;
    struct account *a = c->holding.account;

    if (!a)
        return;
    a->clients--;
    a->bytes -= c->holding.bytes;
    as->bytes -= c->holding.bytes;
    c->holding.account = NULL;
    c->holding.bytes = 0;
    if (a->clients || a == &as->strangers)
        return;
    table_remove(&as->table, &a->named.node);
    list_remove(&a->all);
    list_remove(&a->turn);
    list_splice(&c->server->resume, &a->called); /* clients that have changed accounts */
    list_splice(&c->server->resume, &a->waiting);
    free(a);
}

/* Puts the client into the account of its token. */
static void join(struct client *c)
{
    struct account *a = account_of(c);
    struct holding *h = &c->holding;
    size_t bytes = h->bytes;

    h->serial = c->session.who.serial;
    h->known = a != &c->server->accounts.strangers;
    if (a == h->account)
        return;
    a->clients++;
    leave(c);
    h->account = a;
    h->bytes = bytes;
    a->bytes += bytes;
    c->server->accounts.bytes += bytes;
}

void client_hold(struct client *c, size_t bytes)
{
    struct holding *h = &c->holding;

    if (h->serial != c->session.who.serial || h->known == client_is_stranger(c) || !h->account)
        join(c);
    if (bytes == h->bytes)
        return;
    h->account->bytes += bytes - h->bytes;
    c->server->accounts.bytes += bytes - h->bytes;
    h->bytes = bytes;
}

void client_unhold(struct client *c)
{
    leave(c);
}

/* ---- Limits ---- */

static bool account_is_crowded(const struct server *s, const struct account *a)
{
    size_t limit = accounts_limit(s), all = s->accounts.bytes;
    size_t rest = limit > all ? limit - all : 0;

    if (all < rest) /* the usual case: no account has more than all have together */
        return false;
    return is_open(a) ? rest == 0 : a->bytes >= rest;
}

bool client_is_crowded(const struct client *c)
{
    return c->holding.account && !c->holding.forced &&
           account_is_crowded(c->server, c->holding.account);
}

/* Looks up the settings of the account's tenant. */
static void account_look(struct server *s, struct account *a)
{
    struct tenant_view v;

    a->max_connections = 0;
    a->requests = 0;
    if (a == &s->accounts.strangers || is_open(a) || !s->host.engine ||
        engine_tenant_get(s->host.engine, a->named.name, &v) != 0)
        return;
    a->max_connections = v.settings->max_connections;
    a->requests = v.settings->requests;
}

#define THOUSAND INT64_C(1000)

bool account_spend(struct client *c, struct str verb)
{
    struct accounts *as = &c->server->accounts;
    struct account *a = c->holding.account;
    int64_t now_ms, full;
    const struct verb *v;

    now_ms = time_mono_ms();
    full = a->requests * THOUSAND;
    /* N requests in a second are N thousandths of a request in a millisecond. */
    if (!a->filled_ms || now_ms - a->filled_ms >= 2 * THOUSAND)
        a->credit = full;
    else
        a->credit += (now_ms - a->filled_ms) * a->requests;
    a->credit = a->credit < full ? a->credit : full;
    a->filled_ms = now_ms;
    if (a->credit < THOUSAND) {
        v = verb_find(verb_table, verb);
        if (!v || !(v->flags & VERB_HOLDS) || a->credit < THOUSAND - full) {
            as->limited++;
            snprintf(as->why, sizeof(as->why), "requests of %.*s is %lld in a second",
                     STR_ARG(a->named.name), (long long)a->requests);
            return false;
        }
    }
    a->credit -= THOUSAND;
    return true;
}

void account_give_back(struct client *c)
{
    if (c->holding.account)
        c->holding.account->credit += THOUSAND;
}

const char *account_refuses(struct session *session)
{
    struct client *c = container_of(session, struct client, session);
    struct server *s = c->server;
    uint64_t most = (uint64_t)s->options.max_connections, all = peers_total(&s->peers);
    struct account *a = account_of(c);
    bool same = a == c->holding.account;

    account_look(s, a);
    if (!same && a->max_connections && a->clients >= (uint64_t)a->max_connections)
        snprintf(s->accounts.why, sizeof(s->accounts.why), "max_connections of %.*s is %lld",
                 STR_ARG(a->named.name), (long long)a->max_connections);
    else if (!same && !is_open(a) && a->clients >= (most > all ? most - all : 0) + 1)
        snprintf(s->accounts.why, sizeof(s->accounts.why),
                 "this tenant has as many connections as one tenant may: as many as are free");
    else
        same = true;
    if (!same) {
        s->accounts.refused++;
        identity_forget(&session->who);
        if (!a->clients && a != &s->accounts.strangers) { /* it was made just now */
            table_remove(&s->accounts.table, &a->named.node);
            list_remove(&a->all);
            free(a);
        }
        return s->accounts.why;
    }
    join(c);
    return NULL;
}

/* ---- Waiting ---- */

void account_wait(struct client *c)
{
    struct accounts *as = &c->server->accounts;

    as->waits++;
    as->episode += !as->short_of;
    as->short_of = true;
    c->holding.forced = false;
    list_append(&c->holding.account->waiting, &c->resume);
}

void accounts_resume(struct server *s)
{
    bool some = false;

    if (!s->accounts.short_of)
        return;
    list_each_of (struct account, a, &s->accounts.all, all) {
        if (!list_empty(&a->waiting) && !account_is_crowded(s, a))
            list_splice(&s->resume, &a->waiting);
        some = some || !list_empty(&a->waiting);
    }
    s->accounts.short_of = some;
}

/* ---- Turns ---- */

void accounts_call(struct server *s)
{
    while (!list_empty(&s->resume)) {
        struct client *c = container_of(s->resume.next, struct client, resume);
        struct account *a = c->holding.account ? c->holding.account : &s->accounts.strangers;

        list_move(&a->called, &c->resume);
        if (list_empty(&a->turn))
            list_append(&s->accounts.turns, &a->turn);
    }
}

struct client *accounts_next(struct server *s)
{
    struct list *turns = &s->accounts.turns;

    while (!list_empty(turns)) {
        struct account *a = container_of(turns->next, struct account, turn);

        if (!list_empty(&a->called)) {
            list_move(turns, &a->turn);
            return container_of(a->called.next, struct client, resume);
        }
        list_remove(&a->turn);
    }
    return NULL;
}

/* ---- Giving way ---- */

/* Whether the client holds memory, does not wait for the server, and has neither sent nor taken
 * bytes for LAZY_MS. */
static bool is_lazy(struct client *c, int64_t mono_ms)
{
    struct holding *h = &c->holding;
    uint64_t progress;

    if (h->bytes < LAZY_BYTES || !c->ops->progress(c, &progress)) {
        h->episode = 0;
        return false;
    }
    if (h->episode != c->server->accounts.episode || progress != h->progress) {
        h->episode = c->server->accounts.episode;
        h->progress = progress;
        h->moved_ms = mono_ms;
    }
    return mono_ms - h->moved_ms >= LAZY_MS;
}

static struct account *largest_account(struct server *s)
{
    struct account *most = &s->accounts.strangers;

    list_each_of (struct account, a, &s->accounts.all, all)
        if (a->bytes > most->bytes)
            most = a;
    return most;
}

/* Closes the lazy clients of an account that hold more than half of what its largest lazy client
 * holds. True: some were closed. */
static bool close_lazy(struct server *s, const struct account *a, int64_t mono_ms)
{
    size_t most = 0;
    bool some = false;

    list_each_of (struct client, c, &s->clients, all)
        if (c->holding.account == a && is_lazy(c, mono_ms) && c->holding.bytes > most)
            most = c->holding.bytes;
    if (!most)
        return false;
    list_each_of_safe (struct client, c, &s->clients, all) {
        if (c->holding.account != a || c->holding.bytes <= most / 2 || !is_lazy(c, mono_ms))
            continue;
        s->accounts.closed++;
        some = true;
        client_cut_off(c, "it does not read or send, and others need its memory");
        if (s->accounts.bytes < accounts_limit(s) / 2) /* by then the account may be gone */
            break;
    }
    return some;
}

/* The first waiting client of each account that holds little goes on in any case, so that no
 * account waits for others for ever. An account that holds much waits for its own clients, which
 * have client_timeout. Otherwise clients that move a byte now and then could hold any amount. */
static void force_some(struct server *s)
{
    size_t part = accounts_limit(s) / FORCED_PART, little = part > LAZY_BYTES ? part : LAZY_BYTES;

    list_each_of (struct account, a, &s->accounts.all, all) {
        struct list *first = a->waiting.next;

        if (list_empty(&a->waiting) || a->bytes >= little)
            continue;
        container_of(first, struct client, resume)->holding.forced = true;
        list_move(&s->resume, first);
        host_wake(&s->host);
    }
}

void accounts_sweep(struct server *s, int64_t mono_ms)
{
    list_each_of (struct account, a, &s->accounts.all, all)
        account_look(s, a);
    if (!s->accounts.short_of)
        return;
    if (!close_lazy(s, largest_account(s), mono_ms))
        force_some(s);
    accounts_resume(s);
    if (!list_empty(&s->resume))
        host_wake(&s->host);
}
