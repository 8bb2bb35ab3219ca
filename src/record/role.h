/* SPDX-License-Identifier: MIT */
/* Roles and parts of access tokens. */
#ifndef RECORD_ROLE_H
#define RECORD_ROLE_H

#define TOKEN_HASH_BYTES 32
#define TOKEN_KEY_NAME \
    "~key" /* the server's own secret, not a token; no token can have this name */

/* The numbers are on disk. Users see and write the names. */
#define ROLES(X)               \
    X(ADMIN, 1, "admin")       \
    X(PRODUCER, 2, "producer") \
    X(WORKER, 3, "worker")     \
    X(READONLY, 4, "read-only")

enum role {
    ROLE_NONE,
#define ROLE_ENUM(name, number, text) ROLE_##name = (number),
    ROLES(ROLE_ENUM)
#undef ROLE_ENUM
        ROLE_END
};

const char *role_name(enum role r);

#endif
