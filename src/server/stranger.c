/* SPDX-License-Identifier: MIT */
#include "server/stranger.h"

#include "server/client.h"

#define MEMORY_PART 4   /* Strangers may hold this part of the memory of all clients. */
#define SHRINK_MAX  256 /* Strangers that are closed in one call: it takes 2 ms at most. */

void strangers_init(struct strangers *s)
{
    *s = (struct strangers){ 0 };
    list_init(&s->all);
}

bool client_is_stranger(struct client *c)
{
    const struct engine *e = c->server->host.engine;

    return !e || identity_check(&c->session.who, e, c->session.remote) < 0;
}

bool stranger_is_late(struct client *c, int64_t mono_ms)
{
    return client_is_stranger(c) && c->strange_ms &&
           mono_ms - c->strange_ms > c->server->options.auth_timeout_ms / 2;
}

void stranger_forget(struct client *c)
{
    c->server->strangers.count -= !list_empty(&c->strange);
    list_remove(&c->strange);
    c->strange_ms = 0;
}

void stranger_note(struct client *c, int64_t mono_ms)
{
    if (!client_is_stranger(c)) {
        stranger_forget(c);
        return;
    }
    if (!list_empty(&c->strange))
        return;
    c->strange_ms = mono_ms;
    c->server->strangers.count++;
    list_append(&c->server->strangers.all, &c->strange);
}

bool stranger_sweep(struct client *c, int64_t mono_ms)
{
    struct server *s = c->server;

    if (!s->host.engine)
        return false;
    stranger_note(c, mono_ms);
    if (!c->strange_ms || mono_ms - c->strange_ms <= s->options.auth_timeout_ms)
        return false;
    s->strangers.late++;
    c->ops->close(c);
    return true;
}

/* One line tells of many strangers. Otherwise they could fill the log by connecting. */
void strangers_tell(struct server *s)
{
    struct strangers *all = &s->strangers;
    uint64_t closed = all->late + all->replaced;

    if (closed == all->told)
        return;
    log_warn(&s->log, "clients without a token were closed", "count", LOG_INT(closed - all->told),
             "late", LOG_INT(all->late), "replaced", LOG_INT(all->replaced));
    all->told = closed;
}

bool strangers_replace(struct server *s)
{
    while (!list_empty(&s->strangers.all)) {
        struct client *c = container_of(s->strangers.all.next, struct client, strange);

        if (client_is_stranger(c)) {
            s->strangers.replaced++;
            c->ops->close(c);
            return true;
        }
        stranger_forget(c); /* It has shown a token since it was noted. */
    }
    return false;
}

void strangers_shrink(struct server *s)
{
    size_t most = accounts_limit(s) / MEMORY_PART;

    for (int i = 0; i < SHRINK_MAX && s->accounts.strangers.bytes > most; i++)
        if (!strangers_replace(s))
            return;
}
