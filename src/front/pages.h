/* SPDX-License-Identifier: MIT */
/* The pages at / and /docs. They need nothing from elsewhere. */
#ifndef FRONT_PAGES_H
#define FRONT_PAGES_H

#include "base/buf.h"

enum page { PAGE_DOCS, PAGE_HOME };

/* Appends a page. Its script and style carry the nonce. */
void page_write(struct buf *out, enum page page, const char *nonce);

/* The same as / for programs: JSON, and text for a terminal. */
void home_json(struct buf *out);
void home_text(struct buf *out);

#endif
