/* SPDX-License-Identifier: MIT */
/* Tokens in memory. */
#ifndef ENGINE_TOKEN_DATA_H
#define ENGINE_TOKEN_DATA_H

#include "base/list.h"
#include "base/named.h"
#include "engine/token.h"

struct token_set {
    struct table by_name;
    struct list all;
    size_t count; /* without the server's own secret */
    uint64_t serial;
    uint64_t generation;
};

struct token {
    struct named by_name;
    struct list link; /* in token_set.all */
    uint32_t segment; /* the segment of its record */
    enum role role;
    int64_t created_ms;
    int64_t expires_ms;
    uint64_t serial;
    uint8_t hash[TOKEN_HASH_BYTES];
    uint16_t tenant_len;
    char text[]; /* name, tenant */
};

static inline struct str token_name(const struct token *t)
{
    return t->by_name.name;
}

static inline struct str token_tenant(const struct token *t)
{
    return (struct str){ t->text + token_name(t).len, t->tenant_len };
}

#endif
