/* SPDX-License-Identifier: MIT */
/* Any bytes as text that is safe on a terminal, and how many columns it takes there. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/buf.h"

/* Appends printable UTF-8 as it is, and all else escaped (\n, \t, \x1b). Text that takes more than
 * `most` columns is cut and ends in "…"; 0 means no limit. Returns the columns. */
size_t text_put(struct buf *out, struct str bytes, size_t most);

/* Columns of text that has nothing to escape. */
size_t text_columns(struct str text);

void text_spaces(struct buf *out, size_t n);

#endif
