/* SPDX-License-Identifier: MIT */
/* RESP replies measured and picked from, without building values: for load generators. */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* The length of the whole reply at the start of `in`; 0: not whole; -1: an error reply, or bytes
 * that are no reply. */
ssize_t scan_reply(struct str in);

/* For replies that are whole. Each takes its bytes off the front of *in. */
int64_t scan_head(struct str *in); /* the number of a *, %, $ or : line */
struct str scan_bulk(struct str *in);
void scan_skip(struct str *in);

#endif
