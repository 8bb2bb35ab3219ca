/* SPDX-License-Identifier: MIT */
/* What this process takes of the machine. */
#ifndef SERVER_USAGE_H
#define SERVER_USAGE_H

#include <stdint.h>

uint64_t usage_rss_bytes(void); /* 0 if it is not known */
int64_t usage_cpu_ms(void);     /* user and system */

#endif
