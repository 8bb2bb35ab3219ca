/* SPDX-License-Identifier: MIT */
/* Drivers of servers that Belfry is compared with. */
#ifndef LOADGEN_PEERS_H
#define LOADGEN_PEERS_H

#include "cli/driver.h"

extern const struct driver driver_redis, driver_redis_full, driver_beanstalkd;

/* Loads a script into Redis, as number i of the target's. Blocks. 0, or an error with c->why. */
int redis_script(struct target *t, int i, const char *text, struct client *c);

#endif
