/* SPDX-License-Identifier: MIT */
/* What the server does about tokens besides looking at them. */
#ifndef SERVER_TOKENS_H
#define SERVER_TOKENS_H

#include "verbs/verb.h"

struct server;

/* In each turn of the loop: if tokens have changed, those who wait for work are sent an empty
 * answer. They may wait no longer, or have to show a token first: all ask again. */
void tokens_note(struct server *s);

/* To be verb_host.auth_failed of a server. The log hears of the first wrong token from an address,
 * and of the one from which on no more are looked at. */
void tokens_wrong(const struct verb_host *h, struct str address, uint32_t n);

#endif
