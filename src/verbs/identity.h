/* SPDX-License-Identifier: MIT */
/*
 * Who is asking: the token that a client has shown, and what follows from it. It is kept with the
 * client's session, and looked up anew when tokens have changed since: so that a request costs two
 * comparisons, and a revoked token has no rights at the next one.
 *
 * While there are no tokens, everybody on this machine may do everything and nobody else anything.
 */
#ifndef VERBS_IDENTITY_H
#define VERBS_IDENTITY_H

#include "base/error.h"
#include "engine/engine.h"
#include "engine/token.h"

struct verb;

struct identity {
    uint64_t generation; /* of the tokens, when what follows was found; 0: never */
    uint64_t serial;     /* of the token that was shown; 0: none was */
    int64_t expires_ms;  /* 0: never */
    int standing;        /* 0: it is valid, or NOAUTH */
    enum role role;
    bool confined; /* to its tenant; else it is of `*`, and so while there are no tokens */
    uint8_t name_len;
    uint8_t tenant_len;
    char name[NAME_MAX_BYTES];
    char tenant[NAME_MAX_BYTES];
};

/* Looks for the token and takes its rights. WRONGPASS: there is none of that name and secret, or it
 * has expired; which of these takes the same time and does not show. Then nobody has been shown. */
int identity_show(struct identity *i, const struct engine *e, struct str user, struct str password);
void identity_forget(struct identity *i);

/* identity_check's slow part. */
int identity_refresh(struct identity *i, const struct engine *e, bool remote);

/* 0, or NOAUTH: nobody is known, and somebody has to be. `remote`: not on this machine. */
static inline int identity_check(struct identity *i, const struct engine *e, bool remote)
{
    if (i->generation == engine_token_generation(e) &&
        (i->expires_ms == 0 || engine_now(e) < i->expires_ms))
        return i->standing;
    return identity_refresh(i, e, remote);
}

/* What NOAUTH and WRONGPASS are to say. */
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
