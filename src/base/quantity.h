/* SPDX-License-Identifier: MIT */
/* Numbers for people. */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "base/buf.h"

/* "1,234,567" */
void quantity_count(struct buf *out, int64_t n);

/* "12.3 MiB" */
void quantity_bytes(struct buf *out, int64_t n);

#endif
