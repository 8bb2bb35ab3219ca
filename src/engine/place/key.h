/* SPDX-License-Identifier: MIT */
/* Keys: which job of a queue has one. */
#ifndef ENGINE_KEY_H
#define ENGINE_KEY_H

#include "engine/engine_data.h"

void keys_init(struct engine *e);
/* A key is of its queue, and of its ordering key if there is one (len > 0). */
struct job *key_find(const struct engine *e, const struct queue *q, struct str order,
                     struct str key);
int key_take(struct engine *e, struct job *j); /* from whoever has it. NOMEM. */
void key_release(struct engine *e, struct job *j);
/* The job that has the key is at another place. */
void key_follow(struct engine *e, const struct job *from, struct job *to);

#endif
