/* SPDX-License-Identifier: MIT */
/*
 * A client's session: what it said of itself, and the execution of its requests. Verbs of
 * the table go to their handlers; the few that are about the connection itself (HELLO, PING,
 * COMMAND and what Redis clients send when they connect) are answered here. No sockets.
 */
#ifndef FRONT_SESSION_H
#define FRONT_SESSION_H

#include "base/buf.h"
#include "front/guard.h"
#include "verbs/verb.h"

struct session {
    uint64_t id;
    int proto;             /* 2 or 3 */
    bool quit;             /* close once the replies are out */
    struct waiter *parked; /* a LEASE that waits: no further request until it is served */
    bool cold;             /* the last request needs something from disk: execute it again then */
    bool no_room;          /* the last request adds jobs, and had no room: execute it again later */
    int64_t added_ms;      /* when it last added something though there was little room */
    char name[64];
    char address[64]; /* where it is; set by the host, may be empty */
    bool remote;      /* not on this machine; likewise */
    struct identity who;
};

void session_init(struct session *s, uint64_t id);

/* What requests run against. */
struct session_target {
    struct partition *partition;
    const struct verb_host *host;
    struct guard *guard; /* NULL: nobody is watched */
};

/* Executes one request and appends its reply to out, unless it parked (s->parked is set; `owner` is
 * then given back by the engine's deliver call), is cold (s->cold is set; what it needs is to be
 * fetched with partition_fetch) or finds no room (s->no_room). Returns the lsn that must be durable
 * before the reply may leave.
 */
uint64_t session_execute(struct session *s, const struct session_target *t, const struct str *words,
                         size_t n, void *owner, struct buf *out);

/* Shows a token, as user and password (user.ptr NULL: there is none): 0, WRONGPASS, or BUSY: there
 * were too many wrong ones. Whoever was shown before is forgotten if it is wrong. */
int session_auth(struct session *s, const struct session_target *t, struct str user,
                 struct str password);
/* What to say then. */
const char *session_auth_why(int err);

/* The same for a verb and its words, with a reply of the caller's: what both protocols do. */
uint64_t session_call(struct session *s, const struct session_target *t, const struct verb *v,
                      const struct str *words, size_t n, void *owner, struct reply *reply);

/* The reply of a request that was cold and cannot be executed again, because of this error. */
void session_fail(struct session *s, int err, const char *detail, struct buf *out);

/* The reply of a LEASE that was parked and is now served; n may be 0. */
void session_serve(struct session *s, const struct engine *e, struct job *const *jobs, size_t n,
                   struct buf *out);

#endif
