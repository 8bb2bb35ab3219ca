/* SPDX-License-Identifier: MIT */
#include "front/session.h"

#include "record/name.h"
#include "verbs/reply.h"

void session_unblock(const struct session *s, const struct verb_host *host, struct str id,
                     struct reply *reply)
{
    struct str tenant = s->who.confined ? identity_tenant(&s->who) : STR(TENANT_ALL);
    bool may = s->who.serial == 0 || s->who.role == ROLE_ADMIN || s->who.role == ROLE_WORKER;
    uint64_t number;

    if (!str_number(id, &number))
        reply_refuse(reply, "INVALID",
                     STR("CLIENT UNBLOCK: expected the number that CLIENT ID answers"));
    else if (!may)
        reply_refuse(reply, "NOPERM", STR("CLIENT UNBLOCK is for the roles admin and worker"));
    else
        reply_integer(reply, host->unpark && host->unpark(host, number, tenant));
}
