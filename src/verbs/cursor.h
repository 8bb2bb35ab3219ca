/* SPDX-License-Identifier: MIT */
/*
 * LIST's cursor as text: "log2-stripe-due-seq"; once the walk is on disk, "-phase-walk-since-epoch"
 * and "-key" follow, the key in hexadecimal. One cursor has one text.
 */
#ifndef VERBS_CURSOR_H
#define VERBS_CURSOR_H

#include "engine/types.h"

#define CURSOR_TEXT 768 /* room for the longest text */

/* Returns the length; not terminated. */
size_t cursor_format(const struct list_cursor *c, char ret[CURSOR_TEXT]);
/* False if it is no cursor's text. The engine checks whether a cursor fits its jobs. */
bool cursor_parse(struct str text, struct list_cursor *ret);

#endif
