/* SPDX-License-Identifier: MIT */
/* The page at /docs: it shows what /openapi.json says, with nothing from elsewhere. */
#ifndef FRONT_HTTP_DOCS_H
#define FRONT_HTTP_DOCS_H

#include "base/buf.h"

/* `nonce` is put where its script and style are marked as ours. */
void http_docs(struct buf *out, const char *nonce);

#endif
