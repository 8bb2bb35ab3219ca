/* SPDX-License-Identifier: MIT */
/*
 * Tokens: which client may ask what. A token has a name, a role, a tenant (or `*`) and the hash of
 * a secret that only its owner has. Tokens are few and small: all are in memory, and their records
 * are copied forward like settings. The engine neither makes secrets nor hashes them.
 *
 * As long as there is a token, there is an admin of tenant `*` that does not expire. So an admin
 * can always make and revoke tokens.
 */
#ifndef ENGINE_TOKEN_H
#define ENGINE_TOKEN_H

#include "base/buf.h"
#include "engine/types.h"
#include "record/role.h"

struct engine;

#define TOKENS_MAX 10000

/* A token, given to be created or shown; slices are borrowed. */
struct token_view {
    struct str name;
    struct str tenant; /* `*`: all */
    enum role role;
    int64_t created_ms;
    int64_t expires_ms;  /* 0: never */
    const uint8_t *hash; /* TOKEN_HASH_BYTES */
    uint64_t serial;     /* set by the engine: no other token since it was made has it */
};

/* INVALID, KEYEXISTS (the name is taken), LIMIT, NOMEM; engine_detail() says all of it. */
int engine_token_create(struct engine *e, const struct token_view *t);
/* NOTFOUND, STATE (the last admin, while there are others), NOMEM. */
int engine_token_revoke(struct engine *e, struct str name);
/* False: there is none. The view lasts until a token is revoked. */
bool engine_token_find(const struct engine *e, struct str name, struct token_view *ret);
/* Up to `limit` of a tenant (`*`: of all) behind the name `after`, by name. NOMEM. */
int engine_tokens(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct token_view *t), void *arg);
size_t engine_token_count(const struct engine *e);
/* A number that changes with each token; never 0, and another one in an engine of another epoch. */
uint64_t engine_token_generation(const struct engine *e);

/* The server's own secret, made with the first token: TOKEN_HASH_BYTES, or NULL. */
const uint8_t *engine_token_key(const struct engine *e);
int engine_token_key_set(struct engine *e, const uint8_t *key); /* NOMEM */

#endif
