/* SPDX-License-Identifier: MIT */
/* Writing the parts of /openapi.json. */
#ifndef FRONT_OPENAPI_DOC_H
#define FRONT_OPENAPI_DOC_H

#include "base/buf.h"
#include "verbs/verb.h"

/* Appends JSON in which ' stands for ". A comma goes before it where one is needed. The arguments
 * are names, which need no escapes; for other texts there is doc_help. */
__attribute__((format(printf, 2, 3))) void doc_put(struct buf *o, const char *format, ...);

/* Appends a field with a help text in HTTP's words (openapi_text), and more behind it. */
void doc_help(struct buf *o, const char *name, const char *text, const char *more,
              const struct verb *v);

/* Appends an enum of words with `|` between or behind them; one that comes twice is put once. */
void doc_words(struct buf *o, const char *list);

#endif
