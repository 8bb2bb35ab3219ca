/* SPDX-License-Identifier: MIT */
/* Where the server may listen, given how it would know its clients and keep others from listening
 * in. */
#ifndef SERVER_BINDRULE_H
#define SERVER_BINDRULE_H

#include <stdbool.h>

struct bindrule {
    bool loopback; /* the address is one that only this machine can reach */
    bool users;    /* it is asked who one is */
    bool tls;      /* TLS is on: other machines are served by it only */
    bool insecure; /* insecure_plaintext */
};

/* NULL: it may. Else why not, and what to do about it. */
const char *bindrule_refusal(const struct bindrule *r);

#endif
