/* SPDX-License-Identifier: MIT */
/* Requests that wait for the end of a job, step by step. */
#include "front/resp.h"
#include "front/session.h"

void session_forget(struct session *s)
{
    s->parked = NULL;
    s->cold = s->no_room = s->crowded = s->woken = false;
    s->await = (struct await){ 0 };
}

void session_note(struct session *s, const struct verb_call *call)
{
    s->parked = call->parked;
    s->cold = call->cold;
    s->awaited = call->awaited;
    s->await = call->parked || call->cold ? call->await : (struct await){ 0 };
    s->woken = s->woken && s->cold;
}

uint64_t session_go_on(struct session *s, const struct session_target *t, struct verb_call *call)
{
    bool again = s->cold;

    s->cold = false;
    call->await = s->await;
    if (identity_check(&s->who, call->engine, s->remote) < 0) {
        session_note(s, &(struct verb_call){ 0 });
        return session_refuse_unknown(s, t, call->reply);
    }
    s->crowded = s->no_room = t->crowded && !again;
    if (s->no_room)
        return 0;
    engine_scope(call->engine, STR(TENANT_ALL));
    verb_await(call);
    session_note(s, call);
    return engine_visible_lsn(call->engine);
}

uint64_t session_wake(struct session *s, const struct session_target *t, void *owner,
                      struct buf *out)
{
    struct resp_reply reply = resp_reply_of(out, s->proto);

    return session_call(s, t, verb_find(verb_table, STR("GET")), NULL, 0, owner, &reply.base);
}
