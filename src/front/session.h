/* SPDX-License-Identifier: MIT */
/*
 * A client's session: its name and token, and the execution of its requests. Verbs of the table go
 * to their handlers. Requests about the connection (HELLO, PING, COMMAND and others that Redis
 * clients send) are answered here. No sockets.
 */
#ifndef FRONT_SESSION_H
#define FRONT_SESSION_H

#include "base/buf.h"
#include "front/guard.h"
#include "front/ration.h"
#include "verbs/verb.h"

struct session {
    uint64_t id;
    int proto;             /* 2 or 3 */
    bool quit;             /* the connection closes when its replies are out */
    struct waiter *parked; /* a request that waits; no other is executed until it is answered */
    struct await await;    /* id.seq is 0, or the request waits for the end of a job */
    bool woken;            /* a request that waited for the end of a job goes on by session_wake */
    enum awaited_reply awaited; /* how the last answer shows a job */
    bool cold;                  /* the last request needs the disk, and is to be executed again */
    bool no_room;               /* the last request found no room, and is to be executed again */
    const char *verb;    /* the verb of the last request; NULL: it was about the connection */
    bool quick;          /* the last request was of a verb with VERB_QUICK */
    bool crowded;        /* with no_room: the last request found no memory for its answer */
    const char *refused; /* why the last right token was not taken; NULL: it was taken */
    int64_t added_ms;    /* when it last added something while memory was short */
    char name[64];
    char address[64]; /* of the client; set by the host, may be empty */
    bool remote;      /* the client is on another machine; set by the host */
    struct identity who;
    uint64_t login; /* the number of the browser's login that `who` comes from; 0: from none */
};

void session_init(struct session *s, uint64_t id);

/* The partition that requests are about, and its host. */
struct session_target {
    struct partition *partition;
    const struct verb_host *host;
    struct guard *guard; /* NULL: wrong tokens are not counted */
    bool crowded;        /* requests whose answers may be large have to wait */
    /* Called when the session has shown a right token. Returns why the host does not take it, or
     * NULL. The slot may be NULL. */
    const char *(*admit)(struct session *s);
    struct rations *rations; /* rations of the audit log; NULL: there are none */
};

/* ---- audited.c ---- */

/* Whether the audit log has no room for the call: true after an error reply. */
bool session_lacks_ration(const struct session *s, const struct session_target *t,
                          struct verb_call *call);
/* Enters the call into the audit log. The answer to a change waits for the records of the change
 * and of its entry. If memory for the entry is missing, the change has not happened either. */
void session_audit(const struct session *s, const struct session_target *t, struct verb_call *call);
/* Enters that a browser has shown the session's token (LOGIN), or has ended its login (LOGOUT).
 * RATE: the log has no room for a LOGIN, and `why` says until when. NOMEM. */
int session_enter(const struct session *s, const struct session_target *t, const char *verb,
                  char *why, size_t why_size);

/* ---- session_await.c ---- */

/* Notes what the call leaves for later. */
void session_note(struct session *s, const struct verb_call *call);
/* Executes a further step of a request that waits for the end of a job. Its first step has seen
 * that the caller may see the job. */
uint64_t session_go_on(struct session *s, const struct session_target *t, struct verb_call *call);

/* Replies NOAUTH to a client that has shown no token. Returns as session_execute. */
uint64_t session_refuse_unknown(const struct session *s, const struct session_target *t,
                                struct reply *r);

/* unblock.c: CLIENT UNBLOCK, by which a request of another connection waits no longer. Replies 1,
 * or 0 if none of this number waited. */
struct reply;
void session_unblock(const struct session *s, const struct verb_host *host, struct str id,
                     struct reply *reply);

/* Executes one request and appends its reply to out. There is no reply in three cases. The request
 * parked (s->parked; the engine's deliver call returns `owner`). It is cold (s->cold;
 * partition_fetch fetches the item that it needs). Or it found no room (s->no_room). Returns the
 * lsn that must be durable before the reply may leave. */
uint64_t session_execute(struct session *s, const struct session_target *t, const struct str *words,
                         size_t n, void *owner, struct buf *out);

/* Shows a token, as user (ptr NULL: none) and password. After an error the session has no token.
 * WRONGPASS: the token is wrong. BUSY: the host does not admit it (s->refused), or it is wrong
 * after many wrong tokens from this address. */
int session_auth(struct session *s, const struct session_target *t, struct str user,
                 struct str password);
/* The sentence for such an error. */
const char *session_auth_why(const struct session *s, int err);

/* The wait for the end of a job is over: shows the job, as session_execute does. */
uint64_t session_wake(struct session *s, const struct session_target *t, void *owner,
                      struct buf *out);
/* The request is given up, or was answered by the host. */
void session_forget(struct session *s);
/* Whether the parked request waits for the end of a job, rather than for jobs. */
static inline bool session_awaits(const struct session *s)
{
    return s->await.id.seq != 0;
}

/* As session_execute, for a verb and its words, with a reply of the caller. Both protocols use
 * it. */
uint64_t session_call(struct session *s, const struct session_target *t, const struct verb *v,
                      const struct str *words, size_t n, void *owner, struct reply *reply);

/* The reply of a cold request that cannot be executed again, because of this error. */
void session_fail(struct session *s, int err, const char *detail, struct buf *out);

/* The reply of a LEASE that was parked and is now served; n may be 0. */
void session_serve(struct session *s, const struct engine *e, struct job *const *jobs, size_t n,
                   struct buf *out);

#endif
