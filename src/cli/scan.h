/* SPDX-License-Identifier: MIT */
/* Measuring RESP replies and picking from them without building values: for load generators. */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* The length of the reply at the start of `in`; 0: not whole yet; -1: an error, or no reply. */
ssize_t scan_reply(struct str in);

/* These are for replies that are whole. Each takes a value off the front of *in. */
int64_t scan_head(struct str *in); /* takes one line, and answers its number: *, %, $ or : */
struct str scan_bulk(struct str *in);
void scan_skip(struct str *in);

#endif
