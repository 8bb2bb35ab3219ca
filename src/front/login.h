/* SPDX-License-Identifier: MIT */
/*
 * Logins: sessions of browsers. A browser shows a token once, and gets a cookie with a secret of
 * its own. The cookie stands for the token as long as the login lasts: the token is looked up at
 * each request, so the login ends with it. Only hashes of the secrets are kept, and only in memory.
 * So a restart of the server ends all logins. RESP knows no cookies.
 *
 * The number of logins is bounded, for each token, for each tenant and for all together. Beyond a
 * bound, the oldest login gives way.
 */
#ifndef FRONT_LOGIN_H
#define FRONT_LOGIN_H

#include "front/session.h"
#include "verbs/secret.h"
#include "verbs/shape.h"

#define LOGIN_COOKIE      "belfry_session"
#define LOGINS_MAX        1000
#define LOGINS_TENANT_MAX 200
#define LOGINS_TOKEN_MAX  20

struct login {
    uint64_t number;  /* 0: the place is free */
    uint64_t serial;  /* of the token */
    int64_t until_ms; /* monotonic */
    uint8_t hash[TOKEN_HASH_BYTES];
    uint8_t name_len;
    uint8_t tenant_len;
    char name[NAME_MAX_BYTES];   /* of the token */
    char tenant[NAME_MAX_BYTES]; /* of the token */
};

struct logins {
    uint64_t tags[LOGINS_MAX]; /* the first bytes of each hash, so that a search is short */
    struct login *all;         /* LOGINS_MAX places; NULL before the first login */
    uint64_t rounds;           /* A number is LOGINS_MAX times a round, and a place. */
};

void logins_fini(struct logins *l);

/* Makes a login of the identity's token, which is valid, for `ms` at most. *ret_secret is the value
 * of the cookie. Returns the login. NULL: there is no memory, or the system has no random bytes. */
const struct login *logins_add(struct logins *l, const struct identity *who, int64_t mono_ms,
                               int64_t ms, char ret_secret[SECRET_TEXT]);
/* The login of a cookie's value, or by its number. NULL: there is none, or it has ended. */
const struct login *logins_find(const struct logins *l, struct str secret, int64_t mono_ms);
const struct login *logins_get(const struct logins *l, uint64_t number, int64_t mono_ms);
/* Accepts the number of a login that has ended. */
void logins_remove(struct logins *l, uint64_t number);

/* Gives the session the identity of the login's token. After an error the session has no rights.
 * NOAUTH: the token was revoked or has expired. BUSY: the host does not admit it; see
 * session_auth. */
int login_resume(const struct login *l, struct session *s, const struct session_target *t);

/* The value of the cookie in a header, which may be NULL. ptr NULL: the cookie is missing, or it is
 * given twice, so that a page of a neighbouring host may have added one. */
struct str login_cookie(const char *header);

/* The body of a request for a login, as the row of a verb. */
extern const struct verb login_options;

/* An answer about a session. */
struct login_view {
    enum role role;
    struct str tenant; /* `*`: all */
    struct str label;
    struct str version;
    struct str token_name; /* empty: there are no tokens */
    int64_t expires_ms;    /* -1: never */
    bool open;             /* There are no tokens: every client of this machine may do all. */
};

extern const struct shape_field login_fields[];

#endif
