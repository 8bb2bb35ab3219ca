/* SPDX-License-Identifier: MIT */
/* The pages at / and /docs. They need nothing from elsewhere. */
#ifndef FRONT_PAGES_H
#define FRONT_PAGES_H

#include "base/buf.h"

enum page { PAGE_DOCS, PAGE_HOME };

/* Appends a page. Its script and style carry the nonce. */
void page_write(struct buf *out, enum page page, const char *nonce);

/* The content of / for programs, as JSON; and for a terminal, as text. */
void home_json(struct buf *out);
void home_text(struct buf *out);

#endif
