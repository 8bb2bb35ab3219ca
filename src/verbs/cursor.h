/* SPDX-License-Identifier: MIT */
/*
 * LIST's cursor as text: "log2-stripe-due-seq", and once the walk has gone on to disk
 * "-phase-walk" and "-key" behind that, the key in hexadecimal. One cursor has one text.
 */
#ifndef VERBS_CURSOR_H
#define VERBS_CURSOR_H

#include "engine/types.h"

#define CURSOR_TEXT 768 /* room for the longest */

/* Returns the length; not terminated. */
size_t cursor_format(const struct list_cursor *c, char ret[CURSOR_TEXT]);
/* False if it is no cursor's text. Whether it fits the jobs there are is for the engine to say. */
bool cursor_parse(struct str text, struct list_cursor *ret);

#endif
