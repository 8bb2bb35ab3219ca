/* SPDX-License-Identifier: MIT */
/* The tokens there are. */
#ifndef ENGINE_TOKENS_H
#define ENGINE_TOKENS_H

#include "engine/engine_data.h"

void tokens_init(struct engine *e);
void tokens_free(struct engine *e);
struct token *token_find(const struct engine *e, struct str name); /* or NULL */

#endif
