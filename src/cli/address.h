/* SPDX-License-Identifier: MIT */
/* Where the server is, as a user says it: a host, a host and a port, or a URL. */
#ifndef CLI_ADDRESS_H
#define CLI_ADDRESS_H

#include "cli/cli.h"

#define ADDRESS_WHY 256

/* Each sets the members of `c` that its text names. False, with a sentence in `why`, and nothing
 * set, if the text is wrong. Texts are borrowed. */

/* `host`, `host:port`, `[address]:port`, or an address of IPv6. */
bool address_host(struct cli *c, const char *text, char why[ADDRESS_WHY]);

/* A number from 1 to 65535. */
bool address_port(struct cli *c, const char *text, char why[ADDRESS_WHY]);

/* `belfry://host:port`, and with TLS `belfrys://host:port`; http, https, redis and rediss are
 * taken, too. If `secret`, a token may stand before the host, `belfry://name.secret@host`, and
 * becomes $BELFRY_AUTH unless that is set. */
bool address_url(struct cli *c, const char *text, bool secret, char why[ADDRESS_WHY]);

#endif
