/* SPDX-License-Identifier: MIT */
/*
 * The identity of a client: the token that it has shown, and the rights of that token. The session
 * keeps them, and looks them up again after a change of tokens. So a request costs two comparisons,
 * and a revoked token has no rights at its next request.
 *
 * While there are no tokens, clients on this machine may do everything, and others nothing.
 */
#ifndef VERBS_IDENTITY_H
#define VERBS_IDENTITY_H

#include "base/error.h"
#include "engine/engine.h"
#include "engine/token.h"

struct verb;

struct identity {
    uint64_t generation; /* of the tokens, at the last lookup; 0: there was none */
    uint64_t serial;     /* of the token that was shown; 0: none */
    int64_t expires_ms;  /* 0: never */
    int standing;        /* 0 (valid) or NOAUTH */
    enum role role;
    bool confined; /* to its tenant; false for tokens of `*`, and while there are no tokens */
    uint8_t name_len;
    uint8_t tenant_len;
    char name[NAME_MAX_BYTES];
    char tenant[NAME_MAX_BYTES];
};

/* Looks for the token and takes its rights. WRONGPASS: no token has this name and secret, or it
 * has expired; neither time nor answer shows which. The identity is then empty. */
int identity_show(struct identity *i, const struct engine *e, struct str user, struct str password);
/* Takes the rights of a token that was shown before, by its name and serial number. NOAUTH: it was
 * revoked, or has expired. */
int identity_resume(struct identity *i, const struct engine *e, struct str name, uint64_t serial,
                    bool remote);
void identity_forget(struct identity *i);

/* identity_check's slow part. */
int identity_refresh(struct identity *i, const struct engine *e, bool remote);

/* 0, or NOAUTH: the client has to show a token. `remote`: it is on another machine. */
static inline int identity_check(struct identity *i, const struct engine *e, bool remote)
{
    if (i->generation == engine_token_generation(e) &&
        (i->expires_ms == 0 || engine_now(e) < i->expires_ms))
        return i->standing;
    return identity_refresh(i, e, remote);
}

/* The sentence for NOAUTH. */
const char *identity_why(const struct identity *i, const struct engine *e);

static inline struct str identity_name(const struct identity *i)
{
    return (struct str){ i->name, i->name_len };
}

static inline struct str identity_tenant(const struct identity *i)
{
    return (struct str){ i->tenant, i->tenant_len };
}

#endif
